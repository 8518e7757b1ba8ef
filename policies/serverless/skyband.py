"""Points (time, cost) that few others beat, and the step function "K smallest costs within a time budget".

With K = 1 the kept points are the Pareto frontier, and in general the K-skyband: points that fewer than K others equal
or beat in both. Everything is exact: times are not rounded to a grid, and costs are whole units.
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
    """A step function of the time budget."""

    time: Ints
    """Budgets at which it changes, ascending [M]."""
    cost: Ints
    """Row m: the K smallest costs, ascending, after m changes [M + 1, K]; in row 0 no path is fast enough."""


def skyband(points: Points, k: int) -> Points:
    """Return the points that fewer than `k` others beat, by (time, cost). An earlier point beats a later equal one."""
    order = np.lexsort((points[1], points[0]))
    time, cost = points[0][order], points[1][order]
    dearest_before = np.concatenate([[NO_PATH], running_smallest(cost, k)[:-1, -1]])[: len(cost)]
    keep = cost < dearest_before
    return time[keep], cost[keep]


def running_smallest(values: Longs, k: int) -> Longs:
    """Return the `k` smallest of values[: i + 1], ascending, for every i [P, k], padded with `NO_PATH`.

    It works like a row of registers: each keeps the smallest value so far and passes the larger one to the next.
    """
    smallest = np.empty((len(values), k), np.int64)
    for register in range(k):
        smallest[:, register] = np.minimum.accumulate(values)
        before = np.concatenate([[NO_PATH], smallest[:-1, register]])[: len(values)]
        values = np.maximum(values, before)
    return smallest


def merge(stage: Points, suffix: Points, k: int, longest: int) -> Points:
    """Return the skyband of the paths that combine a point of each and take at most `longest` ticks.

    The skybands of both sides suffice: each of the k points that beat a point can replace it in a path.
    """
    time = (stage[0][:, None] + suffix[0][None, :]).ravel()
    cost = (stage[1][:, None] + suffix[1][None, :]).ravel()
    usable = time <= longest
    return skyband((time[usable], cost[usable]), k)


def steps_of(points: Points, k: int) -> Steps:
    """Return the step function of a skyband that is sorted as `skyband` sorts it."""
    time, cost = points
    last = np.append(time[1:] != time[:-1], True)[: len(time)]
    rows = np.concatenate([np.full((1, k), NO_PATH), running_smallest(cost, k)[last]])
    return Steps(time[last].astype(np.int32), rows.astype(np.int32))
