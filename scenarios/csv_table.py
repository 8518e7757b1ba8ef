"""Reads a CSV; every error names the file, the line, the column, the value and what is legal."""

from __future__ import annotations

import csv
import io
import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

from .checks import plain
from .errors import InputError

GZIP = b"\x1f\x8b"
"""First bytes of a gzip file."""
MOST_SHOWN = 80
"""Most characters of a cell that an error shows."""


@dataclass(frozen=True)
class Row:
    """One line of a file, by column name."""

    path: Path
    line: int
    cells: dict[str, str]

    def error(self, column: str, legal: str) -> InputError:
        """Make the error that refuses this row's value in `column`."""
        return InputError(f"{self.path}, line {self.line}: {column} = {_shown(self.cells[column])}; legal: {legal}")

    def text(self, column: str) -> str:
        """Return a name. Raises `InputError` if it is empty."""
        value = self.cells[column].strip()
        if not value:
            raise self.error(column, "a name")
        return value

    def number(self, column: str, least: float, most: float = math.inf, above: bool = False) -> float:
        """Return a finite number >= `least` (> `least` with `above`) and <= `most`. Raises `InputError` otherwise."""
        legal = f"a finite number {'>' if above else '>='} {least:g}"
        legal += f" and <= {most:g}" if most < math.inf else ""
        value = self._float(column, legal)
        if not math.isfinite(value) or not least <= value <= most or (above and value == least):
            raise self.error(column, legal)
        return value

    def whole(self, column: str, least: int = 0, most: int = 2**31 - 1) -> int:
        """Return a whole number within [least, most]. Raises `InputError` otherwise."""
        legal = f"a whole number, {least} to {most}" if most < 2**31 - 1 else f"a whole number >= {least}"
        value = self._float(column, legal)
        if not (math.isfinite(value) and value.is_integer() and least <= value <= most):
            raise self.error(column, legal)
        return int(value)

    def _float(self, column: str, legal: str) -> float:
        """Parse a number. Digits of other scripts and underscores are refused, because only Python accepts them."""
        text = self.cells[column]
        try:
            return float(plain(text))
        except ValueError:
            pass
        raise self.error(column, legal)


def read_rows(path: Path, required: Sequence[str]) -> list[Row]:
    """Read the rows of a CSV whose header holds at least the `required` columns.

    Raises `InputError` if the file is missing, not text, empty or lacks a column, if a row has too few or too many
    cells, or if a cell holds a line break.
    """
    records = _records(path)
    header = [name.strip() for name in records[0][1]] if records else []
    body = [(line, cells) for line, cells in records[1:] if any(cell.strip() for cell in cells)]
    if not header or header == [""]:
        raise InputError(f"{path}: the file is empty; expected a CSV with the columns {', '.join(required)}")
    _check_header(path, header, required)
    if not body:
        raise InputError(f"{path}: no rows after the header; at least one is needed")
    for line, cells in body:
        if len(cells) != len(header):
            raise InputError(f"{path}, line {line}: {len(cells)} cells; legal: {len(header)}, one per column")
    return [Row(path, line, dict(zip(header, cells, strict=True))) for line, cells in body]


def first_line(path: Path) -> str:
    """Return the first line of a text file, without its line break; empty for a file that cannot be read as text."""
    try:
        return next(iter(_text(path).splitlines()), "")
    except InputError:
        return ""


def refuse_duplicates(
    rows: Iterable[Row], columns: Sequence[str], key_of: Callable[[Row], tuple[object, ...]] | None = None
) -> None:
    """Raise `InputError` at the first row that repeats an earlier row's `columns` (or its `key_of`, if given)."""
    seen: dict[tuple[object, ...], int] = {}
    for row in rows:
        key = key_of(row) if key_of else tuple(row.cells[column].strip() for column in columns)
        if key in seen:
            raise row.error(columns[0], f"one row per {', '.join(columns)} (line {seen[key]} has the same)")
        seen[key] = row.line


def _check_header(path: Path, header: list[str], required: Sequence[str]) -> None:
    missing = [name for name in required if name not in header]
    if missing:
        raise InputError(f"{path}, line 1: no column {', '.join(missing)}; found {', '.join(header)[:200]}")
    twice = sorted({name for name in header if name and header.count(name) > 1})
    if twice:
        raise InputError(f"{path}, line 1: column {', '.join(twice)} occurs twice")


def _records(path: Path) -> list[tuple[int, list[str]]]:
    """Return (first line, cells) of every record that is not blank."""
    lines = csv.reader(io.StringIO(_text(path), newline=""))
    records, line = [], 1
    try:
        for cells in lines:
            for number, cell in enumerate(cells, 1):
                if cell.splitlines() not in ([], [cell]):
                    told = f"{path}, line {line}: cell {number} = {_shown(cell)} holds a line break"
                    raise InputError(f"{told}; legal: text on one line (is a quotation mark missing?)")
            if cells:
                records.append((line, cells))
            line = lines.line_num + 1
    except csv.Error as error:
        raise InputError(f"{path}, line {lines.line_num}: not a CSV ({error})") from None
    return records


def _shown(cell: str) -> str:
    """Show a cell in quotes and on one line, with special characters escaped."""
    cut = cell if len(cell) <= MOST_SHOWN else f"{cell[:MOST_SHOWN]}..."
    return f"'{cut}'" if cut.isprintable() else repr(cut)


def _text(path: Path) -> str:
    if path.is_char_device() or path.is_block_device():
        raise InputError(f"{path}: a device; expected a CSV")
    try:
        raw = path.read_bytes()
    except OSError as error:
        raise InputError(f"{path}: cannot be read ({error.strerror})") from None
    if raw.startswith(GZIP):
        way = f"gunzip {path}" if path.suffix == ".gz" else f"gzip -dc {path} > UNPACKED.csv"
        raise InputError(f"{path}: compressed by gzip; unpack it first ({way})")
    if b"\0" in raw:
        raise InputError(f"{path}: not a text file (it holds zero bytes); expected a CSV")
    try:
        return raw.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise InputError(f"{path}: not UTF-8 text (byte {error.start}); expected a CSV") from None
