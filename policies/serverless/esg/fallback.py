"""What ESG does if no path ends in time (spec d.3, "No feasible path"): the paper leaves it open, so there are two."""

from __future__ import annotations

import numpy as np

from ....scenarios.types import Ints

NEAR_PERCENT = 10
"""Configurations at most this much slower than the fastest count as fastest."""


def best_effort(time: Ints, cost: Ints, batch: Ints, length: int, near_percent: int = NEAR_PERCENT) -> Ints:
    """Rank configurations of the fullest legal batch, fastest first, so that the jobs waiting behind may be in time.

    Those within `near_percent` of the fastest come first, the cheapest of them leading; then by time. Ties by number.
    Arrays are [X] of one function: ticks, cost units per job, batch.
    """
    batch_now = batch[batch <= length].max()
    legal = np.flatnonzero(batch == batch_now)
    near = 100 * time[legal].astype(np.int64) <= (100 + near_percent) * int(time[legal].min())
    order: Ints = legal[np.lexsort((np.where(near, cost[legal], time[legal]), ~near))].astype(np.int32)
    return order


def give_up(cost: Ints, batch: Ints, length: int) -> Ints:
    """Rank legal configurations by cost per job, because the job is lost anyway. Ties by number."""
    legal = np.flatnonzero(batch <= length)
    order: Ints = legal[np.argsort(cost[legal], kind="stable")].astype(np.int32)
    return order
