"""Files that commands write on request; an unwritable path is refused before the work starts."""

from __future__ import annotations

import csv
import io
import math
import os
from collections.abc import Sequence
from pathlib import Path

from ...scenarios.errors import InputError


def refuse_unwritable(path: Path | None) -> None:
    """Raise `InputError` if a file cannot be written at `path` (None: nothing to check)."""
    if path is None:
        return
    target = path if path.exists() else path.parent
    if path.is_dir() or not path.parent.is_dir() or not os.access(target, os.W_OK):
        raise InputError(f"{path}: cannot be written; legal: a file in an existing folder that you may write to")


def as_csv(names: Sequence[str], arrays: object) -> str:
    """Write the named attributes of an object, arrays of equal length, as the columns of a CSV."""
    columns = [getattr(arrays, name).tolist() for name in names]
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(names)
    writer.writerows([_cell(value) for value in row] for row in zip(*columns, strict=True))
    return text.getvalue()


def write_text(path: Path, text: str) -> None:
    """Write a file. Raises `InputError` if the file system refuses."""
    try:
        path.write_text(text, encoding="utf-8")
    except OSError as error:
        raise InputError(f"{path}: cannot be written ({error.strerror})") from None


def _cell(value: str | float) -> str:
    """Format a number as short as is exact, a flag as 0 or 1, and NaN as an empty cell."""
    if isinstance(value, bool):
        return str(int(value))
    if not isinstance(value, float):
        return str(value)
    if math.isnan(value):
        return ""
    return str(int(value)) if value.is_integer() else repr(value)
