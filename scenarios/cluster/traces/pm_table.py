"""PM scores from files: a table per GPU (`gpu_id,node_id,score_*[,sf_*]`) or timings per run (`perf`)."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from ...csv_table import Row, read_rows, refuse_duplicates
from ...errors import InputError
from ...types import Floats
from ..scenario import Compat
from ..variability.bins import bin_scores

SCORE, BIN = "score_", "sf_"


def read_pm_table(
    path: Path, nodes: int, gpus_per_node: int, compat: Compat
) -> tuple[tuple[str, ...], Floats, Floats, list[str]]:
    """Classes, true scores [C, G], bins [C, G] of the first G = nodes x gpus_per_node GPUs, and remarks.

    Where the table holds `sf_*` of a class, that is the bin; otherwise bins are computed from the scores.
    Raises `InputError` for scores <= 0, too few GPUs, or nodes that do not match the cluster's shape.
    """
    rows = read_rows(path, ["gpu_id", "node_id"])
    refuse_duplicates(rows, ["gpu_id"], lambda row: (row.whole("gpu_id"),))
    columns = list(rows[0].cells)
    classes = tuple(sorted(name.removeprefix(SCORE) for name in columns if name.startswith(SCORE)))
    if not classes:
        raise InputError(f"{path}, line 1: no column score_*; expected one per app class, such as score_A")
    orphans = [name for name in columns if name.startswith(BIN) and name.removeprefix(BIN) not in classes]
    if orphans:
        raise InputError(f"{path}, line 1: {orphans[0]} has no {SCORE}{orphans[0].removeprefix(BIN)} beside it")
    used, remarks = _first_gpus(path, rows, nodes, gpus_per_node)
    scores = np.stack([[row.number(SCORE + c, 0, above=True) for row in used] for c in classes])
    bins = np.stack(
        [
            np.array([row.number(BIN + c, 0, above=True) for row in used])
            if BIN + c in columns
            else bin_scores(scores[i], compat)
            for i, c in enumerate(classes)
        ]
    )
    return classes, scores, bins, remarks


def read_pm_runs(path: Path) -> tuple[Floats, Floats]:
    """Slowdown of every run [R] (perf / median run) and of every GPU [U] (its median run / the median GPU).

    A GPU is named by the column `uuid`, or else by `cabinet` (if there), `node` and `device`; `perf` is time per
    unit of work, so lower is faster.
    """
    rows = read_rows(path, ["perf"])
    columns = rows[0].cells
    if "uuid" in columns:
        name = ["uuid"]
    elif {"node", "device"} <= columns.keys():
        name = [column for column in ("cabinet", "node", "device") if column in columns]
    else:
        raise InputError(f"{path}, line 1: no column uuid, nor node and device; they name the GPU of a run")
    perf = np.array([row.number("perf", 0, above=True) for row in rows])
    keys = ["/".join(row.text(column) for column in name) for row in rows]
    gpu = np.unique(keys, return_inverse=True)[1]
    per_gpu = np.array([np.median(perf[gpu == g]) for g in range(gpu.max() + 1)])
    return perf / np.median(perf), per_gpu / np.median(per_gpu)


def _first_gpus(path: Path, rows: list[Row], nodes: int, gpus_per_node: int) -> tuple[list[Row], list[str]]:
    need = nodes * gpus_per_node
    if len(rows) < need:
        raise InputError(
            f"{path}: {len(rows)} GPUs; legal: at least nodes x gpus_per_node = {nodes} x {gpus_per_node} = {need}"
        )
    rows = sorted(rows, key=lambda row: row.whole("gpu_id"))
    used = rows[:need]
    for position, row in enumerate(used):
        first = used[position - position % gpus_per_node]
        if row.text("node_id") != first.text("node_id"):
            raise row.error(
                "node_id", f"{first.text('node_id')}, as GPU {first.text('gpu_id')}: {gpus_per_node} GPUs per node"
            )
    names = [row.text("node_id") for row in used[::gpus_per_node]]
    twice = [name for name in names if names.count(name) > 1]
    if twice:
        raise InputError(f"{path}: node_id {twice[0]} holds more than {gpus_per_node} GPUs; give its --gpus-per-node")
    remarks = [] if len(rows) == need else [f"{path}: {len(rows)} GPUs; the first {need} by gpu_id are used"]
    return used, remarks
