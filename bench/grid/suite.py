"""The types of a named benchmark."""

from __future__ import annotations

from dataclasses import dataclass

SEEDS = 10
"""Of a benchmark unless told otherwise."""


@dataclass(frozen=True)
class Sweep:
    """One knob of a scenario, varied while everything else, including all draws, stays the same."""

    title: str
    base: str
    knob: str
    values: tuple[float | str, ...]

    @property
    def labels(self) -> tuple[str, ...]:
        """Values as written in scenario names. Do not change their format, because finished rows contain them."""
        return tuple(value if isinstance(value, str) else f"{value:g}" for value in self.values)

    @property
    def scenarios(self) -> tuple[str, ...]:
        """Scenario names, one per value."""
        return tuple(f"{self.base}:{self.knob}={label}" for label in self.labels)


@dataclass(frozen=True)
class Suite:
    """A named benchmark of the catalog."""

    about: str
    scenarios: tuple[str, ...]
    policies: tuple[str, ...]
    baseline: str
    sweeps: tuple[Sweep, ...] = ()
