"""What a device call returns to the host, for one lane or for B lanes."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..process import Process

Snapshot = tuple[Any, list[Any]]
"""(seconds since the world began, buffers)."""


@dataclass(frozen=True)
class Batch:
    """The lanes after a call. Arrays have a leading axis B for B lanes, and no such axis for a single lane."""

    mask: NDArray[np.bool_]  # [..., actions]
    parts: dict[str, NDArray[np.float32]]  # [..., size] each
    result: NDArray[np.floating[Any]]  # [..., columns], see the constants of `programs`


def parts_of(process: Process, seen: NDArray[np.float32]) -> tuple[NDArray[np.bool_], dict[str, NDArray[np.float32]]]:
    """Return (mask, views of the parts) of a program's output `seen` [..., actions + observation]."""
    return seen[..., : process.actions] > 0, {name: seen[..., part] for name, part in _slices(process)}


@lru_cache
def _slices(process: Process) -> tuple[tuple[str, slice], ...]:
    at, slices = process.actions, []
    for name, size in sorted(process.sizes.items()):
        if size:
            slices.append((name, slice(at, at + size)))
            at += size
    return tuple(slices)
