"""A grid of scenarios x policies x seeds: common random numbers, resumable, every row with its origin."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from time import perf_counter
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ...scenarios.errors import InputError
from .preparation import build_worlds, plan_ahead
from .provenance import commit, version
from .rows import ResultRow, RowStore, unit_of
from .world_kinds import BenchKind, find_policy_of, is_checkpoint, kind_of


@dataclass(frozen=True)
class Grid:
    """What to run; every policy meets the same worlds."""

    sources: tuple[Any, ...]
    """All of one kind of world."""
    policies: tuple[Any, ...]
    seeds: tuple[int, ...]
    baseline: str
    """Policy that ratios are taken to, or what the kind takes for one of each policy (`BenchKind.baseline_of`)."""

    def __post_init__(self) -> None:
        for what, names in (("scenario", [s.name for s in self.sources]), ("policy", [p.name for p in self.policies])):
            if not names:
                raise InputError(f"no {what} to run; at least one is needed")
            twice = [name for name in names if names.count(name) > 1]
            if twice:
                raise InputError(f"{what} '{twice[0]}' is given twice")
        if not self.seeds:
            raise InputError("seeds = 0; at least one is needed")
        for source in self.sources[1:]:
            if (kind := kind_of(source)) is not self.kind:
                first = f"scenario '{self.sources[0].name}' is {self.kind.about}"
                raise InputError(f"{first}, '{source.name}' is {kind.about}; run one kind at a time")
        for policy in self.policies:
            find_policy_of(self.kind, policy)
        if is_checkpoint(self.baseline):
            object.__setattr__(self, "baseline", find_policy_of(self.kind, self.baseline).name)
        if self.baseline not in [policy.name for policy in self.policies]:
            find_policy_of(self.kind, self.kind.baseline_of(self.baseline, self.kind.usual_baseline))

    @cached_property
    def kind(self) -> BenchKind:
        """The kind of the worlds."""
        return kind_of(self.sources[0])

    @property
    def size(self) -> int:
        """Episodes."""
        return len(self.sources) * len(self.policies) * len(self.seeds)

    def check_baseline(self) -> None:
        """Raises `InputError` where nothing would be compared: no policy's baseline is among those to run."""
        names = [policy.name for policy in self.policies]
        if not any(self.baseline_of(name) in names for name in names):
            legal = f"a name that stands for one of {', '.join(names)}"
            raise InputError(f"baseline = '{self.baseline}' is not among the policies to run; legal: {legal}")

    def baseline_of(self, policy: str) -> str:
        """Name of the policy that `policy` is compared with; empty where there is none."""
        if self.baseline in [policy.name for policy in self.policies]:
            return self.baseline
        return self.kind.baseline_of(self.baseline, policy)


def usual_baseline(kind: BenchKind, policies: Sequence[Any], usual: str) -> str:
    """`usual` where it stands for one of the policies, else the first of them."""
    names = [policy.name for policy in policies]
    compared = {usual, *(kind.baseline_of(usual, name) for name in names)}
    return usual if compared & set(names) or not names else names[0]


@dataclass(frozen=True)
class Results:
    """Rows of a finished grid, and look-ups over them."""

    grid: Grid
    rows: tuple[ResultRow, ...]

    def values(self, scenario: str, policy: str, metric: str) -> NDArray[np.float64]:
        """Values in the order of the grid's seeds, NaN where one does not exist; empty where the policy was not run."""
        found = self._by_seed.get((scenario, policy, metric), {})
        return np.array([found[seed] for seed in self.grid.seeds if seed in found])

    def baseline_of(self, policy: str) -> str:
        """Name of the policy that `policy` is compared with."""
        return self.grid.baseline_of(policy)

    @cached_property
    def _by_seed(self) -> dict[tuple[str, str, str], dict[int, float]]:
        found: dict[tuple[str, str, str], dict[int, float]] = {}
        for row in self.rows:
            found.setdefault((row.scenario, row.policy, row.metric), {})[row.seed] = row.value
        return found


