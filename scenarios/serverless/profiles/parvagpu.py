"""Reader of ParvaGPU's profiles: MIG size x batch x processes on an A100 80GB (Lee et al., SC 2024)."""

from __future__ import annotations

import math
from pathlib import Path

from ...csv_table import Row, read_rows, refuse_duplicates
from ...errors import InputError
from .mig import MigTable

SIZE, BATCH, PROCESSES, THROUGHPUT, LATENCY = "Mig instance", "Batch size", "Workload Number", "Throughput", "Latency"


def read_parvagpu(path: Path, processes: int = 1) -> MigTable:
    """Return the table of one model (`prof_data/MODEL.csv`), measured with `processes` processes sharing a slice.

    Latency is computed as batch / throughput, because the file's latency has only three decimals; its throughput is
    that of one process. A throughput of zero means that the batch did not fit. Raises `InputError`.
    """
    rows = read_rows(path, [SIZE, BATCH, PROCESSES, THROUGHPUT, LATENCY])
    refuse_duplicates(rows, [SIZE, BATCH, PROCESSES])
    chosen = [row for row in rows if row.whole(PROCESSES, 1) == processes]
    if not chosen:
        raise InputError(f"{path}: no row with {PROCESSES} = {processes}")
    table = {(row.whole(BATCH, 1), row.whole(SIZE, 1, 7)): _latency_ms(row) for row in chosen}
    return MigTable(path.stem, str(path), table)


def _latency_ms(row: Row) -> float:
    per_s = row.number(THROUGHPUT, 0)
    if per_s == 0:
        return math.inf
    row.number(LATENCY, 0, above=True)
    return 1000 * row.whole(BATCH, 1) / per_s
