"""Tables for the terminal."""

from __future__ import annotations

import math
import os
import sys

import numpy as np
from rich import box
from rich.console import Console, Group
from rich.markup import escape
from rich.table import Table
from rich.text import Text

from ..envs.cluster.metrics import METRICS, Metric, metrics_of
from ..envs.cluster.record import Record
from ..policies.types import Information, Policy
from .experiment import Results
from .stats import Interval, mean_interval, ratio_interval
from .suites import Sweep

HEADLINE, UNFINISHED = "mean_jct_s", "unfinished"
PIPE_WIDTH = 160
"""Columns when the output is not a terminal, so that no cell is cut."""
CLAIRVOYANT_MARK = "*"


class PipeConsole(Console):
    """A console whose reader may close the pipe early (`| head`) without that being an error."""

    def on_broken_pipe(self) -> None:
        """Leave the rest unprinted; the stream is pointed elsewhere so that its last flush cannot fail either."""
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def console(stderr: bool = False) -> Console:
    """A console that does not wrap tables when its output is piped."""
    made = PipeConsole(stderr=stderr, highlight=False)
    return made if made.is_terminal else PipeConsole(stderr=stderr, highlight=False, width=PIPE_WIDTH, soft_wrap=True)


def label(policy: Policy) -> str:
    """Name, with the mark of clairvoyance."""
    clairvoyant = policy.information is Information.CLAIRVOYANT
    return policy.name + (f" {CLAIRVOYANT_MARK}" if clairvoyant else "")


def record_table(record: Record, information: Information) -> Table:
    """Every metric of one episode, with its definition."""
    title = f"{record.scenario}, {record.policy} ({information}), seed {record.seed}, {len(record.jobs.job_id)} jobs"
    table = Table("metric", "value", "unit", "definition", title=escape(title), title_justify="left")
    values = metrics_of(record)
    for metric in METRICS:
        value = values[metric.name]
        shown = f"{value:,.0f}" if value.is_integer() else f"{value:,.4f}"
        table.add_row(metric.name, shown, metric.unit, metric.definition)
    return table


def scenario_tables(results: Results, scenario: str, wide: bool) -> list[Table]:
    """Every metric of every policy on one scenario, with the paired ratio to the baseline; two tables if not `wide`."""
    grid = results.grid
    title = f"{scenario}, {len(grid.seeds)} seed{'s' * (len(grid.seeds) > 1)}"
    others = [metric for metric in METRICS if metric.name not in (HEADLINE, UNFINISHED)]
    headline = [f"{HEADLINE} [95 %]", "ratio [95 %]"]
    rest = [metric.name.replace("_", "\n", 1) for metric in others]
    parts = [headline + rest] if wide else [headline, rest]
    tables = [
        Table(title=escape(title), title_justify="left", box=box.SIMPLE_HEAD, padding=(0, 1, 0, 0)) for _ in parts
    ]
    for table, columns in zip(tables, parts, strict=True):
        table.add_column("policy", overflow="fold")
        for column in columns:
            table.add_column(column, justify="right", overflow="fold")
    for policy in grid.policies:
        mean = mean_interval(results.values(scenario, policy.name, HEADLINE))
        cells = [_with_bounds(mean, 0), _ratio(results, scenario, policy.name)]
        cells += [_plain(m, float(results.values(scenario, policy.name, m.name).mean())) for m in others]
        for table, columns in zip(tables, parts, strict=True):
            table.add_row(label(policy), *cells[: len(columns)])
            cells = cells[len(columns) :]
    return tables


