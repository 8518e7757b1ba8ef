"""ESG_1Q: finds the K cheapest paths of a queue's group that end in time, by A* with two pruning blades (spec d.3).

A reconstruction: stage-wise A* with "dual-blade pruning" by time and cost is ESG's (HPDC'24); the details are inferred.
For a prefix p of a path, extended by a configuration (t, c):

    tLow  = p.t + t + tmin     least time of a completion; blade 1 (time): tLow > T* cannot end in time
    rLow  = p.c + c + cmin     least cost of a completion; blade 2 (cost): rLow > bound cannot be among the K cheapest
    rFast = p.c + c + cfast    cost of the fastest completion, a complete path that ends in time once blade 1 passed

with tmin, cmin, cfast summed over the stages that follow. `bound` is the least, over stages, of the K-th smallest rFast
of a stage. Only rFast of one stage are compared, because they belong to different paths; across stages a prefix and its
own fastest extension would count one path twice. The search is exact: the tests compare it with brute force.

This search is instrumented for study; policies look up the same choices in `frontier`.
"""

from __future__ import annotations

import time
from bisect import insort
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import NamedTuple

from ..costs import NO_PATH
from ..paths import Config, PathSpace

PATHS = 5
"""Number of cheapest paths that are kept (K of the spec, as recalled)."""


class Prefix(NamedTuple):
    """The beginning of a path; prefixes sort as paths do, by cost, then configuration numbers."""

    cost: int
    configs: tuple[int, ...]
    time: int
    level: int


class Rest(NamedTuple):
    """Sums over the stages after a stage: least time, least cost, and the cost of the fastest completion."""

    time: int
    cost: int
    fast_cost: int


@dataclass(frozen=True)
class Found:
    """The paths that a search found, and its effort."""

    paths: tuple[Prefix, ...]
    """At most K, cheapest first; empty if no path ends in time."""
    kept: int
    """Number of prefixes and paths that were built, over all stages."""
    pruned_by_time: int
    """Number of extensions refused by blade 1."""
    pruned_by_cost: int
    """Number of extensions refused by blade 2, and of prefixes that it dropped at the end of a stage."""
    ms: float
    """Wall time of the search itself; sorting the profiles before is not included."""

    @property
    def first(self) -> tuple[int, ...]:
        """The first configurations of the paths, each once, that of the cheapest path first."""
        return tuple(dict.fromkeys(path.configs[0] for path in self.paths))


@dataclass
class _Run:
    """Counters and the bound of one search."""

    target: int
    k: int
    time_blade: bool
    cost_blade: bool
    bound: int = NO_PATH
    stage_best: list[int] = field(default_factory=list)  # the K smallest rFast of this stage, ascending
    kept: int = 0
    pruned_by_time: int = 0
    pruned_by_cost: int = 0

    def limit(self) -> int:
        """Return the cost above which a path cannot be among the K cheapest."""
        return min(self.bound, self.stage_best[-1]) if len(self.stage_best) == self.k else self.bound

    def offer(self, cost: int) -> None:
        """Record a path that ends in time and costs `cost`."""
        insort(self.stage_best, cost)
        del self.stage_best[self.k :]


class Search:
    """The search of one (workflow, stage): profiles are sorted and summed once, and used at every visit."""

    def __init__(self, space: PathSpace):
        stages, levels = range(1, len(space.time)), range(len(space.batches))
        self.batches = [int(batch) for batch in space.batches]
        self.first = [space.first(level) for level in levels]
        self.later = [[space.later(stage, level) for stage in stages] for level in levels]
        self.rest = [_suffix_sums(lists) for lists in self.later]

    def paths(
        self, target: int, length: int, k: int = PATHS, time_blade: bool = True, cost_blade: bool = True
    ) -> Found:
        """Find the `k` cheapest paths of at most `target` ticks (T*) for a queue of `length` jobs.

        Switching a blade off changes the effort, but never the result.
        """
        start = time.perf_counter()
        run = _Run(target, k, time_blade, cost_blade)
        legal = [level for level, batch in enumerate(self.batches) if batch <= length]
        front = [Prefix(0, (), 0, level) for level in legal]
        for stage in range(len(self.later[0]) + 1):
            front = self._extend(front, stage, run)
        in_time = sorted(path for path in front if path.time <= target)
        ms = (time.perf_counter() - start) * 1e3
        return Found(tuple(in_time[:k]), run.kept, run.pruned_by_time, run.pruned_by_cost, ms)

    def _extend(self, front: Iterable[Prefix], stage: int, run: _Run) -> list[Prefix]:
        """Extend the prefixes by one stage; return those that pass the blades, by ascending cost."""
        run.stage_best = []
        longer: list[Prefix] = []
        for prefix in front:
            configs = self.later[prefix.level][stage - 1] if stage else self.first[prefix.level]
            longer.extend(_extensions(prefix, configs, self.rest[prefix.level][stage], run))
        run.kept += len(longer)
        run.bound = run.limit()
        if run.cost_blade:
            built = len(longer)
            longer = [p for p in longer if p.cost + self.rest[p.level][stage].cost <= run.bound]
            run.pruned_by_cost += built - len(longer)
        return sorted(longer)


def _extensions(prefix: Prefix, configs: list[Config], rest: Rest, run: _Run) -> Iterator[Prefix]:
    """Yield the extensions of one prefix by `configs` (sorted by time) that pass both blades."""
    for n, (ticks, cost, config) in enumerate(configs):
        total_time, total_cost = prefix.time + ticks, prefix.cost + cost
        in_time = total_time + rest.time <= run.target
        if run.time_blade and not in_time:
            run.pruned_by_time += len(configs) - n
            return
        if run.cost_blade and total_cost + rest.cost > run.limit():
            run.pruned_by_cost += 1
            continue
        if in_time:
            run.offer(total_cost + rest.fast_cost)
        yield Prefix(total_cost, (*prefix.configs, config), total_time, prefix.level)


def _suffix_sums(lists: list[list[Config]]) -> list[Rest]:
    """Sum, for each stage, the stages after it; `lists` holds stages 2 .. n, each sorted by (time, cost)."""
    sums = [Rest(0, 0, 0)]
    for configs in reversed(lists):
        after = sums[0]
        fastest = configs[0]
        cheapest = min(cost for _, cost, _ in configs)
        sums.insert(0, Rest(after.time + fastest[0], after.cost + cheapest, after.fast_cost + fastest[1]))
    return sums
