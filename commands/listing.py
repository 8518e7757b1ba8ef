"""What `varigym list` prints: scenarios, policies with the information they use, metrics, suites, seeds."""

from __future__ import annotations

from dataclasses import dataclass

from rich.console import Console
from rich.table import Table

from ..bench.grid.world_kinds import KINDS, SUITES
from ..bench.report.fitted import FittedTable
from ..bench.report.terminal import console
from ..scenarios.catalog import SCENARIOS, find_source, knobs
from ..scenarios.seeds import HELD_OUT, TRAIN, VALIDATION
from .learners import LEARNERS
from .plugins import PluginOption

PROSE = ("about", "knobs and defaults", "rule and source", "definition", "use")
"""Columns of words."""


def show_catalogs(to: Console) -> None:
    """Print every catalog."""
    for table in (_scenarios(), *_policies(), *_metrics(), _suites(), _learners(), _seeds()):
        to.print(table)
    to.print("Policies are ORDER+PLACEMENT[+sticky][+backfill]: sticky gangs keep their GPUs unless a job ahead needs")
    to.print(
        "them; backfill passes over a job that does not fit. Variants of a scenario or scheduler: NAME:KNOB=VALUE."
    )


def _table(title: str, *columns: str) -> Table:
    table = FittedTable(title)
    for column in columns:
        (table.add_prose if column in PROSE else table.add_names)(column)
    return table


def _scenarios() -> Table:
    table = _table("Scenarios", "name", "world", "about", "knobs and defaults")
    for name, entry in SCENARIOS.items():
        table.add_row(name, entry.world, entry.about, entry.knobs or _settings(name))
    return table


def _settings(name: str) -> str:
    return ", ".join(f"{key}={value}" for key, (_, value) in knobs(find_source(name)).items())


def _policies() -> list[Table]:
    tables = []
    for listing in (listing for kind in KINDS.values() for listing in kind.listings):
        table = _table(listing.title, *listing.columns)
        for row in listing.rows:
            table.add_row(*row)
        tables.append(table)
    return tables


def _metrics() -> list[Table]:
    tables = []
    for kind in KINDS.values():
        table = _table(f"Metrics of {kind.about}", "name", "unit", "better", "definition")
        for metric in kind.metrics.values():
            table.add_row(metric.name, metric.unit, metric.better, metric.definition)
        tables.append(table)
    return tables


def _suites() -> Table:
    table = _table("Suites of varigym bench", "name", "about", "scenarios", "policies")
    for name, suite in SUITES.items():
        table.add_row(name, suite.about, str(len(suite.scenarios)), str(len(suite.policies)))
    return table


def _learners() -> Table:
    table = _table("Learners of varigym train", "name", "about")
    for learner in LEARNERS.values():
        table.add_row(learner.name, learner.about)
    return table


def _seeds() -> Table:
    table = _table("Seeds", "first", "last", "use")
    for seeds in (TRAIN, VALIDATION, HELD_OUT):
        table.add_row(f"{seeds.first:,}", f"{seeds.last:,}", seeds.use)
    return table


@dataclass(frozen=True)
class List:
    """Show scenarios, policies and the information they use, metrics with definitions, suites and seeds."""

    plugin: PluginOption = None

    def run(self) -> None:
        """Print the catalogs."""
        show_catalogs(console())
