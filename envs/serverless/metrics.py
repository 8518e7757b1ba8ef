"""Metrics of an episode of the serverless platform, most of them over its counted requests."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from ...scenarios.registry import Registry
from ..metric_type import Better, Metric
from .record import Bools, Floats, Record

LOWER, HIGHER = Better.LOWER, Better.HIGHER
QUANTILES = (0.01, 0.05, 0.1, 0.25, 0.5, 0.75, 0.9, 0.95, 0.99)
"""Quantiles of latency / SLO that figures need."""


def _hit_rate(record: Record, among: Bools | None = None) -> float:
    return _mean(record.requests.hit if among is None else record.requests.hit[among])


def _cost_usd_per_request(record: Record, among: Bools | None = None) -> float:
    keep = np.ones(len(record.requests.hit), bool) if among is None else among
    served = int((keep & _served(record)).sum())
    return float(record.requests.cost_usd[keep].sum()) / served if served else np.nan


def _latency_quantile(share: float) -> Callable[[Record], float]:
    return lambda record: _quantile(_latency_over_slo(record), share)


def _vgpu_utilization(record: Record) -> float:
    tasks, (first, last) = record.tasks, record.window_ms
    held_ms = np.clip(tasks.end_ms, first, last) - np.clip(tasks.decided_ms, first, last)
    return float((held_ms * record.task_vgpu).sum()) / (record.vgpus * (last - first))


_METRICS: tuple[Metric[Record], ...] = (
    Metric("hit_rate", "share", HIGHER, "requests finished within their SLO / all that came in the window", _hit_rate),
    Metric(
        "cost_usd_per_request",
        "USD",
        LOWER,
        "task costs of all requests, shared equally within a batch / requests served; empty if none was",
        _cost_usd_per_request,
    ),
    Metric(
        "p50_latency_over_slo",
        "1",
        LOWER,
        "median of latency / SLO over served requests (linear quantile); empty if there was none",
        _latency_quantile(0.5),
    ),
    Metric(
        "p99_latency_over_slo",
        "1",
        LOWER,
        "0.99 quantile of latency / SLO over served requests (linear); empty if there was none",
        _latency_quantile(0.99),
    ),
    Metric("served", "share", HIGHER, "requests that finished, late or not", lambda record: _mean(_served(record))),
    Metric("shed", "share", LOWER, "requests dropped by the scheduler", lambda record: _mean(record.requests.shed)),
    Metric(
        "unfinished",
        "1",
        LOWER,
        "requests neither finished nor shed when the episode ended; they count as misses",
        lambda record: float(record.unfinished),
    ),
    Metric(
        "cold_starts",
        "1",
        LOWER,
        "tasks of counted requests that had to wait for a new container",
        lambda record: float((record.tasks.cold & record.tasks.counted).sum()),
    ),
    Metric(
        "config_miss_rate",
        "share",
        LOWER,
        "tasks run in another configuration than a static plan's / all tasks; 0 for schedulers that re-plan",
        lambda record: record.misses / max(len(record.tasks.queue), 1),
    ),
    Metric(
        "vgpu_utilization",
        "share",
        HIGHER,
        "vGPU-time held by tasks, from decision to end, within the measured window / (all vGPUs x window)",
        _vgpu_utilization,
    ),
    Metric(
        "decision_ms",
        "ms",
        LOWER,
        "wall time of the compiled episode / visits of a queue, on this machine; simulation included",
        lambda record: record.seconds * 1e3 / max(record.visits, 1),
        measured=True,
    ),
)
METRICS: Registry[Metric[Record]] = Registry.of("metric", *_METRICS)


def metrics_of(record: Record) -> dict[str, float]:
    """Every metric of a record; NaN where one does not exist."""
    return {metric.name: metric.of(record) for metric in METRICS.values()}


def details_of(record: Record) -> dict[str, float]:
    """Compute what tables and figures also need: `METRIC[WORKFLOW]`, `latency_over_slo[SHARE]` of served requests."""
    found: dict[str, float] = {}
    for workflow in record.workflows:
        among = record.requests.workflow == workflow
        found[f"hit_rate[{workflow}]"] = _hit_rate(record, among)
        found[f"cost_usd_per_request[{workflow}]"] = _cost_usd_per_request(record, among)
    ratios = _latency_over_slo(record)
    return found | {f"latency_over_slo[{share:g}]": _quantile(ratios, share) for share in QUANTILES}


def _served(record: Record) -> Bools:
    return ~np.isnan(record.requests.finish_ms)


def _latency_over_slo(record: Record) -> Floats:
    served = _served(record)
    return record.requests.latency_ms[served] / record.requests.slo_ms[served]


def _mean(flags: Bools) -> float:
    return float(flags.mean()) if len(flags) else np.nan


def _quantile(values: Floats, share: float) -> float:
    return float(np.quantile(values, share)) if len(values) else np.nan
