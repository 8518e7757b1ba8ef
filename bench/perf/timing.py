"""A figure of `perf`, and the measurement of a rate."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from statistics import median

BATCHES = 5


@dataclass(frozen=True)
class Reading:
    """One measured figure."""

    name: str
    value: float
    unit: str


def rate(batch: Callable[[], int], seconds: float) -> float:
    """Return the median, over a few intervals, of (items done / time)."""
    rates = []
    for _ in range(BATCHES):
        start, done = time.perf_counter(), 0
        while time.perf_counter() - start < seconds / BATCHES:
            done += batch()
        rates.append(done / (time.perf_counter() - start))
    return median(rates)
