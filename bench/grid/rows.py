"""Result rows on disk, appended when cells of a grid finish, so that an interrupted benchmark can continue."""

from __future__ import annotations

import csv
import io
import math
import os
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import astuple, dataclass, fields
from pathlib import Path
from typing import Any

from ...agents.runs.lock import FolderLock
from ...envs.metric_type import Metric
from ...scenarios.errors import InputError


@dataclass(frozen=True)
class ResultRow:
    """One metric of one episode."""

    scenario: str
    policy: str
    seed: int
    metric: str
    value: float
    """NaN, written as an empty cell, if the metric is not defined for the episode."""
    unit: str
    version: str
    commit: str
    data_hash: str


COLUMNS = tuple(field.name for field in fields(ResultRow))
HEADER = ",".join(COLUMNS) + "\n"
SHARE, MOST_SHARE = "share", 1 + 1e-9
"""A share is at most 1, except for rounding errors of sums; no metric is below 0."""
Cell = tuple[str, str, int]
"""(scenario, policy, seed)"""


def unit_of(name: str, metrics: Mapping[str, Metric[Any]]) -> str:
    """Return a row's unit: that of its metric, for `METRIC[...]` that of `METRIC`; 1 for an unknown metric."""
    metric = metrics.get(name.partition("[")[0])
    return metric.unit if metric else "1"


