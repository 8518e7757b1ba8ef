"""The training cluster as the bench runs it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from math import ceil
from typing import Any

from ...envs.cluster.bank import Bank, make_bank
from ...envs.cluster.episode import Outcome, run_episodes
from ...envs.cluster.metrics import METRICS
from ...envs.cluster.record import Record, make_record
from ...envs.cluster.world import horizon_round
from ...policies.cluster.catalog import ALIASES, ORDERS, PLACEMENTS, find_policy
from ...policies.information import Information
from ...scenarios.cluster.catalog import WORLD
from ...scenarios.cluster.scenario import ClusterScenario
from ...scenarios.cluster.source import ClusterFiles, Source
from ...scenarios.cluster.traces.formats import TRACE_FORMATS
from ...scenarios.cluster.traces.sia import STREAM_PER_H
from ..grid.layout import Listing
from ..report.outputs import as_csv
from ..report.tables import CLAIRVOYANT_MARK
from .benchmarks import SUITES
from .layout import LAYOUT

JOB_COLUMNS = (
    "job_id",
    "arrival_s",
    "start_s",
    "finish_s",
    "demand",
    "app_class",
    "jct_s",
    "run_slowdown",
    "preemptions",
    "contention",
    "ftf",
)


SAME_ORDER = "ORDER"
"""In a baseline's name: the order of the policy that is compared."""


class ClusterBench:
    """See `grid.world_kinds.BenchKind`."""

    name = WORLD
    about = "a training cluster"
    scenario = ClusterScenario
    record = Record
    metrics = METRICS
    layout = LAYOUT
    suites = SUITES
    usual_policy = "pal"
    usual_baseline = "fifo+packed+sticky"
    """Of PAL's evaluation."""
    experts = ("gittins+pal+backfill", "las-2d+pal+backfill")
    policy_names = f"ORDER+PLACEMENT[+sticky][+backfill], {', '.join(ALIASES)}, the folder of a checkpoint"

    @property
    def listings(self) -> list[Listing]:
        """Orders, placements, and the names of the literature."""
        orders = tuple(
            (_marked(order.name, order.information), order.information, order.source) for order in ORDERS.values()
        )
        placements = tuple((p.name, "PM bins" if p.class_first else "free GPUs", p.source) for p in PLACEMENTS.values())
        formats = tuple((entry.name, entry.about) for entry in TRACE_FORMATS.values())
        columns = ("name", "information", "rule and source")
        return [
            Listing("Orders of a cluster: who is next", columns, orders),
            Listing("Placements of a cluster: on which GPUs", columns, placements),
            Listing("Aliases of a cluster's policies", ("name", "policy"), tuple(ALIASES.items())),
            Listing("Formats of a cluster's traces", ("name", "about"), formats),
        ]

    def knows_policy(self, name: str) -> bool:
        """Whether `name` looks like one of its policies."""
        return name in ALIASES or name.split("+", maxsplit=1)[0] in ORDERS

    def find_policy(self, name: str) -> Any:
        """The policy of a name. Raises `InputError`."""
        return find_policy(name)

    def is_policy(self, policy: object) -> bool:
        """Whether an object of one's own is a policy."""
        return hasattr(policy, "information") and (hasattr(policy, "bind") or hasattr(policy, "episodes"))

    def baseline_of(self, baseline: str, policy: str) -> str:
        """`baseline`, in which ORDER stands for the order of `policy`; empty where a policy of one's own has none."""
        order = policy.split("+", maxsplit=1)[0]
        if SAME_ORDER in baseline and order not in ORDERS:
            return ""
        return str(find_policy(baseline.replace(SAME_ORDER, order)).name)

    def bank(self, source: Source, worlds: Sequence[ClusterScenario]) -> Bank:
        """Prepared worlds, and the jobs that a scheduler may know."""
        return make_bank(worlds, source.history())

    def run(self, source: Source, policy: Any, seeds: Sequence[int], bank: Bank, slots: int = 0) -> list[Record]:
        """One record per world of the bank; a stream that was too short is lengthened."""
        outcomes = _outcomes(policy, bank, seeds, slots)
        worlds = bank.scenarios
        too_short = any(o.stream_ended and w.streamed for o, w in zip(outcomes, worlds, strict=True))
        if too_short and isinstance(source, ClusterFiles):
            # The stream has to last to the horizon; most episodes need far less of it.
            horizon_h = max(horizon_round(world) * world.round_s for world in worlds) / 3600
            longer = replace(source, stream_jobs=2 * source.stream_jobs + ceil(1.1 * STREAM_PER_H * horizon_h))
            again = self.bank(longer, [longer.build(seed) for seed in seeds])
            return self.run(longer, policy, seeds, again, max(o.slots for o in outcomes))
        return [
            make_record(world, policy.name, seed, outcome)
            for world, seed, outcome in zip(worlds, seeds, outcomes, strict=True)
        ]

    def details(self, record: Record) -> dict[str, float]:
        """None beyond the metrics."""
        return {}

    def heading(self, record: Record) -> str:
        """How many jobs there are."""
        return f"{len(record.jobs.job_id)} jobs"

    def unfinished_note(self, count: int) -> str:
        """What it means that jobs were cut off."""
        return (
            f"{count} jobs had not finished at the horizon; their time up to it counts "
            "(a policy that starves them, or a restart cost that eats whole rounds)"
        )

    def rows(self, record: Record) -> str:
        """CSV, one row per tracked job in arrival order; a time that does not exist (truncated job) is left empty."""
        return as_csv(JOB_COLUMNS, record.jobs)

    def more_tables(self, results: Any) -> list[Any]:
        """None."""
        return []

    def figures(self, results: Any) -> list[tuple[str, str]]:
        """None."""
        return []


def _marked(name: str, information: Information) -> str:
    return f"{name} {CLAIRVOYANT_MARK}" if information is Information.CLAIRVOYANT else name


def _outcomes(policy: Any, bank: Bank, seeds: Sequence[int], slots: int) -> list[Outcome]:
    """Of a policy that plans rounds, or of one that runs episodes of its own."""
    if hasattr(policy, "episodes"):
        found: list[Outcome] = policy.episodes(bank, seeds, slots)
        return found
    clairvoyant = policy.information is Information.CLAIRVOYANT
    return run_episodes(bank, policy.program, policy.bind(bank), clairvoyant, seeds, slots)
