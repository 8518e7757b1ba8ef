"""A formula for latency by batch, vCPU and vGPU, for functions with only the slowest configuration known."""

from __future__ import annotations

from dataclasses import dataclass, replace

from ...checks import check_number
from ...types import Floats, Ints
from ..configs import ConfigGrid
from ..workflows import MOST_MS

MOST_EXPONENT = 4.0
"""Largest legal exponent or slope."""
MOST_USEFUL_VCPU = 4
"""The CPU part does not get faster with more vCPUs than this."""
BATCH_SLOPE_CPU = 0.9
"""CPU time of each additional request in a batch, as a fraction of the first request's."""


@dataclass(frozen=True)
class Law:
    """T(b, c, g) = t0 * [(1 - phi) (1 + 0.9 (b - 1)) / min(c, 4)^ec + phi (1 + s (b - 1)) / g^eg].

    This is our proposal, because the scaling of ESG's functions is not published. It gives T(1, 1, 1) = t0 exactly, and
    each further vCPU or vGPU gains less. Its form follows measurements of ResNet-50 in INFless' artifact.
    """

    t0_ms: float
    """Latency of one request with 1 vCPU and 1 vGPU."""
    gpu_share: float
    """phi: fraction of `t0_ms` that runs on the GPU."""
    vgpu_exponent: float
    """eg: exponent of the vGPUs."""
    vcpu_exponent: float
    """ec: exponent of the vCPUs."""
    batch_slope: float
    """s: GPU time of each additional request in a batch, as a fraction of the first request's."""

    def __post_init__(self) -> None:
        check_number("t0_ms", self.t0_ms, 0, MOST_MS, above=True)
        check_number("gpu_share", self.gpu_share, 0, 1)
        for name in ("vgpu_exponent", "vcpu_exponent", "batch_slope"):
            check_number(name, getattr(self, name), 0, MOST_EXPONENT)

    def latency_ms(self, grid: ConfigGrid) -> Floats:
        """Return the mean latency of a batch under each configuration [X]."""
        cpu = cpu_factor(grid.batch, grid.vcpu, self.vcpu_exponent)
        gpu = (1 + self.batch_slope * (grid.batch - 1)) / grid.vgpu.astype(float) ** self.vgpu_exponent
        return self.t0_ms * ((1 - self.gpu_share) * cpu + self.gpu_share * gpu)

    def scaled(self, exponent_scale: float, s_shift: float) -> Law:
        """Return the law with its vGPU exponent times `exponent_scale` and its batch slope plus `s_shift`."""
        return replace(self, vgpu_exponent=self.vgpu_exponent * exponent_scale, batch_slope=self.batch_slope + s_shift)


def cpu_factor(batch: Ints, vcpu: Ints, exponent: float) -> Floats:
    """Return a batch's CPU time relative to one request on one vCPU: (1 + 0.9 (b - 1)) / min(c, 4)^ec."""
    useful = vcpu.clip(max=MOST_USEFUL_VCPU).astype(float)
    return (1 + BATCH_SLOPE_CPU * (batch - 1)) / useful**exponent