def summary_table(results: Results) -> Table:
    """Geometric mean of the paired ratios over all scenarios and seeds."""
    grid = results.grid
    table = Table(title=f"Geometric mean over {len(grid.sources)} scenarios", title_justify="left")
    table.add_column("policy", overflow="fold")
    table.add_column("baseline", overflow="fold")
    table.add_column(f"{HEADLINE} ratio [95 %]", justify="right", overflow="fold")
    for policy in grid.policies:
        base = grid.baseline_of(policy.name)
        pairs = [
            (results.values(s.name, policy.name, HEADLINE), results.values(s.name, base, HEADLINE))
            for s in grid.sources
        ]
        if all(len(v) == len(b) for v, b in pairs):
            interval = ratio_interval(np.concatenate([v for v, _ in pairs]), np.concatenate([b for _, b in pairs]))
            table.add_row(label(policy), base, _with_bounds(interval, 3))
    return table


def sweep_table(results: Results, sweep: Sweep) -> Table:
    """Paired ratio to the baseline of every policy along one knob."""
    grid = results.grid
    table = Table(title=f"{sweep.title}: ratio of {HEADLINE} to {grid.baseline} [95 %]", title_justify="left")
    table.add_column(sweep.knob, justify="right")
    compared = [policy for policy in grid.policies if policy.name != grid.baseline_of(policy.name)]
    for policy in compared:
        table.add_column(label(policy), justify="right", overflow="fold")
    for value, scenario in zip(sweep.values, sweep.scenarios, strict=True):
        table.add_row(f"{value:g}", *(_ratio(results, scenario, policy.name) for policy in compared))
    return table


def show_results(results: Results, to: Console | None = None, sweeps: tuple[Sweep, ...] = ()) -> None:
    """Print the tables of a grid, and what is needed to read them (default: to standard output)."""
    grid, to = results.grid, to or console()
    if sweeps:
        tables = [sweep_table(results, sweep) for sweep in sweeps]
    else:
        wide = to.width >= PIPE_WIDTH
        tables = [table for source in grid.sources for table in scenario_tables(results, source.name, wide)]
        tables += [summary_table(results)] if len(grid.sources) > 1 else []
    to.print(Group(*tables))
    to.print(Text(_legend(results), style="dim"))
    for source in grid.sources:
        for policy in grid.policies:
            jobs = int(results.values(source.name, policy.name, UNFINISHED).sum())
            if jobs:
                to.print(f"{source.name}, {policy.name}: {unfinished_note(jobs)}", style="yellow", markup=False)


def unfinished_note(jobs: int) -> str:
    """What it means that an episode was truncated."""
    return (
        f"{jobs} jobs had not finished at the horizon; their time up to it counts "
        "(a policy that starves them, or a restart cost that eats whole rounds)"
    )


def _legend(results: Results) -> str:
    grid = results.grid
    words = [f"ratio: {HEADLINE} over {grid.baseline}'s, paired by seed, geometric mean; below 1 is better"]
    names = [policy.name for policy in grid.policies]
    if not any(grid.baseline_of(name) in names for name in names):
        words = [f"no ratios: {grid.baseline} is not among the policies"]
    if any(policy.information is Information.CLAIRVOYANT for policy in grid.policies):
        words.append(f"{CLAIRVOYANT_MARK} clairvoyant: knows true remaining work")
    words.append(
        f"seeds {grid.seeds[0]}-{grid.seeds[-1]}; intervals: bootstrap over seeds (means over scenarios: over both)"
    )
    return "\n".join(words)


def _ratio(results: Results, scenario: str, policy: str) -> str:
    base_name = results.grid.baseline_of(policy)
    base = results.values(scenario, base_name, HEADLINE)
    if policy == base_name:
        return "1 (baseline)"
    if not len(base):
        return "-"
    return _with_bounds(ratio_interval(results.values(scenario, policy, HEADLINE), base), 3)


def _with_bounds(interval: Interval, digits: int) -> str:
    value = f"{interval.value:,.{digits}f}"
    if math.isnan(interval.low):
        return value
    return f"{value} [{interval.low:,.{digits}f}, {interval.high:,.{digits}f}]"


def _plain(metric: Metric, value: float) -> str:
    return (
        f"{value:,.0f}"
        if metric.unit == "s" or metric.name == "preemptions"
        else f"{value:,.3g}"
        if value < 100
        else f"{value:,.0f}"
    )
