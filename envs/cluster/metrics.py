"""Metrics of an episode of the training cluster."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from ...scenarios.registry import Registry
from ..metric_type import Better, Metric
from .record import Record


def _makespan_s(record: Record) -> float:
    end_s = np.where(np.isnan(record.jobs.finish_s), record.last_round * record.round_s, record.jobs.finish_s)
    return float(end_s.max() - record.jobs.arrival_s.min())


def _mean_queueing_s(record: Record) -> float:
    start_s = np.where(np.isnan(record.jobs.start_s), record.last_round * record.round_s, record.jobs.start_s)
    return float((start_s - record.jobs.arrival_s).mean())


def _jct_quantile(share: float) -> Callable[[Record], float]:
    return lambda record: float(np.quantile(record.jobs.jct_s, share))


LOWER, HIGHER = Better.LOWER, Better.HIGHER
_METRICS: tuple[Metric[Record], ...] = (
    Metric(
        "mean_jct_s",
        "s",
        LOWER,
        "mean of finish - arrival over tracked jobs",
        lambda record: float(record.jobs.jct_s.mean()),
    ),
    Metric("p50_jct_s", "s", LOWER, "median JCT (linear quantile)", _jct_quantile(0.5)),
    Metric("p99_jct_s", "s", LOWER, "0.99 quantile of JCT (linear)", _jct_quantile(0.99)),
    Metric("mean_queueing_s", "s", LOWER, "mean of first start - arrival", _mean_queueing_s),
    Metric("makespan_s", "s", LOWER, "last tracked finish - first tracked arrival", _makespan_s),
    Metric(
        "utilization",
        "1",
        HIGHER,
        "allocated GPU-rounds of all jobs / (GPUs x rounds), from time 0 to the last tracked finish",
        lambda record: record.busy_gpu_rounds / (record.gpus * max(record.last_round, 1)),
    ),
    Metric(
        "mean_slowdown",
        "1",
        LOWER,
        "mean of JCT / ideal run time on median GPUs in one node",
        lambda record: float((record.jobs.jct_s / record.jobs.work_s).mean()),
    ),
    Metric(
        "mean_ftf",
        "1",
        LOWER,
        "mean of JCT / (ideal run time x contention), contention: mean per round of max(1, active demand / GPUs)",
        lambda record: float(record.jobs.ftf.mean()),
    ),
    Metric(
        "max_ftf",
        "1",
        LOWER,
        "worst finish-time fairness (Themis, NSDI 2020) of any tracked job; mean_ftf shows the formula",
        lambda record: float(record.jobs.ftf.max()),
    ),
    Metric(
        "preemptions",
        "1",
        LOWER,
        "number of times that running gangs of tracked jobs were stopped or moved to other GPUs",
        lambda record: float(record.jobs.preemptions.sum()),
    ),
    Metric(
        "unfinished",
        "1",
        LOWER,
        "tracked jobs cut off at the horizon, 20 times the time the work needs; time up to it counts",
        lambda record: float(record.truncated_jobs),
    ),
)
METRICS: Registry[Metric[Record]] = Registry.of("metric", *_METRICS)


def metrics_of(record: Record) -> dict[str, float]:
    """Compute every metric of a record; all are NaN if no job has arrived yet."""
    if not len(record.jobs.job_id):
        return dict.fromkeys(METRICS, np.nan)
    return {metric.name: metric.of(record) for metric in METRICS.values()}
