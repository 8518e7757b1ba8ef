"""Every metric of an episode that can be followed by hand."""

from __future__ import annotations

import math

import numpy as np
import pytest
from varigym.envs.metric_type import Better
from varigym.envs.serverless.episode import Outcome
from varigym.envs.serverless.metrics import METRICS, details_of, metrics_of
from varigym.envs.serverless.record import Record, make_record
from varigym.scenarios.serverless.configs import ConfigGrid
from varigym.scenarios.serverless.requests import make_requests
from varigym.scenarios.serverless.scenario import Prices, ServerlessScenario
from varigym.scenarios.serverless.workflows import Function, Workflow

SECOND = 100_000
"""Ticks."""
PRICES = Prices(usd_per_vcpu_h=3600.0, usd_per_vgpu_h=7200.0)
"""1 USD per vCPU-second, 2 per vGPU-second."""
GRID = ConfigGrid((1, 2), (1,), (1, 3))
ONE_SMALL, ONE_LARGE, TWO_SMALL = 0, 1, 2
"""Configurations: (1, 1, 1), (1, 1, 3), (2, 1, 1)."""
NAMES = [metric.name for metric in METRICS.values()]


def scenario() -> ServerlessScenario:
    """Two invokers of 4 vGPUs; request 0 comes before the window, 1 to 4 in [1 s, 11 s), 5 after it."""
    functions = tuple(Function(name, np.full(4, 1000.0), 500.0, 1.0) for name in ("f", "g"))
    workflows = Workflow("pair", (0, 1), ((0, 1),), 4000.0), Workflow("single", (0,), (), 2000.0)
    arrival_ms = np.array([0.0, 1000.0, 1000.0, 2000.0, 5000.0, 11_000.0])
    window_ms = 1000.0, 11_000.0
    requests = make_requests(arrival_ms, np.array([0, 0, 0, 1, 1, 1], np.int32), window_ms, np.ones((6, 2)))
    four = np.array([4, 4], np.int32)
    return ServerlessScenario(
        "hand", GRID, functions, workflows, four, four, requests, 20_000.0, window_ms, PRICES, overhead_ms=100.0
    )


def row(start_s: float, end_s: float, billed_s: float, cold: int, queue: int, config: int, *members: int) -> list[int]:
    batch = len(members)
    times = [round(SECOND * seconds) for seconds in (start_s, end_s, billed_s)]
    return [*times, cold, queue, 0, config, batch, *members, *[5] * (2 - batch)]


LOG = [
    row(0.1, 1.1, 1.0, 1, 0, ONE_SMALL, 0),  # before the window: nothing of it is counted but its vGPU
    row(1.1, 2.1, 1.0, 0, 0, TWO_SMALL, 1, 2),
    row(2.2, 4.2, 2.0, 1, 1, ONE_LARGE, 1),  # request 1: 3.2 s of 4
    row(2.3, 6.0, 3.0, 0, 1, ONE_SMALL, 2),  # request 2: 5 s of 4
    [5 * SECOND, 5 * SECOND, 0, 0, 2, -1, 5, 1, 3, 5],  # request 3 is given up
    row(5.1, 21.0, 4.0, 0, 2, ONE_SMALL, 4),  # request 4: cut off
]


def record(log: list[list[int]] | None = None) -> Record:
    table = np.array(LOG if log is None else log, np.int32).reshape(-1, 10)
    outcome = Outcome(table, end=20 * SECOND, truncated=True, visits=8, misses=1, seconds=0.004)
    return make_record(scenario(), "by hand", 7, outcome)


def test_every_metric_by_hand() -> None:
    # A second of (1 vCPU, 1 vGPU) costs 3 USD, of (1, 3) 7 USD. Requests 1 to 4 bear
    # 1.5 + 14, 1.5 + 9, nothing and 12 USD; two of them were served.
    held = 0.1 + 1 * 1.1 + 3 * 2.1 + 1 * 3.8 + 1 * 6.0
    expected = {
        "hit_rate": 1 / 4,
        "cost_usd_per_request": (15.5 + 10.5 + 0 + 12) / 2,
        "p50_latency_over_slo": (0.8 + 1.25) / 2,
        "p99_latency_over_slo": 0.8 + 0.99 * 0.45,
        "served": 2 / 4,
        "shed": 1 / 4,
        "unfinished": 1,
        "cold_starts": 1,
        "config_miss_rate": 1 / 5,
        "vgpu_utilization": held / (8 * 10),
        "decision_ms": 0.5,
    }
    assert metrics_of(record()) == pytest.approx(expected, rel=1e-12)


def test_requests_and_tasks_by_hand() -> None:
    found = record()
    assert found.requests.request_id.tolist() == [1, 2, 3, 4]
    np.testing.assert_array_equal(found.requests.finish_ms, [4200, 6000, np.nan, np.nan])
    assert found.requests.cold_starts.tolist() == [1, 0, 0, 0]
    assert found.requests.shed.tolist() == [False, False, True, False]
    assert found.tasks.batch.tolist() == [1, 2, 1, 1, 1]
    assert found.tasks.members.tolist() == [[0, -1], [1, 2], [1, -1], [2, -1], [4, -1]]
    assert found.tasks.decided_ms.tolist() == [0, 1000, 2100, 2200, 5000]
    assert found.tasks.counted.tolist() == [False, True, True, True, True]
    assert found.unfinished == 1


def test_figures_by_workflow_and_quantiles() -> None:
    found = details_of(record())
    assert found["hit_rate[pair]"] == 1 / 2
    assert found["hit_rate[single]"] == 0
    assert found["cost_usd_per_request[pair]"] == pytest.approx(13.0)
    assert math.isnan(found["cost_usd_per_request[single]"])
    assert found["latency_over_slo[0.5]"] == pytest.approx(1.025)


def test_where_nobody_was_served_some_metrics_do_not_exist() -> None:
    found = metrics_of(record([]))
    gone = {"cost_usd_per_request", "p50_latency_over_slo", "p99_latency_over_slo"}
    assert {name for name, value in found.items() if math.isnan(value)} == gone
    assert found["hit_rate"] == found["served"] == found["vgpu_utilization"] == 0
    assert found["unfinished"] == 4


def test_metrics_say_what_they_are() -> None:
    assert len(set(NAMES)) == len(NAMES)
    assert [metric.name for metric in METRICS.values() if metric.measured] == ["decision_ms"]
    for metric in METRICS.values():
        assert metric.definition
        assert metric.unit
        assert metric.better in Better
