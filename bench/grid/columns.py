"""Columns of result tables; a cell shows a figure of one policy on one scenario."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from .intervals import Interval, difference_interval, mean_interval, ratio_interval

NOTHING = "-"
"""Shown if no episode has a value, or if there is nothing to compare with."""


class Results(Protocol):
    """Look-ups over finished rows; see `experiment.Results`."""

    def values(self, scenario: str, policy: str, metric: str) -> NDArray[np.float64]:
        """Values in the order of the seeds."""
        ...

    def baseline_of(self, policy: str) -> str:
        """Name of the policy that `policy` is compared with."""
        ...


class Column(Protocol):
    """A heading, and a function that makes the cells."""

    @property
    def title(self) -> str:
        """The heading; a line break marks where it may wrap."""
        ...

    def cell(self, results: Results, scenario: str, policy: str) -> str:
        """Return the text for one policy on one scenario."""
        ...


@dataclass(frozen=True)
class Mean:
    """Mean over seeds, times `scale`; with `bounds` also its 95 % interval."""

    title: str
    metric: str
    digits: int = 3
    scale: float = 1.0
    bounds: bool = False

    def cell(self, results: Results, scenario: str, policy: str) -> str:
        """Return the mean over the episodes in which the metric is defined."""
        values = results.values(scenario, policy, self.metric)
        interval = mean_interval(self.scale * values[~np.isnan(values)]) if np.isfinite(values).any() else None
        if interval is None:
            return NOTHING
        return with_bounds(interval, self.digits) if self.bounds else f"{interval.value:,.{self.digits}f}"


@dataclass(frozen=True)
class Plain:
    """Mean over seeds, with three digits if it is below 100."""

    title: str
    metric: str
    whole: bool = False
    """Show small values without decimals too."""

    def cell(self, results: Results, scenario: str, policy: str) -> str:
        """Return the mean."""
        value = float(results.values(scenario, policy, self.metric).mean())
        return f"{value:,.3g}" if value < 100 and not self.whole else f"{value:,.0f}"


@dataclass(frozen=True)
class Ratio:
    """Geometric mean of paired ratios to the baseline, with its 95 % interval."""

    title: str
    metric: str
    digits: int = 3

    def cell(self, results: Results, scenario: str, policy: str) -> str:
        """Compare over the seeds in which both values are positive."""
        return self.over(results, [scenario], policy)

    def over(self, results: Results, scenarios: list[str], policy: str) -> str:
        """Over several scenarios and all seeds."""
        base_name = results.baseline_of(policy)
        if policy == base_name:
            return "1 (baseline)"
        values, base = pairs(results, scenarios, policy, base_name, self.metric)
        both = (values > 0) & (base > 0)
        return with_bounds(ratio_interval(values[both], base[both]), self.digits) if both.any() else NOTHING


@dataclass(frozen=True)
class Difference:
    """Mean of paired differences from the baseline, times `scale`, with its 95 % interval."""

    title: str
    metric: str
    digits: int = 1
    scale: float = 1.0

    def cell(self, results: Results, scenario: str, policy: str) -> str:
        """Compare over the seeds in which both values exist."""
        return self.over(results, [scenario], policy)

    def over(self, results: Results, scenarios: list[str], policy: str) -> str:
        """Over several scenarios and all seeds."""
        base_name = results.baseline_of(policy)
        if policy == base_name:
            return "0 (baseline)"
        values, base = pairs(results, scenarios, policy, base_name, self.metric)
        both = ~np.isnan(values + base)
        if not both.any():
            return NOTHING
        return with_bounds(difference_interval(self.scale * values[both], self.scale * base[both]), self.digits)


def pairs(
    results: Results, scenarios: list[str], policy: str, base: str, metric: str
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return the values of a policy and of its baseline, paired by world; empty if one of them was not run."""
    found = [(results.values(s, policy, metric), results.values(s, base, metric)) for s in scenarios]
    if any(len(values) != len(base_values) for values, base_values in found):
        return np.empty(0), np.empty(0)
    return np.concatenate([values for values, _ in found]), np.concatenate([base for _, base in found])


def with_bounds(interval: Interval, digits: int) -> str:
    """Format as `value [low, high]`, without bounds if they are unknown."""
    value = f"{interval.value:,.{digits}f}"
    if math.isnan(interval.low):
        return value
    return f"{value} [{interval.low:,.{digits}f}, {interval.high:,.{digits}f}]"
