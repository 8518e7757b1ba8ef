"""Latency measured on slices of a GPU (MIG), and its extension to a profile that includes vCPUs."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from ...errors import InputError
from ...types import Floats
from ..configs import ConfigGrid
from .law import cpu_factor


@dataclass(frozen=True)
class MigTable:
    """Latency of a model's batches on slices of a GPU."""

    model: str
    source: str
    """File or publication, for messages."""
    latency_ms: Mapping[tuple[int, int], float]
    """(images, GPCs of the slice) -> latency; infinite if the batch did not fit into the slice's memory."""

    def gpu_ms(self, images: int, gpcs: int) -> float:
        """Return the latency of `images` on a slice of `gpcs`, interpolated between measured slices.

        The interpolation is linear in log latency over log GPCs. Raises `InputError` if the batch or slice is outside
        the measured range, or the batch did not fit.
        """
        measured = {size: ms for (n, size), ms in self.latency_ms.items() if n == images}
        if not measured:
            known = ", ".join(str(n) for n in sorted({n for n, _ in self.latency_ms}))
            raise self._error(images, gpcs, f"was not measured; legal: batches of {known}")
        if not min(measured) <= gpcs <= max(measured):
            raise self._error(images, gpcs, f"was not measured; legal: {min(measured)} to {max(measured)} GPCs")
        low, high = max(g for g in measured if g <= gpcs), min(g for g in measured if g >= gpcs)
        if not math.isfinite(measured[low]) or not math.isfinite(measured[high]):
            raise self._error(images, gpcs, "did not fit into the slice's memory; use smaller batches")
        knots = [math.log(low), math.log(high)] if low < high else [math.log(low)]
        values = [math.log(measured[g]) for g in sorted({low, high})]
        return float(np.exp(np.interp(math.log(gpcs), knots, values))) if low < high else measured[low]

    def _error(self, images: int, gpcs: int, what: str) -> InputError:
        return InputError(f"{self.source}: {self.model}, a batch of {images} on {gpcs} GPCs, {what}")


def with_vcpus(table: MigTable, grid: ConfigGrid, images: int, gpu_share: float, vcpu_exponent: float) -> Floats:
    """Return the latency by configuration [X]: measured GPU time plus CPU time by the law, which was not measured.

    T(b, c, g) = M(images * b, g) + M(images, 1) * (1 - phi) / phi * (1 + 0.9 (b - 1)) / min(c, 4)^ec, with phi =
    `gpu_share`, the GPU's fraction at the minimum configuration, and ec = `vcpu_exponent`.
    """
    gpu = [table.gpu_ms(images * int(b), int(g)) for b, g in zip(grid.batch, grid.vgpu, strict=True)]
    cpu_ms = table.gpu_ms(images, 1) * (1 - gpu_share) / gpu_share
    return np.array(gpu) + cpu_ms * cpu_factor(grid.batch, grid.vcpu, vcpu_exponent)
