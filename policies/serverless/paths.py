"""The space of paths that a queue's scheduler searches: one configuration for each stage of the group's suffix.

A path (x_1 .. x_n) takes the sum of its latencies and costs the sum of its costs per job. What is legal:

- stage 1: batch <= queue length (no waiting for a fuller batch),
- later stages: batch <= that of stage 1 (`LaterBatch.LE_FIRST`: the batch travels together), or any (`FREE`).

So the domain of the later stages depends on the batch of the first; each batch of the grid is a *level*.
Latencies are whole ticks and costs whole units: sums are exact. The order of paths is (cost, x_1, x_2, ...), a total
one: ties go to the lower configuration numbers.
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
    """Latency and cost of every configuration of n stages. Configurations are numbered alike in all of them."""

    time: Ints
    """Ticks of a whole batch [n, X]."""
    cost: Ints
    """Units per job [n, X]."""
    batch: Ints
    """Batch of each configuration [X]."""
    later_batch: LaterBatch = LaterBatch.LE_FIRST
    pareto: bool = False
    """Leave out configurations that another one of the same domain equals or beats in time and cost, for the first
    stage among those of the same batch. The cheapest cost stays the same; the list of first configurations thins."""

    @property
    def batches(self) -> Ints:
        """Batches of the grid, ascending: the levels [B]."""
        found: Ints = np.unique(self.batch)
        return found

    def first(self, level: int) -> list[Config]:
        """Configurations of stage 1 at a level, by time."""
        return self._sorted(0, self.batch == self.batches[level])

    def later(self, stage: int, level: int) -> list[Config]:
        """Configurations of a later stage when the first stage is at `level`, by time."""
        return self._sorted(stage, legal_later(self.batch, self.batches[level], self.later_batch))

    def _sorted(self, stage: int, legal: Bools) -> list[Config]:
        """Legal configurations by (time, cost, number); under `pareto` only those cheaper than all faster ones."""
        time, cost = self.time[stage], self.cost[stage]
        order = np.lexsort((cost, time))
        order = order[legal[order]]
        if self.pareto:
            cheapest_before = np.minimum.accumulate(np.concatenate([[np.iinfo(np.int64).max], cost[order]]))[:-1]
            order = order[cost[order] < cheapest_before]
        return [(int(time[x]), int(cost[x]), int(x)) for x in order]


def legal_later(batch: Ints, first_batch: int, later_batch: LaterBatch) -> Bools:
    """Configurations [X] that a later stage may have when the first one's batch is `first_batch`."""
    legal: Bools = batch <= (batch.max() if later_batch is LaterBatch.FREE else first_batch)
    return legal
