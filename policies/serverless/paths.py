"""The paths that a queue's scheduler searches: one configuration for each stage of the group's suffix.

The latency and the cost per job of a path (x_1 .. x_n) are the sums over its stages. Legal are:

- stage 1: batch <= queue length (no waiting for a fuller batch),
- later stages: batch <= that of stage 1 (`LaterBatch.LE_FIRST`: the batch travels together), or any (`FREE`).

So the choices of the later stages depend on the batch of the first; each batch of the grid is a *level*.
Latencies are whole ticks and costs whole units, so that sums are exact. Paths are totally ordered by (cost, x_1, x_2,
...): ties go to the lower configuration numbers.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

import numpy as np

from ...scenarios.types import Bools, Ints

Config = tuple[int, int, int]
"""Ticks, cost units, configuration number."""


class LaterBatch(StrEnum):
    """Batches that the stages after the first may have."""

    LE_FIRST = "le_first"
    FREE = "free"


@dataclass(frozen=True)
class PathSpace:
    """Latency and cost of every configuration of n stages; all stages number configurations in the same way."""

    time: Ints
    """Ticks of a whole batch [n, X]."""
    cost: Ints
    """Units per job [n, X]."""
    batch: Ints
    """Batch of each configuration [X]."""
    later_batch: LaterBatch = LaterBatch.LE_FIRST
    pareto: bool = False
    """Leave out configurations that another legal one equals or beats in time and cost; in the first stage only one of
    the same batch counts. The cheapest cost stays the same, but the list of first configurations gets shorter."""

    @property
    def batches(self) -> Ints:
        """Batches of the grid in ascending order: the levels [B]."""
        found: Ints = np.unique(self.batch)
        return found

    def first(self, level: int) -> list[Config]:
        """Return the configurations of stage 1 at a level, sorted by time."""
        return self._sorted(0, self.batch == self.batches[level])

    def later(self, stage: int, level: int) -> list[Config]:
        """Return the configurations of a later stage if the first stage is at `level`, sorted by time."""
        return self._sorted(stage, legal_later(self.batch, self.batches[level], self.later_batch))

    def _sorted(self, stage: int, legal: Bools) -> list[Config]:
        """Sort legal configurations by (time, cost, number); `pareto` keeps only those cheaper than all faster ones."""
        time, cost = self.time[stage], self.cost[stage]
        order = np.lexsort((cost, time))
        order = order[legal[order]]
        if self.pareto:
            cheapest_before = np.minimum.accumulate(np.concatenate([[np.iinfo(np.int64).max], cost[order]]))[:-1]
            order = order[cost[order] < cheapest_before]
        return [(int(time[x]), int(cost[x]), int(x)) for x in order]


def legal_later(batch: Ints, first_batch: int, later_batch: LaterBatch) -> Bools:
    """Return the configurations [X] that a later stage may have if the first stage's batch is `first_batch`."""
    legal: Bools = batch <= (batch.max() if later_batch is LaterBatch.FREE else first_batch)
    return legal
