"""What a named benchmark is."""

from __future__ import annotations

from dataclasses import dataclass

SEEDS = 10
"""Of a benchmark unless told otherwise."""


@dataclass(frozen=True)
class Sweep:
    """One knob of a scenario, changed while everything else and all draws stay."""

    title: str
    base: str
    knob: str
    values: tuple[float | str, ...]

    @property
    def labels(self) -> tuple[str, ...]:
        """Values as they stand in names, which may not be altered: finished rows carry them."""
        return tuple(value if isinstance(value, str) else f"{value:g}" for value in self.values)

    @property
    def scenarios(self) -> tuple[str, ...]:
        """Scenario names, one per value."""
        return tuple(f"{self.base}:{self.knob}={label}" for label in self.labels)


@dataclass(frozen=True)
class Suite:
    """A catalog line."""

    about: str
    scenarios: tuple[str, ...]
    policies: tuple[str, ...]
    baseline: str
    sweeps: tuple[Sweep, ...] = ()
