"""Reader of arrivals: which workflow was requested, and when."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np

from ...csv_table import Row, read_rows, refuse_duplicates
from ...errors import InputError, unknown_name
from ...types import Floats, Ints
from ..workflows import MOST_MS


def read_arrivals(path: Path, workflows: Sequence[str]) -> tuple[Floats, Ints]:
    """Read arrival times in ms and workflow indices from `[request_id,]arrival_ms,workflow`, in the order of the rows.

    Ids are only used to find duplicates. Raises `InputError`, also if rows are not sorted by time.
    """
    rows = read_rows(path, ["arrival_ms", "workflow"])
    if "request_id" in rows[0].cells:
        refuse_duplicates(rows, ["request_id"])
    arrival_ms = np.array([row.number("arrival_ms", 0, MOST_MS) for row in rows])
    unsorted = np.flatnonzero(np.diff(arrival_ms) < 0)
    if len(unsorted):
        first = unsorted[0]
        raise rows[first + 1].error("arrival_ms", f"sorted by time, >= {arrival_ms[first]:g} of the row before")
    return arrival_ms, np.array([_workflow(row, workflows) for row in rows], np.int32)


def _workflow(row: Row, workflows: Sequence[str]) -> int:
    name = row.text("workflow")
    if name not in workflows:
        raise InputError(f"{row.path}, line {row.line}: {unknown_name('workflow', name, workflows)}")
    return workflows.index(name)
