"""Configurations of a task: its batch of requests, and its share of an invoker."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from ..checks import check_whole
from ..errors import InputError
from ..types import Ints

MOST_PER_AXIS = 64
MOST_SHARE = 1024
"""Largest batch, vCPU or vGPU count."""
MOST_CONFIGS = 4096


@dataclass(frozen=True)
class ConfigGrid:
    """All X combinations (batch, vCPU, vGPU) that a task may have; batch varies slowest, vGPU fastest.

    Config x = (ib * len(vcpus) + ic) * len(vgpus) + ig. Each axis is ascending, and the batches include 1.
    """

    batches: tuple[int, ...] = (1, 2, 4, 8, 16)
    vcpus: tuple[int, ...] = (1, 2, 4, 8)
    vgpus: tuple[int, ...] = (1, 2, 3, 4, 7)

    def __post_init__(self) -> None:
        for axis in ("batches", "vcpus", "vgpus"):
            object.__setattr__(self, axis, _axis(axis, getattr(self, axis)))
        if self.batches[0] != 1:
            raise InputError(f"batches = {self.batches}; legal: 1 is among them, so that any queue can be served")
        if self.size > MOST_CONFIGS:
            raise InputError(f"the grid has {self.size:,} configurations; legal: at most {MOST_CONFIGS:,}")

    @property
    def size(self) -> int:
        """X, the number of configurations."""
        return len(self.batches) * len(self.vcpus) * len(self.vgpus)

    @property
    def batch(self) -> Ints:
        """Batch of each configuration [X]."""
        return np.repeat(np.array(self.batches, np.int32), len(self.vcpus) * len(self.vgpus))

    @property
    def vcpu(self) -> Ints:
        """Number of vCPUs of each configuration [X]."""
        return np.tile(np.repeat(np.array(self.vcpus, np.int32), len(self.vgpus)), len(self.batches))

    @property
    def vgpu(self) -> Ints:
        """Number of vGPUs of each configuration [X]."""
        return np.tile(np.array(self.vgpus, np.int32), len(self.batches) * len(self.vcpus))

    def index(self, batch: int, vcpu: int, vgpu: int) -> int:
        """Return the number of a configuration. Raises `InputError` if it is not in the grid."""
        try:
            ib, ic, ig = self.batches.index(batch), self.vcpus.index(vcpu), self.vgpus.index(vgpu)
        except ValueError:
            raise InputError(
                f"configuration ({batch}, {vcpu}, {vgpu}); legal: batch of {self.batches}, "
                f"vCPU of {self.vcpus}, vGPU of {self.vgpus}"
            ) from None
        return (ib * len(self.vcpus) + ic) * len(self.vgpus) + ig


def _axis(name: str, given: object) -> tuple[int, ...]:
    if not isinstance(given, tuple | list) or not 1 <= len(given) <= MOST_PER_AXIS:
        raise InputError(f"{name} = {str(given)[:80]}; legal: 1 to {MOST_PER_AXIS} whole numbers, ascending")
    for value in given:
        check_whole(name, value, 1, MOST_SHARE)
    if any(low >= high for low, high in pairwise(given)):
        raise InputError(f"{name} = {tuple(given)}; legal: ascending and distinct")
    return tuple(int(value) for value in given)


GRIDS: dict[str, ConfigGrid] = {
    "S20": ConfigGrid(batches=(1,)),
    "S100": ConfigGrid(),
    "S256": ConfigGrid(batches=(1, 2, 4, 8), vcpus=tuple(range(1, 9)), vgpus=tuple(range(1, 9))),
}
"""Grids by name. ESG's paper is said to use 256 configurations per function, but which ones is unknown."""
