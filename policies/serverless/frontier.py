"""Exact suffix tables: the K cheapest completions of a group for every time budget, by look-up instead of search.

For a queue (workflow, stage) and a level (batch of the first configuration), the K smallest costs of the paths through
the group's later stages are a step function of the time they may take. Then

    cost of the k-th cheapest path that begins with x  =  cost[x] + step function_k(T* - time[x])

and sorting gives the list of first configurations. The tables give what ESG's search (`search`) finds, but for all T*
at once, by merging the group's stages from its end (`skyband`). They are our addition to the paper.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from ...scenarios.types import Bools, Ints
from .costs import NO_PATH
from .paths import LaterBatch, legal_later
from .skyband import ORIGIN, Points, Steps, merge, skyband, steps_of

FAR = 2**31 - 1
"""The time that pads the tables; no budget reaches it."""


@dataclass(frozen=True)
class SuffixTables:
    """Step functions of all queues. Q queues, X configurations, B levels, M steps at most, K costs.

    With `left` = T* - time[q, x] and `at` = the number of entries of step_time[q, level[x]] that are <= left, the paths
    of queue q that begin with x cost cost[q, x] + step_cost[q, level[x], at]; `NO_PATH` or more means no path.
    """

    time: Ints
    """Ticks of a first configuration [Q, X]."""
    cost: Ints
    """Its cost per job, in units [Q, X]."""
    batch: Ints
    """Batch of a configuration [X]."""
    level: Ints
    """Level of a configuration [X]: the index of its batch, or 0 for all if later batches are free."""
    step_time: Ints
    """Ticks [Q, B, M], ascending, padded with `FAR`."""
    step_cost: Ints
    """Units [Q, B, M + 1, K], ascending in K, padded with its last row; `NO_PATH` beyond the last path."""


def suffix_tables(
    suffixes: Sequence[tuple[int, ...]],
    time: Ints,
    cost: Ints,
    batch: Ints,
    k: int = 1,
    later_batch: LaterBatch = LaterBatch.LE_FIRST,
    longest: ArrayLike = FAR,
) -> SuffixTables:
    """Make the tables of queues; `suffixes` [Q] are the functions of each queue's group from its own stage on.

    Latencies `time` [F, X] are in ticks, costs `cost` [F, X] in units per job. Completions of more than `longest` ticks
    ([Q] or []) are left out. To keep the tables small, pass each queue's largest possible T*, SLO * deadline of its
    group; for a larger T* they are no longer exact.
    """
    batches = np.unique(batch) if later_batch is LaterBatch.LE_FIRST else np.array([batch.max()])
    limits = np.broadcast_to(np.minimum(np.asarray(longest, np.int64), FAR - 1), len(suffixes))
    steps: list[list[Steps]] = [[] for _ in suffixes]
    for largest in batches:
        made = _Completions(time, cost, legal_later(batch, largest, later_batch), k, {})
        for queue, (functions, limit) in enumerate(zip(suffixes, limits, strict=True)):
            steps[queue].append(steps_of(made.of(functions[1:], int(limit)), k))
    own = [functions[0] for functions in suffixes]
    level = np.searchsorted(batches, batch) if later_batch is LaterBatch.LE_FIRST else np.zeros_like(batch)
    return SuffixTables(time[own], cost[own], batch, level.astype(np.int32), *_stack(steps))


@dataclass(frozen=True)
class _Completions:
    """Skybands of suffixes at one level; each is merged only once."""

    time: Ints
    cost: Ints
    legal: Bools
    k: int
    known: dict[tuple[tuple[int, ...], int], Points]

    def of(self, functions: tuple[int, ...], longest: int) -> Points:
        """Return the paths through `functions` that take at most `longest` ticks."""
        if not functions:
            return ORIGIN
        if (functions, longest) not in self.known:
            ticks, units = (table[functions[0], self.legal].astype(np.int64) for table in (self.time, self.cost))
            after = self.of(functions[1:], longest)
            self.known[functions, longest] = merge(skyband((ticks, units), self.k), after, self.k, longest)
        return self.known[functions, longest]


def _stack(steps: list[list[Steps]]) -> tuple[Ints, Ints]:
    """Stack step functions [Q][B] into two arrays, padded to the longest."""
    most = max(len(step.time) for row in steps for step in row)
    times = [[np.pad(step.time, (0, most - len(step.time)), constant_values=FAR) for step in row] for row in steps]
    costs = [[np.pad(s.cost, ((0, most - len(s.time)), (0, 0)), mode="edge") for s in row] for row in steps]
    return np.array(times, np.int32), np.array(costs, np.int32)


def path_costs(tables: SuffixTables, queue: int, target: int, length: int) -> Ints:
    """Return the costs [X, K] of the cheapest paths within `target` ticks by first configuration, else `NO_PATH`."""
    left = target - tables.time[queue].astype(np.int64)
    at = np.sum(tables.step_time[queue, tables.level] <= left[:, None], axis=1)
    cost = tables.cost[queue][:, None] + tables.step_cost[queue, tables.level, at]
    legal = (tables.batch <= length)[:, None]
    found: Ints = np.where(legal, np.minimum(cost, NO_PATH), NO_PATH).astype(np.int32)
    return found


def first_configurations(tables: SuffixTables, queue: int, target: int, length: int, count: int) -> list[int]:
    """Return at most `count` of the cheapest first configurations, each rated by its best path, ties by number.

    `target` is T* in ticks, `length` the number of waiting jobs. Tables with K = 1 suffice.
    """
    best = path_costs(tables, queue, target, length)[:, 0]
    order = np.argsort(best, kind="stable")[:count]
    return [int(x) for x in order if best[x] < NO_PATH]


def first_of_paths(tables: SuffixTables, queue: int, target: int, length: int) -> list[int]:
    """Return the first configurations of the K cheapest paths, each once, as ESG lists them. Ties by number.

    There may be fewer than K, as paths can share their first configuration: a prefix of `first_configurations`.
    """
    cost = path_costs(tables, queue, target, length).ravel()
    k = tables.step_cost.shape[-1]
    order = np.argsort(cost, kind="stable")[:k]
    return list(dict.fromkeys(int(path) // k for path in order if cost[path] < NO_PATH))
