"""The type of a metric in any world: the single place for a metric's name, unit, direction and definition."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from enum import StrEnum
from typing import Generic, TypeVar

Record = TypeVar("Record")


class Better(StrEnum):
    """Which way a metric improves."""

    LOWER = "lower"
    HIGHER = "higher"


@dataclass(frozen=True)
class Metric(Generic[Record]):
    """A metric as listed in a catalog. It is NaN for a record for which it is not defined."""

    name: str
    unit: str
    better: Better
    definition: str
    of: Callable[[Record], float]
    measured: bool = False
    """A time measured on this machine. It differs between runs; the same seed reproduces all other metrics."""
