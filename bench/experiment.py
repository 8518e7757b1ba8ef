"""A grid of scenarios x policies x seeds: common random numbers, resumable, every row with its origin."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from ..envs.cluster.metrics import METRICS, metrics_of
from ..envs.cluster.record import Record
from ..policies.catalog import ORDERS, find_policy
from ..policies.types import Policy
from ..scenarios.errors import InputError
from ..scenarios.source import Source
from .provenance import commit, version
from .rows import ResultRow, RowStore
from .simulate import build_worlds, run_policy

SAME_ORDER = "ORDER"
"""In a baseline's name: the order of the policy that is compared."""


@dataclass(frozen=True)
class Grid:
    """What to run; every policy meets the same worlds."""

    sources: tuple[Source, ...]
    policies: tuple[Policy, ...]
    seeds: tuple[int, ...]
    baseline: str
    """Policy that ratios are taken to; `ORDER+...` stands for the same order's."""

    def __post_init__(self) -> None:
        for kind, names in (("scenario", [s.name for s in self.sources]), ("policy", [p.name for p in self.policies])):
            if not names:
                raise InputError(f"no {kind} to run; at least one is needed")
            twice = [name for name in names if names.count(name) > 1]
            if twice:
                raise InputError(f"{kind} '{twice[0]}' is given twice")
        if not self.seeds:
            raise InputError("seeds = 0; at least one is needed")
        find_policy(self.baseline.replace(SAME_ORDER, "fifo"))

    @property
    def size(self) -> int:
        """Episodes."""
        return len(self.sources) * len(self.policies) * len(self.seeds)

    def baseline_of(self, policy: str) -> str:
        """Name of the policy that `policy` is compared to; empty where a policy of one's own has no order."""
        order = policy.split("+", maxsplit=1)[0]
        if SAME_ORDER in self.baseline and order not in ORDERS:
            return ""
        return find_policy(self.baseline.replace(SAME_ORDER, order)).name


def usual_baseline(policies: Sequence[Policy], usual: str) -> str:
    """`usual` where it is among the policies (or stands for one per order), else the first of them."""
    names = [policy.name for policy in policies]
    return usual if SAME_ORDER in usual or usual in names or not names else names[0]


@dataclass(frozen=True)
class Results:
    """Rows of a finished grid, and look-ups over them."""

    grid: Grid
    rows: tuple[ResultRow, ...]

    def values(self, scenario: str, policy: str, metric: str) -> NDArray[np.float64]:
        """Values in the order of the grid's seeds; empty where the policy was not run."""
        found = {r.seed: r.value for r in self.rows if (r.scenario, r.policy, r.metric) == (scenario, policy, metric)}
        return np.array([found[seed] for seed in self.grid.seeds if seed in found])


def run_grid(
    grid: Grid,
    out: Path | None = None,
    progress: Callable[[int], None] = lambda episodes: None,
    note: Callable[[str], None] = lambda text: None,
) -> Results:
    """Run what is not yet in `out`; `progress` hears of finished episodes, `note` of what a user should know."""
    store = RowStore(out, [metric.name for metric in METRICS])
    if store.torn:
        note(f"{out}/rows.csv ended inside a result (an interrupted run); that part is computed again")
    for source in grid.sources:
        worlds = build_worlds(source, grid.seeds)
        for remark in getattr(source, "remarks", []):
            note(remark)
        for policy in grid.policies:
            todo = [i for i, seed in enumerate(grid.seeds) if (source.name, policy.name, seed) not in store]
            for i in set(range(len(grid.seeds))) - set(todo):
                store.check((source.name, policy.name, grid.seeds[i]), worlds[i].data_hash, version(), commit())
            progress(len(grid.seeds) - len(todo))
            if todo:
                records = run_policy(source, policy, [grid.seeds[i] for i in todo], [worlds[i] for i in todo])
                store.add(row for record in records for row in _rows(record))
                progress(len(todo))
    return Results(grid, tuple(store.rows))


def _rows(record: Record) -> Sequence[ResultRow]:
    values = metrics_of(record)
    return [
        ResultRow(
            scenario=record.scenario,
            policy=record.policy,
            seed=record.seed,
            metric=metric.name,
            value=values[metric.name],
            unit=metric.unit,
            version=version(),
            commit=commit(),
            data_hash=record.data_hash,
        )
        for metric in METRICS
    ]