class RowStore:
    """Rows in memory and, with a folder, in `DIR/rows.csv`.

    Raises `InputError` if the folder cannot be written, or if its rows.csv has another format or comes from a version
    with fewer metrics. A file that is empty, or ends within its header, is started again.
    """

    def __init__(self, folder: Path | None, metrics: Mapping[str, Metric[Any]]) -> None:
        """Open `folder` (created if absent) and read the finished cells of an earlier run.

        A cell is finished when it has all of `metrics`; it may have further rows before them.
        """
        self._defined = dict(metrics)
        self._metrics = tuple(metrics)
        self._measured = {name for name, metric in metrics.items() if metric.measured}
        self._path = folder / "rows.csv" if folder else None
        self._cells: dict[Cell, list[ResultRow]] = {}
        self.torn = False
        """The file ended within a row or a cell (a killed run); that cell is computed again."""
        if self._path:
            self._open(self._path)

    @property
    def rows(self) -> list[ResultRow]:
        """All rows, finished cells in the order of their completion."""
        return [row for cell in self._cells.values() for row in cell]

    def __contains__(self, cell: Cell) -> bool:
        return cell in self._cells

    def check(self, cell: Cell, data_hash: str, version: str, commit: str) -> None:
        """Raise `InputError` if a row of a finished cell came from other data or code, or is impossible for its metric.

        Rows have no checksum, so a value that was changed to another possible value is not detected.
        """
        where = f"{self._path}: {cell[0]}, {cell[1]}, seed {cell[2]}"
        for row in self._cells[cell]:
            for what, stored, now in (
                ("data", row.data_hash, data_hash),
                ("version", row.version, version),
                ("commit", row.commit, commit),
                ("unit", row.unit, unit_of(row.metric, self._defined)),
            ):
                if stored != now:
                    raise InputError(
                        f"{where} was computed with {what} {stored}, now {now} ({row.metric}); "
                        "results would not be comparable, choose another --out"
                    )
            if row.value < 0 or (row.unit == SHARE and row.value > MOST_SHARE):
                legal = "0 to 1" if row.unit == SHARE else "0 or more"
                raise InputError(f"{where}: {row.metric} = {row.value:g}; legal: {legal}; choose another --out")

    def add(self, rows: Iterable[ResultRow]) -> None:
        """Keep the rows of finished cells and write them to disk at once."""
        rows = list(rows)
        for row in rows:
            self._cells.setdefault((row.scenario, row.policy, row.seed), []).append(row)
        if self._path:
            self._write(self._path, rows, "a")

    def _open(self, path: Path) -> None:
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            self._lock = FolderLock(path.parent)
            text = path.read_text(encoding="utf-8") if path.exists() else ""
        except (OSError, UnicodeDecodeError) as error:
            reason = error.strerror if isinstance(error, OSError) else "it is not text"
            raise InputError(f"{path}: cannot be used for results ({reason}); choose another --out") from None
        if HEADER.startswith(text.rstrip("\0")):  # empty, or a run was killed before it wrote a row
            self._write(path, (), "w")
        else:
            self._read(path, text)

    def _read(self, path: Path, text: str) -> None:
        header, *lines = text.splitlines(keepends=True)
        if header.strip() != HEADER.strip():
            raise InputError(f"{path}, line 1: not a results file (expected {HEADER.strip()}); choose another --out")
        whole = [line for line in lines if line.endswith("\n")]
        for row in _parse(path, whole):
            self._cells.setdefault((row.scenario, row.policy, row.seed), []).append(row)
        self._drop_repeats(path)
        self._refuse_fewer_metrics(path)
        partial = [c for c, rows in self._cells.items() if not set(self._metrics) <= {row.metric for row in rows}]
        self.torn |= bool(partial) or not text.endswith("\n")
        if self.torn:
            for cell in partial:
                del self._cells[cell]
            self._write(path, self.rows, "w")

    def _drop_repeats(self, path: Path) -> None:
        """Merge rows of two runs in one folder: equal rows count once, different ones are refused (except times)."""
        for cell, rows in self._cells.items():
            once: dict[str, ResultRow] = {}
            for row in rows:
                once.setdefault(row.metric, row)
            if any(repr(once[row.metric]) != repr(row) for row in rows if row.metric not in self._measured):
                raise InputError(f"{path}: {cell[0]}, {cell[1]}, seed {cell[2]} has two results; choose another --out")
            self.torn |= len(once) < len(rows)
            self._cells[cell] = list(once.values())

    def _refuse_fewer_metrics(self, path: Path) -> None:
        """Refuse files of other versions: no cell has some metric, though the run was not killed in its first cell."""
        known = {row.metric for row in self.rows}
        absent = [metric for metric in self._metrics if metric not in known]
        ours = all(name in self._metrics or "[" in name for name in known)
        killed = ours and len(self._cells) == 1 and absent == list(self._metrics[-len(absent) :])
        if self._cells and absent and not killed:
            raise InputError(f"{path}: results of another version, without {', '.join(absent)}; choose another --out")

    def _write(self, path: Path, rows: Sequence[ResultRow], mode: str) -> None:
        text = io.StringIO()
        if mode == "w":
            text.write(HEADER)
        writer = csv.writer(text, lineterminator="\n")
        writer.writerows(_cells(row) for row in rows)
        target = path.with_suffix(".tmp") if mode == "w" else path
        try:
            with target.open(mode, encoding="utf-8") as file:
                file.write(text.getvalue())
                file.flush()
                os.fsync(file.fileno())
            if mode == "w":
                target.replace(path)
        except OSError as error:
            raise InputError(f"{path}: cannot be written ({error.strerror}); rows before this one are safe") from None


def _cells(row: ResultRow) -> tuple[object, ...]:
    """Return a row's cells; NaN becomes an empty cell."""
    return tuple("" if cell != cell else cell for cell in astuple(row))  # noqa: PLR0124


def _parse(path: Path, lines: Sequence[str]) -> list[ResultRow]:
    rows: list[ResultRow] = []
    cells: list[str] = []
    try:
        for cells in csv.reader(lines):
            scenario, policy, seed, metric, value, unit, version, commit, data_hash = cells
            number = float(value) if value else math.nan
            if value and not math.isfinite(number):
                raise ValueError(value)
            rows.append(ResultRow(scenario, policy, int(seed), metric, number, unit, version, commit, data_hash))
    except (ValueError, csv.Error):
        where, found = f"{path}, line {len(rows) + 2}", ",".join(cells)[:80]
        raise InputError(f"{where}: not a result row ({found}); choose another --out") from None
    return rows
