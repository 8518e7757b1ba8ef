"""Tables of an episode and of a benchmark."""

from __future__ import annotations

import math
from typing import Any

from rich.console import Console, Group
from rich.table import Table
from rich.text import Text

from ...policies.information import Information
from ..grid.columns import Column, Plain
from ..grid.experiment import Results
from ..grid.suite import Sweep
from ..grid.world_kinds import kind_of_record
from .fitted import REPORT, FittedTable
from .terminal import PIPE_WIDTH, console

UNFINISHED = "unfinished"
CLAIRVOYANT_MARK = "*"


def label(policy: Any) -> str:
    """Return a policy's name, marked if it is clairvoyant."""
    return policy.name + (f" {CLAIRVOYANT_MARK}" if _is_clairvoyant(policy) else "")


def record_table(record: Any, policy: Any) -> Table:
    """Make the table of one episode: every metric with its definition."""
    kind = kind_of_record(record)
    knows = f" ({policy.information})" if hasattr(policy, "information") else ""
    title = f"{record.scenario}, {record.policy}{knows}, seed {record.seed}, {kind.heading(record)}"
    table = FittedTable(title)
    table.add_names("metric", "value", "unit")
    table.add_prose("definition")
    for metric in kind.metrics.values():
        table.add_row(metric.name, _shown(metric.of(record)), metric.unit, metric.definition)
    return table


def result_tables(results: Results, wide: bool = True, sweeps: tuple[Sweep, ...] = ()) -> list[Table]:
    """The tables of a grid: along each knob, or of each scenario and over all of them."""
    layout, names = results.grid.kind.layout, [source.name for source in results.grid.sources]
    if sweeps:
        return [
            pivot_table(results, column, f"{sweep.title}: {column.title}", sweep.knob, sweep.labels, sweep.scenarios)
            for sweep in sweeps
            for column in layout.along_knobs
        ]
    tables = [table for name in names for table in scenario_tables(results, name, wide)]
    if len(names) > 1:
        tables += [pivot_table(results, c, c.title, "scenario", tuple(names), tuple(names)) for c in layout.overview]
        tables += [summary_table(results)]
    return tables


def scenario_tables(results: Results, scenario: str, wide: bool) -> list[Table]:
    """Every policy on one scenario; two tables if not `wide`."""
    grid, layout = results.grid, results.grid.kind.layout
    title = f"{scenario}, {len(grid.seeds)} seed{'s' * (len(grid.seeds) > 1)}"
    added = [Plain(name, name) for name in grid.kind.metrics if name not in layout.known]
    head, rest = layout.columns[: layout.headline], (*layout.columns[layout.headline :], *added)
    parts = [(*head, *rest)] if wide else [head, rest]
    tables: list[Table] = []
    for columns in parts:
        table = FittedTable(title, light=True, elsewhere=REPORT)
        table.add_names("policy")
        table.add_figures(*(column.title for column in columns))
        for policy in grid.policies:
            table.add_row(label(policy), *(column.cell(results, scenario, policy.name) for column in columns))
        tables.append(table)
    return tables


def pivot_table(
    results: Results, column: Column, title: str, corner: str, labels: tuple[str, ...], scenarios: tuple[str, ...]
) -> Table:
    """Make the table of one figure: a row per scenario, a column per policy with values to show."""
    grid = results.grid
    table = FittedTable(title.replace("{baseline}", grid.baseline), light=True, elsewhere=REPORT)
    is_compared = hasattr(column, "over")
    shown = [p for p in grid.policies if not is_compared or p.name != grid.baseline_of(p.name)]
    table.add_names(corner)
    table.add_figures(*map(label, shown))
    for name, scenario in zip(labels, scenarios, strict=True):
        cells = [column.cell(results, scenario, policy.name) for policy in shown]
        table.add_row(name, *(cell.replace(" [", "\n[") for cell in cells))
    return table


def summary_table(results: Results) -> Table:
    """Differences from the baseline over all scenarios and seeds."""
    grid, layout = results.grid, results.grid.kind.layout
    scenarios = [source.name for source in grid.sources]
    table = FittedTable(f"{layout.summary} over {len(scenarios)} scenarios", elsewhere=REPORT)
    table.add_names("policy")
    table.add_figures("baseline", *(column.title for column in layout.compared))
    for policy in grid.policies:
        cells = [column.over(results, scenarios, policy.name) for column in layout.compared]
        table.add_row(label(policy), grid.baseline_of(policy.name), *cells)
    return table


def show_results(results: Results, to: Console | None = None, sweeps: tuple[Sweep, ...] = ()) -> None:
    """Print the tables of a grid and their legend (default: to standard output)."""
    to = to or console()
    to.print(Group(*result_tables(results, to.width >= PIPE_WIDTH, sweeps)))
    to.print(Text(legend(results), style="dim"))
    for line in remarks(results):
        to.print(line, style="yellow", markup=False)


def legend(results: Results) -> str:
    """Explain the figures of the tables."""
    grid = results.grid
    words = [grid.kind.layout.legend.replace("{baseline}", grid.baseline)]
    names = [policy.name for policy in grid.policies]
    if not any(grid.baseline_of(name) in names for name in names):
        words = [f"no ratios: {grid.baseline} is not among the policies"]
    if any(_is_clairvoyant(policy) for policy in grid.policies):
        words.append(f"{CLAIRVOYANT_MARK} clairvoyant: knows true remaining work")
    words.append(
        f"seeds {grid.seeds[0]}-{grid.seeds[-1]}; intervals: bootstrap over seeds (means over scenarios: over both)"
    )
    return "\n".join(words)


def remarks(results: Results) -> list[str]:
    """Return remarks on episodes that were cut off."""
    grid, found = results.grid, []
    for source in grid.sources:
        for policy in grid.policies:
            count = int(results.values(source.name, policy.name, UNFINISHED).sum())
            if count and (said := grid.kind.unfinished_note(count)):
                found.append(f"{source.name}, {policy.name}: {said}")
    return found


def _is_clairvoyant(policy: Any) -> bool:
    return getattr(policy, "information", None) is Information.CLAIRVOYANT


def _shown(value: float) -> str:
    if math.isnan(value):
        return "-"
    return f"{value:,.0f}" if value.is_integer() else f"{value:,.4f}" if abs(value) >= 0.01 else f"{value:.4g}"
