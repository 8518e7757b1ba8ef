"""A line of the catalog of scenarios, of any world."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class ScenarioEntry:
    """How to make the source of a scenario, and what it is."""

    world: str
    """The kind of world that the source makes: `cluster`, `serverless` or one that was added."""
    make: Callable[[str], Any]
    """From the name to the source: a frozen dataclass with `name`, `build(seed)` and `history()`."""
    about: str
    knobs: str = ""
    """What `varigym list` shows as knobs. Default: all knobs of the source with their values."""
