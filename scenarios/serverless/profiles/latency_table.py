"""Reader of a latency table: a user's measured latencies of functions under every configuration."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from ...csv_table import Row, read_rows, refuse_duplicates
from ...errors import InputError
from ..configs import MOST_SHARE, ConfigGrid
from ..workflows import MOST_MB, MOST_MS, Function

AXES = ("batch", "vcpu", "vgpu")
KEY = ("function", *AXES)
OF_FUNCTION = {"cold_start_ms": MOST_MS, "input_mb": MOST_MB}
"""Optional columns, with the largest legal value; all rows of a function must have the same value."""


def read_latency_table(path: Path) -> tuple[ConfigGrid, tuple[Function, ...], list[str]]:
    """Return the grid that the rows span, the functions in order of appearance, and remarks.

    Columns `function,batch,vcpu,vgpu,latency_ms[,cold_start_ms][,input_mb]`, one row per function and configuration.
    Raises `InputError` if a configuration is missing, with the first line of its function.
    """
    rows = read_rows(path, [*KEY, "latency_ms"])
    refuse_duplicates(rows, KEY, _key)
    grid = _grid(path, rows)
    by_name: dict[str, list[Row]] = {}
    for row in rows:
        by_name.setdefault(row.text("function"), []).append(row)
    absent = [column for column in OF_FUNCTION if column not in rows[0].cells]
    remarks = [f"{path}: no column {column}; 0 is used" for column in absent]
    return grid, tuple(_function(path, name, own, grid) for name, own in by_name.items()), remarks


def _grid(path: Path, rows: list[Row]) -> ConfigGrid:
    smallest = min(rows, key=lambda row: _share(row, "batch"))
    try:
        return ConfigGrid(*(tuple(sorted({_share(row, axis) for row in rows})) for axis in AXES))
    except InputError as error:
        where = f"{path}, line {smallest.line}" if _share(smallest, "batch") > 1 else path
        raise InputError(f"{where}: {error}") from None


def _function(path: Path, name: str, rows: list[Row], grid: ConfigGrid) -> Function:
    latency_ms = np.full(grid.size, np.nan)
    for row in rows:
        latency_ms[grid.index(*(_share(row, axis) for axis in AXES))] = row.number("latency_ms", 0, MOST_MS, above=True)
    missing = np.flatnonzero(np.isnan(latency_ms))
    if len(missing):
        x = missing[0]
        raise InputError(
            f"{path}, line {rows[0].line}: function '{name}' has no row for batch {grid.batch[x]}, "
            f"vcpu {grid.vcpu[x]}, vgpu {grid.vgpu[x]} ({len(missing)} of {grid.size} missing); "
            "legal: every combination in the file"
        )
    return Function(name, latency_ms, _constant(rows, "cold_start_ms"), _constant(rows, "input_mb"))


def _constant(rows: list[Row], column: str) -> float:
    """Return the value that a function's rows share in `column`; 0 if there is no such column."""
    if column not in rows[0].cells:
        return 0.0
    values = [row.number(column, 0, OF_FUNCTION[column]) for row in rows]
    for row, value in zip(rows, values, strict=True):
        if value != values[0]:
            raise row.error(column, f"one value per function (line {rows[0].line} has {values[0]:g})")
    return values[0]


def _share(row: Row, axis: str) -> int:
    return row.whole(axis, 1, MOST_SHARE)


def _key(row: Row) -> tuple[object, ...]:
    return row.text("function"), *(_share(row, axis) for axis in AXES)
