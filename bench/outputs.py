"""Files that commands write on request; a path that cannot be written is refused before the work."""

from __future__ import annotations

import csv
import io
import math
import os
from pathlib import Path

from ..envs.cluster.record import Record
from ..scenarios.errors import InputError

JOB_COLUMNS = (
    "job_id",
    "arrival_s",
    "start_s",
    "finish_s",
    "demand",
    "app_class",
    "jct_s",
    "run_slowdown",
    "preemptions",
    "contention",
    "ftf",
)


def refuse_unwritable(path: Path | None) -> None:
    """Raises `InputError` where a file cannot be made at `path` (None: nothing to check)."""
    if path is None:
        return
    target = path if path.exists() else path.parent
    if path.is_dir() or not path.parent.is_dir() or not os.access(target, os.W_OK):
        raise InputError(f"{path}: cannot be written; legal: a file in an existing folder that you may write to")


def write_jobs(path: Path, record: Record) -> None:
    """One row per tracked job, in arrival order; a time that does not exist (truncated job) is left empty."""
    columns = [getattr(record.jobs, name).tolist() for name in JOB_COLUMNS]
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(JOB_COLUMNS)
    writer.writerows([_cell(value) for value in row] for row in zip(*columns, strict=True))
    write_text(path, text.getvalue())


def write_text(path: Path, text: str) -> None:
    """Write a file. Raises `InputError` where the system refuses."""
    try:
        path.write_text(text, encoding="utf-8")
    except OSError as error:
        raise InputError(f"{path}: cannot be written ({error.strerror})") from None


def _cell(value: str | float) -> str:
    """A number as short as it is exact; nothing where it does not exist."""
    if not isinstance(value, float):
        return str(value)
    if math.isnan(value):
        return ""
    return str(int(value)) if value.is_integer() else repr(value)
