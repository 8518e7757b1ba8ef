"""Reader of workflows: one line per stage, with the stages that it waits for."""

from __future__ import annotations

from collections.abc import Sequence
from graphlib import CycleError, TopologicalSorter
from pathlib import Path

from ...csv_table import Row, read_rows, refuse_duplicates
from ...errors import InputError, unknown_name
from ..workflows import MOST_MS, MOST_PREDECESSORS, Workflow

COLUMNS = ("workflow", "stage", "function", "after", "slo_ms")


def read_workflows(path: Path, functions: Sequence[str]) -> tuple[Workflow, ...]:
    """Read workflows from `workflow,stage,function,after,slo_ms`, in order of appearance.

    `after` holds the names of the stages that must end first, separated by `+`, and is empty for the entry; `slo_ms` is
    the same on all lines of a workflow. Stages may come in any order: they are numbered topologically, the earliest
    line first. Raises `InputError`.
    """
    rows = read_rows(path, COLUMNS)
    refuse_duplicates(rows, ["workflow", "stage"])
    by_name: dict[str, list[Row]] = {}
    for row in rows:
        by_name.setdefault(row.text("workflow"), []).append(row)
    return tuple(_workflow(path, name, own, functions) for name, own in by_name.items())


def _workflow(path: Path, name: str, rows: list[Row], functions: Sequence[str]) -> Workflow:
    stages = _sorted(path, name, rows)
    number = {row.text("stage"): k for k, row in enumerate(stages)}
    edges = tuple((number[before], k) for k, row in enumerate(stages) for before in _after(row))
    try:
        return Workflow(name, tuple(_function(row, functions) for row in stages), edges, _slo_ms(rows))
    except InputError as error:
        if str(error).startswith(str(path)):
            raise
        raise InputError(f"{path}, line {_culprit(stages).line}: {error}{_numbering(number)}") from None


def _sorted(path: Path, name: str, rows: list[Row]) -> list[Row]:
    """Sort the stages so that each follows those it waits for, and otherwise keeps the order of the file."""
    line = {row.text("stage"): k for k, row in enumerate(rows)}
    for row in rows:
        for before in _after(row):
            if before not in line:
                raise InputError(f"{row.path}, line {row.line}: {unknown_name(f'stage of {name}', before, line)}")
    sorter = TopologicalSorter({row.text("stage"): _after(row) for row in rows})
    try:
        sorter.prepare()
    except CycleError as error:
        cycle = error.args[1]
        where = f"{path}, line {rows[line[cycle[0]]].line}"
        raise InputError(f"{where}: workflow {name} has a cycle: {' -> '.join(cycle)}") from None
    stages: list[Row] = []
    ready: list[str] = []
    while sorter.is_active():
        ready = sorted([*ready, *sorter.get_ready()], key=line.__getitem__)
        stage = ready.pop(0)
        stages.append(rows[line[stage]])
        sorter.done(stage)
    return stages


def _after(row: Row) -> list[str]:
    names = [part.strip() for part in row.cells["after"].split("+")]
    if names == [""]:
        return []
    if "" in names or len(set(names)) < len(names):
        raise row.error("after", "distinct stages, separated by +, or nothing")
    return names


def _culprit(stages: list[Row]) -> Row:
    """Return the row that makes these sorted stages no legal workflow: an extra entry or exit, else the first."""
    awaited = {before for row in stages for before in _after(row)}
    for number, row in enumerate(stages):
        if (number and not _after(row)) or len(_after(row)) > MOST_PREDECESSORS:
            return row
    return next((row for row in stages[:-1] if row.text("stage") not in awaited), stages[0])


def _function(row: Row, functions: Sequence[str]) -> int:
    name = row.text("function")
    if name not in functions:
        hint = unknown_name("function", name, functions)
        raise InputError(f"{row.path}, line {row.line}: {hint}; every function needs rows in the latency table")
    return functions.index(name)


def _slo_ms(rows: list[Row]) -> float:
    values = [row.number("slo_ms", 0, MOST_MS, above=True) for row in rows]
    for row, value in zip(rows, values, strict=True):
        if value != values[0]:
            raise row.error("slo_ms", f"one value per workflow (line {rows[0].line} has {values[0]:g})")
    return values[0]


def _numbering(number: dict[str, int]) -> str:
    return " (stages: " + ", ".join(f"{k} = {stage}" for stage, k in number.items()) + ")"
