"""The six functions of ESG's evaluation (Hui et al., HPDC 2024), as far as they are known.

Latencies at the minimum configuration are cited from summaries of the paper. Models, cold starts and input sizes are
recalled and unchecked. Shares, exponents and slopes are our proposals. docs/serverless_scenarios.md has the table.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from ...checks import check_number
from ...errors import InputError, unknown_name
from ..configs import GRIDS, ConfigGrid
from ..workflows import Function
from .law import MOST_EXPONENT, Law


@dataclass(frozen=True)
class Known:
    """What is known or assumed about a function."""

    model: str
    law: Law
    cold_start_ms: float
    input_mb: float


FUNCTIONS: dict[str, Known] = {
    # t0_ms: cited; gpu_share, vgpu_exponent, vcpu_exponent, batch_slope: proposed; model, cold start, input: recalled
    "super-resolution": Known("SRGAN", Law(86.0, 0.70, 0.55, 0.60, 0.45), 3503.0, 2.7),
    "segmentation": Known("DeepLabV3-ResNet50", Law(293.0, 0.80, 0.65, 0.60, 0.60), 16510.0, 2.5),
    "deblur": Known("DeblurGAN", Law(319.0, 0.85, 0.75, 0.60, 0.70), 22343.0, 1.1),
    "classification": Known("ResNet-50", Law(147.0, 0.60, 0.45, 0.60, 0.40), 18299.0, 0.147),
    "background-removal": Known("U2-Net", Law(1047.0, 0.85, 0.70, 0.60, 0.65), 3729.0, 2.5),
    "depth": Known("MiDaS", Law(828.0, 0.85, 0.70, 0.60, 0.65), 16479.0, 0.648),
}


@dataclass(frozen=True)
class LawProfiles:
    """Functions that follow the law, on a grid of configurations; the law's two assumptions can be varied."""

    grid: ConfigGrid | str = "S100"
    """Configurations: S20 (batch 1 only), S100, or S256 (needs invokers of 8 vGPUs)."""
    exponent_scale: float = 1.0
    """Factor on the vGPU exponent, which determines how well functions scale."""
    s_shift: float = 0.0
    """Added to the batch slope; a larger slope means that a batch saves less."""
    functions: dict[str, Known] = field(default_factory=lambda: FUNCTIONS, repr=False)

    def __post_init__(self) -> None:
        if not isinstance(self.grid, ConfigGrid) and self.grid not in GRIDS:
            raise unknown_name("grid", str(self.grid), GRIDS)
        steepest = max((known.law.vgpu_exponent for known in self.functions.values()), default=0.0)
        check_number("exponent_scale", self.exponent_scale, 0, min(10, MOST_EXPONENT / max(steepest, 1e-9)))
        check_number("s_shift", self.s_shift, -1, 1)
        for name, known in self.functions.items():
            if known.law.batch_slope + self.s_shift < 0:
                raise InputError(
                    f"s_shift = {self.s_shift}: {name} would take less for a larger batch; "
                    f"legal: >= {-known.law.batch_slope:g}"
                )

    @property
    def configs(self) -> ConfigGrid:
        """The configurations."""
        return self.grid if isinstance(self.grid, ConfigGrid) else GRIDS[self.grid]

    def function(self, name: str) -> Function:
        """Return the profile of a function. Raises `InputError` for an unknown name."""
        if name not in self.functions:
            raise unknown_name("function", name, self.functions)
        known = self.functions[name]
        law = known.law.scaled(self.exponent_scale, self.s_shift)
        return Function(name, law.latency_ms(self.configs), known.cold_start_ms, known.input_mb)
