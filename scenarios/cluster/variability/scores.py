"""True PM scores of a cluster, and the scheduler's profile of them (exact, noisy or stale)."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ...errors import InputError, legal_names
from ...types import Floats
from ..scenario import Compat
from .bins import bin_scores
from .quantiles import CLASSES, MEASURED, Kind

SLOW_RANGE = (1.5, 2.8)
"""Slowdown of an injected slow GPU, log-uniform: 1.5 is the outlier that Sinha et al. (SC 2022) report, 2.8 the
slowest of 64 GPUs in the public simulator of PAL (one transiently slow run in 1,404 per GPU)."""


@dataclass(frozen=True)
class Variability:
    """How GPUs differ, and how accurate the scheduler's profile is."""

    cluster: str = "longhorn"
    """The measured machine from whose quantiles the scores are drawn."""
    spread: float = 1.0
    """Exponent on every score: 0 makes all GPUs equal, 2 doubles the spread on a log scale."""
    slow_rate: float = 0.0
    """Share of GPUs that are slowed for all classes by an extra factor, drawn from `SLOW_RANGE`."""
    profile_noise: float = 0.0
    """Standard deviation of the log of the profile's measurement error."""
    profile_stale: float = 0.0
    """Share of GPUs whose speed has changed (an independent draw) since it was profiled."""

    def __post_init__(self) -> None:
        if self.cluster not in MEASURED:
            raise InputError(f"cluster = '{self.cluster}'; {legal_names(self.cluster, MEASURED)}")
        for name, most in (("spread", 10.0), ("slow_rate", 1.0), ("profile_noise", 2.0), ("profile_stale", 1.0)):
            value = getattr(self, name)
            if not 0 <= value <= most:
                raise InputError(f"{name} = {value}; legal: 0 to {most:g}")


def draw_scores(variability: Variability, gpus: int, kind: Kind, rng: np.random.Generator) -> Floats:
    """Draw true scores [C, G]: an independent quantile draw per class and GPU, as in PAL's simulator."""
    # All numbers are always drawn, in a fixed order, so that worlds that differ in one knob share everything else.
    u = rng.random((len(CLASSES), gpus))
    slow = rng.random(gpus) < variability.slow_rate
    factor = np.exp(rng.uniform(np.log(SLOW_RANGE[0]), np.log(SLOW_RANGE[1]), size=gpus))
    tables = [MEASURED[variability.cluster][c][kind] for c in CLASSES]
    scores = np.stack([np.interp(row, *table) for row, table in zip(u, tables, strict=True)])
    return scores**variability.spread * np.where(slow, factor, 1.0)


def profile(
    truth: Floats, redrawn: Floats, variability: Variability, compat: Compat, rng: np.random.Generator
) -> Floats:
    """Return the scheduler's profile [C, G]: bins of the measured scores.

    A stale GPU shows its value in `redrawn`, an independent draw from the same law, instead of its true score.
    """
    stale = rng.random(truth.shape[1]) < variability.profile_stale
    error = np.exp(variability.profile_noise * rng.standard_normal(truth.shape))
    measured = np.where(stale, redrawn, truth) * error
    return np.stack([bin_scores(row, compat) for row in measured])
