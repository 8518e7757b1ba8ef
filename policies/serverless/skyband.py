"""Points (time, cost) that few others beat, and the step function "K smallest costs within a budget of time".

With K = 1 the kept points are the Pareto frontier, in general the K-skyband: points that fewer than K others equal or
beat in both. Everything is exact: times are not rounded to a grid and costs are whole units.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ...scenarios.types import Ints
from .costs import NO_PATH

Longs = NDArray[np.int64]
Points = tuple[Longs, Longs]
"""Times and costs [P]."""

ORIGIN: Points = (np.zeros(1, np.int64), np.zeros(1, np.int64))
"""The empty path."""


@dataclass(frozen=True)
class Steps:
    """A step function of the budget."""

    time: Ints
    """Budgets at which it changes, ascending [M]."""
    cost: Ints
    """The K smallest costs, ascending, after so many changes [M + 1, K]; row 0: nothing is that fast."""


def skyband(points: Points, k: int) -> Points:
    """The points that fewer than `k` others beat, by (time, cost). Of equal points the earlier one beats the later."""
    order = np.lexsort((points[1], points[0]))
    time, cost = points[0][order], points[1][order]
    dearest_before = np.concatenate([[NO_PATH], running_smallest(cost, k)[:-1, -1]])[: len(cost)]
    keep = cost < dearest_before
    return time[keep], cost[keep]


def running_smallest(values: Longs, k: int) -> Longs:
    """The `k` smallest of values[: i + 1], ascending, for every i [P, k], filled up with `NO_PATH`.

    A row of registers: each keeps the smallest it has seen and hands the larger one on to the next.
    """
    smallest = np.empty((len(values), k), np.int64)
    for register in range(k):
        smallest[:, register] = np.minimum.accumulate(values)
        before = np.concatenate([[NO_PATH], smallest[:-1, register]])[: len(values)]
        values = np.maximum(values, before)
    return smallest


def merge(stage: Points, suffix: Points, k: int, longest: int) -> Points:
    """Skyband of the paths that take a point of each and no more than `longest` ticks.

    Skybands of both sides suffice: of a point that k others beat, each of the k does as well in its place.
    """
    time = (stage[0][:, None] + suffix[0][None, :]).ravel()
    cost = (stage[1][:, None] + suffix[1][None, :]).ravel()
    usable = time <= longest
    return skyband((time[usable], cost[usable]), k)


def steps_of(points: Points, k: int) -> Steps:
    """Step function of a skyband as `skyband` sorts it."""
    time, cost = points
    last = np.append(time[1:] != time[:-1], True)[: len(time)]
    rows = np.concatenate([np.full((1, k), NO_PATH), running_smallest(cost, k)[last]])
    return Steps(time[last].astype(np.int32), rows.astype(np.int32))
