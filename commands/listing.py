"""What `varigym list` prints: scenarios, policies with the information they use, metrics, suites, seeds."""

from __future__ import annotations

from dataclasses import dataclass

from rich.console import Console
from rich.table import Table

from ..bench.catalog import KINDS
from ..bench.cluster.benchmarks import SUITES
from ..bench.report.fitted import FittedTable
from ..bench.report.tables import CLAIRVOYANT_MARK
from ..bench.report.terminal import console
from ..policies.cluster.catalog import ALIASES, ORDERS, PLACEMENTS
from ..policies.cluster.policy import Information
from ..policies.serverless.catalog import SCHEDULERS
from ..policies.serverless.catalog import knobs as scheduler_knobs
from ..scenarios.catalog import SCENARIOS, Entry, ServerlessEntry, find_source, knobs
from ..scenarios.seeds import HELD_OUT, TRAIN, VALIDATION

PROSE = ("about", "knobs and defaults", "rule and source", "definition", "use")
"""Columns of words."""


def show_catalogs(to: Console) -> None:
    """Print every catalog."""
    for table in (_scenarios(), _orders(), _placements(), _aliases(), _schedulers(), *_metrics(), _suites(), _seeds()):
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
    table = _table("Scenarios", "name", "kind", "about", "knobs and defaults")
    for name, entry in SCENARIOS.items():
        table.add_row(name, entry.kind, entry.about, _settings(name, entry))
    return table


def _settings(name: str, entry: Entry | ServerlessEntry) -> str:
    if isinstance(entry, ServerlessEntry) and entry.warm_name:
        return f"those of {entry.warm_name}, warm=0"
    return ", ".join(f"{key}={value}" for key, (_, value) in knobs(find_source(name)).items())


def _orders() -> Table:
    table = _table("Orders of a cluster: who is next", "name", "information", "rule and source")
    for order in ORDERS.values():
        mark = f" {CLAIRVOYANT_MARK}" if order.information is Information.CLAIRVOYANT else ""
        table.add_row(order.name + mark, order.information, order.source)
    return table


def _placements() -> Table:
    table = _table("Placements of a cluster: on which GPUs", "name", "information", "rule and source")
    for placement in PLACEMENTS.values():
        table.add_row(placement.name, "PM bins" if placement.class_first else "free GPUs", placement.source)
    return table


def _aliases() -> Table:
    table = _table("Aliases of a cluster's policies", "name", "policy")
    for name, policy in ALIASES.items():
        table.add_row(name, policy)
    return table


def _schedulers() -> Table:
    table = _table("Schedulers of a serverless platform", "name", "rule and source", "knobs and defaults")
    for name, entry in SCHEDULERS.items():
        settings = scheduler_knobs(entry.make(name)).items()
        table.add_row(name, entry.about, ", ".join(f"{key}={value}" for key, value in settings))
    return table


def _metrics() -> list[Table]:
    tables = []
    for kind in KINDS:
        table = _table(f"Metrics of {kind.about}", "name", "unit", "better", "definition")
        for metric in kind.metrics:
            table.add_row(metric.name, metric.unit, metric.better, metric.definition)
        tables.append(table)
    return tables


def _suites() -> Table:
    table = _table("Suites of varigym bench", "name", "about", "scenarios", "policies")
    for name, suite in SUITES.items():
        table.add_row(name, suite.about, str(len(suite.scenarios)), str(len(suite.policies)))
    return table


def _seeds() -> Table:
    table = _table("Seeds", "first", "last", "use")
    for seeds in (TRAIN, VALIDATION, HELD_OUT):
        table.add_row(f"{seeds.first:,}", f"{seeds.last:,}", seeds.use)
    return table


@dataclass(frozen=True)
class List:
    """Show scenarios, policies and the information they use, metrics with definitions, suites and seeds."""

    def run(self) -> None:
        """Print the catalogs."""
        show_catalogs(console())
