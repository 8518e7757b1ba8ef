"""Tables of figures by workflow, where the rows of a benchmark carry them as `METRIC[WORKFLOW]`."""

from __future__ import annotations

from rich.table import Table

from ..grid.columns import Column, Mean, Ratio
from ..grid.experiment import Results
from ..report.fitted import REPORT, FittedTable
from ..report.tables import label
from .layout import COST, HIT


def detail_tables(results: Results) -> list[Table]:
    """Hit rate and cost by scenario, workflow and policy."""
    baseline = results.grid.baseline
    return [
        _by_workflow(results, "Hit rate by workflow, % [95 %]", HIT),
        _by_workflow(results, f"{COST} by workflow over {baseline}'s, paired by seed [95 %]", COST),
    ]


def workflows_of(results: Results, scenario: str) -> list[str]:
    """Workflows that a scenario's rows name, in the order of the scenario."""
    names = [row.metric for row in results.rows if row.scenario == scenario and row.metric.startswith(f"{HIT}[")]
    return [name[len(HIT) + 1 : -1] for name in dict.fromkeys(names)]


def _by_workflow(results: Results, title: str, metric: str) -> Table:
    grid = results.grid
    table = FittedTable(title, elsewhere=REPORT)
    table.add_names("scenario", "workflow")
    table.add_figures(*map(label, grid.policies))
    for source in grid.sources:
        for workflow in workflows_of(results, source.name):
            column = _column(metric, workflow)
            cells = [column.cell(results, source.name, policy.name) for policy in grid.policies]
            table.add_row(source.name, workflow, *(cell.replace(" [", "\n[") for cell in cells))
    return table


def _column(metric: str, workflow: str) -> Column:
    name = f"{metric}[{workflow}]"
    return Mean(name, name, 1, 100, bounds=True) if metric == HIT else Ratio(name, name)
