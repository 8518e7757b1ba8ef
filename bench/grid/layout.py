"""What the tables of a kind of world hold: columns of results, and lists of names."""

from __future__ import annotations

from dataclasses import dataclass

from .columns import Column, Difference, Ratio

Compared = Ratio | Difference


@dataclass(frozen=True)
class Layout:
    """Tables of a kind of world."""

    columns: tuple[Column, ...]
    """Of the table of a scenario, a row per policy."""
    headline: int
    """How many of them stay together where the terminal is narrow."""
    compared: tuple[Compared, ...]
    """Summarised over scenarios."""
    summary: str
    """How."""
    along_knobs: tuple[Column, ...]
    """A table each where one knob is varied."""
    judged: tuple[Compared, ...]
    """What learners are judged by; `{expert}` stands for the name of an expert."""
    known: tuple[str, ...]
    """Metrics that were considered; those that are added later get columns of their own."""
    overview: tuple[Column, ...] = ()
    """A table each with a row per scenario and a column per policy."""
    legend: str = ""
    """What the comparison means; `{baseline}` stands for its name."""


@dataclass(frozen=True)
class Listing:
    """A table of names in `varigym list`."""

    title: str
    columns: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
