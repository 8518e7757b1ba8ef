"""What a metric of any world is: name, unit, direction and definition in one place; everything else reads them here."""

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
    """A catalog line. NaN: the metric does not exist for that record."""

    name: str
    unit: str
    better: Better
    definition: str
    of: Callable[[Record], float]
    measured: bool = False
    """A time taken on this machine: it differs from run to run, all else is reproduced by the same seed."""
