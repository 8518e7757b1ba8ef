"""The distribution of a request's latency under a static plan: Orion's model, by convolution of its stages.

Stage s takes m_s F, where m_s is its profile's mean and F the run-time factor of `Noise`, independent between stages.
Along a chain the distributions are convolved; at a join the later branch counts (Mahgoub et al., OSDI 2022, "sum" and
"max"). Let d be the closest dominator of stage v, which every path to v passes. Then

    step(v) = time from the end of d to the end of v
            = max over predecessors p of (sum of step(u) for u from p up the dominator tree, until d)  +  stage v

where the branches of a max are treated as independent. That is exact for series-parallel workflows. If branches share
stages below d, they are correlated, and the maximum, hence the percentile, is a little too large: on the safe side.

Distributions are masses on CELLS cells of equal width, each stage rounded to the nearest cell. A width is a power of
two ticks, the smallest that holds all but TAIL of the mass, so that similar states share it and can be compared. It is
0.2 to 0.5 % of the mean end-to-end latency at the default noise. Percentiles are interpolated within a cell. Without
noise the percentile is exactly the longest path.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtr, ndtri

from ....scenarios.serverless.noise import Noise
from ....scenarios.serverless.workflows import longest_path
from ....scenarios.types import Floats
from ..dominators import dominator_tree
from .problem import PERCENTILE, PlanProblem

CELLS = 1024
TAIL = 1e-6
"""Probability per stage that may fall beyond the last cell."""
MOST_SPECTRA = 4096
"""Number of transformed distributions that are cached, 8 KiB each."""

Spectrum = NDArray[np.complex128]
"""Fourier transform of a distribution; products of them are convolutions."""


class LatencyModel:
    """Computes the end-to-end latency of the plans of one workflow."""

    def __init__(self, problem: PlanProblem) -> None:
        self._problem = problem
        self._above = dominator_tree(range(problem.stages), problem.edges)
        self._before = [sorted(u for u, v in problem.edges if v == stage) for stage in range(problem.stages)]
        self._reach = factor_reach(problem.noise)
        self._spectrum = lru_cache(MOST_SPECTRA)(self._new_spectrum)

    def percentile(self, configs: Sequence[int], share: float = PERCENTILE) -> float:
        """Return the ticks within which `share` of the requests end under a plan."""
        means = [int(self._problem.latency_ticks[stage, config]) for stage, config in enumerate(configs)]
        longest = longest_path(self._problem.edges, means)
        if is_exact(self._problem.noise):
            return float(longest)
        exponent = math.ceil(math.log2(longest * self._reach / (CELLS - len(means))))
        cdf = _cdf(self._end(means, exponent))
        return _quantile(cdf, share) * math.ldexp(1.0, exponent)

    def _end(self, means: list[int], exponent: int) -> Spectrum:
        """Return the distribution of the end of the exit stage."""
        steps: list[Spectrum] = []
        for stage, mean in enumerate(means):
            own = self._spectrum(mean, exponent)
            steps.append(own if len(self._before[stage]) < 2 else own * self._join(stage, steps))
        return self._climb(len(means) - 1, None, steps)

    def _join(self, stage: int, steps: list[Spectrum]) -> Spectrum:
        """Return the time from the end of the closest dominator of `stage` to the end of its last predecessor."""
        fork = self._above[stage]
        branches = [_cdf(self._climb(u, fork, steps)) for u in self._before[stage] if u != fork]
        return np.fft.rfft(np.diff(np.prod(branches, axis=0), prepend=0.0))

    def _climb(self, stage: int, fork: int | None, steps: list[Spectrum]) -> Spectrum:
        """Sum the steps from `stage` up the dominator tree, to `fork` (excluded) or to the entry."""
        total, at = steps[stage], self._above.get(stage)
        while at != fork and at is not None:
            total, at = total * steps[at], self._above.get(at)
        return total

    def _new_spectrum(self, mean: int, exponent: int) -> Spectrum:
        """Compute the distribution of one stage, with its mass in the nearest cells."""
        upper_edge: Floats = (np.arange(CELLS, dtype=np.float64) + 0.5) * (math.ldexp(1.0, exponent) / mean)
        cdf = factor_cdf(self._problem.noise, upper_edge)
        cdf[-1] = 1.0
        return np.fft.rfft(np.diff(cdf, prepend=0.0))


def is_exact(noise: Noise) -> bool:
    """Whether run times always equal the profile."""
    return noise.noise_cv == 0 and (noise.straggler_share == 0 or noise.straggler_factor == 1)


def factor_cdf(noise: Noise, factor: Floats) -> Floats:
    """Return P(F <= factor): F is log-normal with mean 1, times the straggler factor for a share of the tasks."""
    share = noise.straggler_share
    normal, straggling = _lognormal_cdf(noise, factor), _lognormal_cdf(noise, factor / noise.straggler_factor)
    return (1 - share) * normal + share * straggling


def factor_reach(noise: Noise) -> float:
    """Return a factor that is exceeded with a probability of at most TAIL."""
    sigma = _sigma(noise)
    slowest = max(1.0, noise.straggler_factor if noise.straggler_share > 0 else 1.0)
    return slowest * math.exp(sigma * float(ndtri(1 - TAIL)))


def _sigma(noise: Noise) -> float:
    return math.sqrt(math.log1p(noise.noise_cv**2))


def _lognormal_cdf(noise: Noise, factor: Floats) -> Floats:
    sigma = _sigma(noise)
    if sigma == 0:
        return (factor >= 1).astype(np.float64)
    cdf: Floats = ndtr(np.log(factor) / sigma + sigma / 2)
    return cdf


def _cdf(spectrum: Spectrum) -> Floats:
    """Return the probability of each cell or a lower one [CELLS]."""
    return np.cumsum(np.fft.irfft(spectrum, CELLS))


def _quantile(cdf: Floats, share: float) -> float:
    """Return the position in cells below which `share` of the mass lies; a cell's mass is spread evenly over it."""
    cell = min(int(np.searchsorted(cdf, share)), CELLS - 1)
    below = cdf[cell - 1] if cell > 0 else 0.0
    return cell - 0.5 + float((share - below) / max(cdf[cell] - below, TAIL))