@dataclass(frozen=True)
class Cell:
    """One policy on one scenario, finished."""

    scenario: str
    policy: str
    seeds: int
    kept: int
    """Of those seeds, how many were there before."""
    seconds: float

    def __str__(self) -> str:
        seeds = f"{self.seeds} seed{'s' * (self.seeds > 1)}"
        before = f" ({self.kept} of them there before)" if self.kept else ""
        return f"{self.scenario}, {self.policy}: {seeds}{before}, {self.seconds:.1f} s"


def run_grid(
    grid: Grid,
    out: Path | None = None,
    finished: Callable[[Cell], None] = lambda cell: None,
    note: Callable[[str], None] = lambda text: None,
    processes: int = 1,
) -> Results:
    """Run what is not yet in `out`; `finished` hears of every cell, `note` of what a user should know.

    Policies that plan for long may do so in `processes` processes, which import the main module again.
    """
    store = RowStore(out, grid.kind.metrics)
    if store.torn:
        note(f"{out}/rows.csv ended inside a result (an interrupted run); that part is computed again")
    _plan_ahead(grid, store, processes, note)
    for source in grid.sources:
        worlds = _Worlds(grid, source)
        for remark in worlds.remarks:
            note(remark)
        for policy in grid.policies:
            start = perf_counter()
            todo = [i for i, seed in enumerate(grid.seeds) if (source.name, policy.name, seed) not in store]
            for i in set(range(len(grid.seeds))) - set(todo):
                store.check((source.name, policy.name, grid.seeds[i]), worlds.all[i].data_hash, version(), commit())
            if todo:
                store.add(row for record in worlds.run(policy, todo) for row in _rows(grid.kind, record))
            count, kept = len(grid.seeds), len(grid.seeds) - len(todo)
            finished(Cell(source.name, policy.name, count, kept, perf_counter() - start))
    return Results(grid, tuple(store.rows))


def _plan_ahead(grid: Grid, store: RowStore, processes: int, note: Callable[[str], None]) -> None:
    """The plans of all sources at once, where there is something left to run."""
    for policy in grid.policies:
        open_ones = (s for s in grid.sources if any((s.name, policy.name, n) not in store for n in grid.seeds))
        plan_ahead(policy, (source.build(grid.seeds[0]) for source in open_ones), processes, note)


class _Worlds:
    """The worlds of one source, prepared once for all policies."""

    def __init__(self, grid: Grid, source: Any) -> None:
        self.grid, self.source = grid, source
        self.all = build_worlds(source, grid.seeds)
        self._bank: tuple[list[int], Any] = ([], None)

    @property
    def remarks(self) -> list[str]:
        """What a user should know of the source and its first world."""
        said = [*getattr(self.source, "remarks", []), *getattr(self.all[0], "remarks", [])]
        return list(dict.fromkeys(said))

    def run(self, policy: Any, places: list[int]) -> list[Any]:
        """Records of a policy on the worlds at `places`."""
        if self._bank[0] != places:
            self._bank = (places, self.grid.kind.bank(self.source, [self.all[i] for i in places]))
        return self.grid.kind.run(self.source, policy, [self.grid.seeds[i] for i in places], self._bank[1])


def _rows(kind: BenchKind, record: Any) -> list[ResultRow]:
    """Rows of one episode; the metrics come last, so that they are all there where the last one is."""
    values = kind.details(record) | {metric.name: metric.of(record) for metric in kind.metrics.values()}
    return [
        ResultRow(
            scenario=record.scenario,
            policy=record.policy,
            seed=record.seed,
            metric=name,
            value=value,
            unit=unit_of(name, kind.metrics),
            version=version(),
            commit=commit(),
            data_hash=record.data_hash,
        )
        for name, value in values.items()
    ]
