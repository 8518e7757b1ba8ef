"""Traces in the CSV format of Sia and PAL: `job_id,num_gpus,submit_time,duration,model[,batch_size]`."""

from __future__ import annotations

import math
import random
from pathlib import Path

import numpy as np

from ...csv_table import read_rows, refuse_duplicates
from ...errors import InputError
from ..scenario import Jobs, make_jobs
from .formats import USUAL, DurationUnit, TraceFormat, TraceUse, add_trace_format
from .models import find_model

COLUMNS = ("job_id", "num_gpus", "submit_time", "duration", "model")
STREAM_SEED = 1
STREAM_PER_H = 2.0
"""The artifact's endless stream behind the trace: seed and arrivals per hour, whatever the user's seed."""


def is_sia(header: str) -> bool:
    """Whether the first line of a file names the columns of this format."""
    return set(COLUMNS) <= {name.strip() for name in header.split(",")}


def read_sia(path: Path, use: TraceUse) -> tuple[Jobs, list[str]]:
    """Jobs of a trace, all tracked, and remarks for the user (unsorted arrivals are sorted, and said).

    Raises `InputError` for anything that is not a job which a cluster of `use.gpus` GPUs with `use.classes` can run.
    """
    rows = read_rows(path, COLUMNS)
    refuse_duplicates(rows, ["job_id"])
    known = [find_model(row, use.models) for row in rows]
    for row, model in zip(rows, known, strict=True):
        if model.app_class not in use.classes:
            raise row.error("model", f"a model of class {', '.join(use.classes)} (this one is {model.app_class})")
    by_time = use.unit is DurationUnit.SECONDS
    arrival_s = np.array([row.number("submit_time", 0) for row in rows])
    duration = np.array([row.number("duration", 0, above=True) for row in rows])
    jobs = make_jobs(
        job_id=np.array([row.text("job_id") for row in rows]),
        arrival_s=arrival_s,
        demand=np.array([row.whole("num_gpus", 1, use.gpus) for row in rows], np.int32),
        iterations=duration,
        iter_s=np.array([1.0 if by_time else model.iter_s for model in known]),
        app_class=np.array([use.classes.index(model.app_class) for model in known], np.int32),
    )
    late = np.flatnonzero(np.diff(arrival_s) < 0) + 1
    remarks = []
    if len(late):
        remarks.append(f"{path}, line {rows[late[0]].line}: arrivals are not in order; jobs were sorted by submit_time")
    return jobs, remarks


def wrap_around(jobs: Jobs, extra: int) -> Jobs:
    """The trace followed by `extra` untracked copies of its jobs in turn, as the artifact streams them.

    Gaps are ceil(-ln(1 - U) / 2 per hour) seconds with Python's `random.Random(1)` (hal-uw/blox-pal).
    """
    if extra < 0:
        raise InputError(f"extra = {extra}; legal: at least 0")
    rng = random.Random(STREAM_SEED)
    arrival_s = float(jobs.arrival_s[-1])
    arrivals = []
    for _ in range(extra):
        arrival_s += math.ceil(-math.log(1.0 - rng.random()) / STREAM_PER_H * 3600)
        arrivals.append(arrival_s)
    copy = np.arange(extra) % len(jobs)
    return Jobs(
        job_id=np.concatenate([jobs.job_id, np.array([f"stream-{i}" for i in range(extra)], np.str_)]),
        arrival_s=np.concatenate([jobs.arrival_s, arrivals]),
        demand=np.concatenate([jobs.demand, jobs.demand[copy]]),
        iterations=np.concatenate([jobs.iterations, jobs.iterations[copy]]),
        iter_s=np.concatenate([jobs.iter_s, jobs.iter_s[copy]]),
        app_class=np.concatenate([jobs.app_class, jobs.app_class[copy]]),
        tracked=np.concatenate([jobs.tracked, np.zeros(extra, bool)]),
    )


add_trace_format(TraceFormat(USUAL, f"CSV of Sia and PAL: {', '.join(COLUMNS)}[, batch_size]", is_sia, read_sia))
