"""Reader of MIGPerf's inference measurements on slices of an A100 (Zhang et al., arXiv 2301.00407)."""

from __future__ import annotations

import math
import re
from pathlib import Path

from ...csv_table import Row, read_rows, refuse_duplicates
from ...errors import InputError
from .mig import MigTable

MODEL, BATCH, LATENCY, PROFILE, MEMORY = "model_name", "batch_size", "latency", "mig_profile", "instance_memory"
GPCS_OF_GB = {5: 1, 10: 2, 20: 3, 40: 7}
"""Slices of the 40-GB A100 by their memory."""


def read_migperf(path: Path) -> dict[str, MigTable]:
    """Return tables by model. The file's latency is in ms per batch, and zero if the batch did not fit.

    A slice is named by `mig_profile` (`3g.40gb`) or by `instance_memory` in GB. Slices of 4 GPCs were not measured.
    Raises `InputError` for illegal contents.
    """
    rows = read_rows(path, [MODEL, BATCH, LATENCY])
    slices = next((column for column in (PROFILE, MEMORY) if column in rows[0].cells), None)
    if slices is None:
        raise InputError(f"{path}, line 1: no column {PROFILE}, nor {MEMORY}")
    refuse_duplicates(rows, [MODEL, BATCH, slices])
    tables: dict[str, dict[tuple[int, int], float]] = {}
    for row in rows:
        latency_ms = row.number(LATENCY, 0) or math.inf
        tables.setdefault(row.text(MODEL), {})[row.whole(BATCH, 1), _gpcs(row, slices)] = latency_ms
    return {model: MigTable(model, str(path), table) for model, table in tables.items()}


def _gpcs(row: Row, column: str) -> int:
    if column == MEMORY:
        gb = row.whole(MEMORY, 1)
        if gb not in GPCS_OF_GB:
            raise row.error(MEMORY, ", ".join(map(str, GPCS_OF_GB)))
        return GPCS_OF_GB[gb]
    named = re.fullmatch(r"([1-7])g\.\d+gb", row.text(PROFILE))
    if named is None:
        raise row.error(PROFILE, "a MIG profile such as 3g.40gb")
    return int(named[1])
