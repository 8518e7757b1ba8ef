"""ESG_1Q: the K cheapest paths of a queue's group that end in time, by A* with two pruning blades (spec d.3).

A reconstruction: stage-wise A* with "dual-blade pruning" by time and cost is ESG's (HPDC'24), the details are inferred.
For a prefix p of a path, extended by a configuration (t, c):

    tLow  = p.t + t + tmin     least time of a completion; blade 1 (time): tLow > T* cannot end in time
    rLow  = p.c + c + cmin     least cost of a completion; blade 2 (cost): rLow > bound cannot be among the K cheapest
    rFast = p.c + c + cfast    cost of the fastest completion, a complete path that ends in time once blade 1 passed

with tmin, cmin, cfast summed over the stages after. `bound` is the K-th smallest rFast of one stage, the least over
stages: within a stage the rFast belong to different paths, whereas a prefix and its own fastest extension would be one
path counted twice. Exact: the tests compare it with brute force.

This is the instrumented search, for study; policies look the same choices up in `frontier`.
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
"""Cheapest paths that are kept (K of the spec, as recalled)."""


class Prefix(NamedTuple):
    """A path so far, in the order of paths: cost, then configuration numbers."""

    cost: int
    configs: tuple[int, ...]
    time: int
    level: int


class Rest(NamedTuple):
    """Stages after one, summed: least time, least cost, and the cost of the fastest completion."""

    time: int
    cost: int
    fast_cost: int


@dataclass(frozen=True)
class Found:
    """What a search found, and what it took."""

    paths: tuple[Prefix, ...]
    """At most K, cheapest first; empty if no path ends in time."""
    kept: int
    """Prefixes and paths that were built, over all stages."""
    pruned_by_time: int
    """Extensions refused by blade 1."""
    pruned_by_cost: int
    """Extensions refused by blade 2, and prefixes it dropped at the end of a stage."""
    ms: float
    """Wall time of the search itself; the sorted profiles are prepared before."""

    @property
    def first(self) -> tuple[int, ...]:
        """First configurations, that of the cheapest path first, each once."""
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
        """Cost above which a path cannot be among the K cheapest."""
        return min(self.bound, self.stage_best[-1]) if len(self.stage_best) == self.k else self.bound

    def offer(self, cost: int) -> None:
        """Note a path that ends in time and costs `cost`."""
        insort(self.stage_best, cost)
        del self.stage_best[self.k :]


class Search:
    """The search of one (workflow, stage): profiles sorted and summed once, then asked at every visit."""

    def __init__(self, space: PathSpace):
        stages, levels = range(1, len(space.time)), range(len(space.batches))
        self.batches = [int(batch) for batch in space.batches]
        self.first = [space.first(level) for level in levels]
        self.later = [[space.later(stage, level) for stage in stages] for level in levels]
        self.rest = [_suffix_sums(lists) for lists in self.later]

    def paths(
        self, target: int, length: int, k: int = PATHS, time_blade: bool = True, cost_blade: bool = True
    ) -> Found:
        """The `k` cheapest paths of at most `target` ticks (T*) for a queue of `length` jobs.

        Switching a blade off changes the work, never the result.
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
        """Every prefix that the blades let through, one stage longer, by cost ascending."""
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
    """The extensions of one prefix by `configs`, sorted by time, that pass both blades."""
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
    """For each stage, the stages after it; `lists` are those of stages 2 .. n, sorted by (time, cost)."""
    sums = [Rest(0, 0, 0)]
    for configs in reversed(lists):
        after = sums[0]
        fastest = configs[0]
        cheapest = min(cost for _, cost, _ in configs)
        sums.insert(0, Rest(after.time + fastest[0], after.cost + cheapest, after.fast_cost + fastest[1]))
    return sums
