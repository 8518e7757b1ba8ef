"""The serverless platform as the bench runs it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ...envs.serverless.bank import Bank, make_bank, padded
from ...envs.serverless.episode import Outcome, run_episodes
from ...envs.serverless.metrics import METRICS, details_of
from ...envs.serverless.record import Record, make_record
from ...policies.serverless.catalog import SCHEDULERS, find_scheduler, knobs
from ...scenarios.serverless.catalog import WORLD
from ...scenarios.serverless.scenario import ServerlessScenario
from ...scenarios.serverless.source import ServerlessSource
from ..grid.layout import Listing
from ..report.outputs import as_csv
from .benchmarks import SUITES
from .details import detail_tables
from .figures import latency_figures
from .layout import LAYOUT

REQUEST_COLUMNS = (
    "request_id",
    "workflow",
    "arrival_ms",
    "finish_ms",
    "slo_ms",
    "hit",
    "cost_usd",
    "cold_starts",
)


class ServerlessBench:
    """See `grid.world_kinds.BenchKind`."""

    name = WORLD
    about = "a serverless platform"
    scenario = ServerlessScenario
    record = Record
    metrics = METRICS
    layout = LAYOUT
    suites = SUITES
    usual_policy = "esg"
    usual_baseline = "esg"
    experts = ("esg",)

    @property
    def policy_names(self) -> str:
        """What may be given as a policy."""
        return ", ".join([*SCHEDULERS, "the folder of a checkpoint"])

    @property
    def listings(self) -> list[Listing]:
        """Schedulers with their knobs."""
        rows = []
        for name, entry in SCHEDULERS.items():
            settings = ", ".join(f"{key}={value}" for key, value in knobs(entry.make(name)).items())
            rows.append((name, entry.about, settings))
        columns = ("name", "rule and source", "knobs and defaults")
        return [Listing("Schedulers of a serverless platform", columns, tuple(rows))]

    def knows_policy(self, name: str) -> bool:
        """Whether `name` is a scheduler, perhaps with knobs."""
        return name.split(":", maxsplit=1)[0] in SCHEDULERS

    def find_policy(self, name: str) -> Any:
        """The scheduler of a name. Raises `InputError`."""
        return find_scheduler(name)

    def is_policy(self, policy: object) -> bool:
        """Whether an object of one's own is a scheduler."""
        acts = hasattr(policy, "episodes") and not hasattr(policy, "information")  # which is said of cluster policies
        return acts or (hasattr(policy, "bind") and hasattr(policy, "adapt"))

    def baseline_of(self, baseline: str, policy: str) -> str:
        """`baseline`, of every policy."""
        return baseline

    def bank(self, source: ServerlessSource, worlds: Sequence[ServerlessScenario]) -> Bank:
        """Prepared worlds, of few shapes."""
        return padded(make_bank(worlds))

    def run(self, source: ServerlessSource, policy: Any, seeds: Sequence[int], bank: Bank) -> list[Record]:
        """One record per world of the bank."""
        outcomes = _outcomes(policy, bank, seeds)
        return [
            make_record(world, policy.name, seed, outcome)
            for world, seed, outcome in zip(bank.scenarios, seeds, outcomes, strict=True)
        ]

    def details(self, record: Record) -> dict[str, float]:
        """Figures by workflow, and quantiles."""
        return details_of(record)

    def heading(self, record: Record) -> str:
        """How many requests were counted."""
        return f"{len(record.requests.request_id)} requests"

    def unfinished_note(self, count: int) -> str:
        """Nothing: they are misses, and neither served nor shed."""
        return ""

    def rows(self, record: Record) -> str:
        """CSV, one row per counted request in arrival order; a time that does not exist is left empty."""
        return as_csv(REQUEST_COLUMNS, record.requests)

    def more_tables(self, results: Any) -> list[Any]:
        """Hit rate and cost by workflow."""
        return detail_tables(results)

    def figures(self, results: Any) -> list[tuple[str, str]]:
        """Latency over SLO."""
        return latency_figures(results)


def _outcomes(policy: Any, bank: Bank, seeds: Sequence[int]) -> list[Outcome]:
    """Of a scheduler, or of one that runs episodes of its own."""
    if hasattr(policy, "episodes"):
        found: list[Outcome] = policy.episodes(bank, seeds)
        return found
    data = policy.bind(bank)
    return run_episodes(bank, policy.program, data, seeds, policy.adapt(bank.worlds, data))
