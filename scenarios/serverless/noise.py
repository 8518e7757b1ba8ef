"""How much the run time of a task deviates from its profile."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ..checks import check_number


@dataclass(frozen=True)
class Noise:
    """Log-normal factors with mean 1, and a few stragglers. This is our proposal: ESG's noise is not published.

    The mean of all factors is 1 + share * (factor - 1), 1.01 by default. Schedulers plan with the profile, so they are
    slightly optimistic.
    """

    noise_cv: float = 0.10
    """Standard deviation of the log-normal factor; its mean is 1."""
    straggler_share: float = 0.02
    """Share of tasks that straggle."""
    straggler_factor: float = 1.5
    """Additional factor on the run time of stragglers."""

    def __post_init__(self) -> None:
        check_number("noise_cv", self.noise_cv, 0, 1)
        check_number("straggler_share", self.straggler_share, 0, 1)
        check_number("straggler_factor", self.straggler_factor, 0.1, 10)

    def draw(
        self, normals: np.random.Generator, uniforms: np.random.Generator, requests: int, stages: int
    ) -> NDArray[np.float32]:
        """Draw factors by request and stage [R, S].

        A task takes the factor of its first request, so every scheduler meets the same factors whatever it does. A knob
        only scales the draws, so that worlds that differ in one knob share everything else.
        """
        sigma = math.sqrt(math.log1p(self.noise_cv**2))
        factor = np.exp(sigma * normals.standard_normal((requests, stages)) - sigma**2 / 2)
        straggles = uniforms.random((requests, stages)) < self.straggler_share
        return np.where(straggles, factor * self.straggler_factor, factor).astype(np.float32)
