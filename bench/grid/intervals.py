"""Confidence intervals: paired, by bootstrap over seeds; never from a single run, never from the best run."""

from __future__ import annotations

import warnings
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy import stats

RESAMPLES = 2000
CONFIDENCE = 0.95
CONSTANT = 1e-12
"""Relative spread below which samples count as one value with rounding errors."""


@dataclass(frozen=True)
class Interval:
    """A point estimate and its 95 % interval; the bounds are NaN for a single sample, which shows no spread."""

    value: float
    low: float
    high: float

    def exp(self) -> Interval:
        """Turn a mean of logarithms into a geometric mean."""
        return Interval(*(float(np.exp(x)) for x in (self.value, self.low, self.high)))


def mean_interval(values: NDArray[np.float64]) -> Interval:
    """Return the mean of independent samples [n], with a BCa bootstrap interval (Efron 1987)."""
    value = float(values.mean())
    if len(values) < 2:
        return Interval(value, np.nan, np.nan)
    if np.ptp(values) <= CONSTANT * np.abs(values).max():
        return Interval(value, value, value)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", stats.DegenerateDataWarning)  # NaN bounds show it already
        found = stats.bootstrap(
            (values,), np.mean, n_resamples=RESAMPLES, confidence_level=CONFIDENCE, rng=np.random.default_rng(0)
        )
    return Interval(value, float(found.confidence_interval.low), float(found.confidence_interval.high))


def ratio_interval(values: NDArray[np.float64], base: NDArray[np.float64]) -> Interval:
    """Return the geometric mean of paired ratios values / base [n]; both positive, paired by seed."""
    return mean_interval(np.log(values / base)).exp()


def difference_interval(values: NDArray[np.float64], base: NDArray[np.float64]) -> Interval:
    """Return the mean of paired differences values - base [n], paired by seed."""
    return mean_interval(values - base)


def spread_interval(values: NDArray[np.float64]) -> Interval:
    """Return the mean of few independent samples [n], such as learners of different seeds, by Student's t."""
    value = float(values.mean())
    if len(values) < 2:
        return Interval(value, np.nan, np.nan)
    half = float(stats.t.ppf(0.5 + CONFIDENCE / 2, len(values) - 1) * values.std(ddof=1) / np.sqrt(len(values)))
    return Interval(value, value - half, value + half)
