"""Every task of `tiny-serverless`, derived by hand (docs/tiny_serverless.md has the tables, with a reason for each).

Times are ms. Queue 0 is `look`, queue 1 `say` of `look-and-say`, queue 2 `say` of `say-only`. Configuration 0 is
(batch, vCPU, vGPU) = (1, 1, 1), 1 is (1, 1, 2).
"""

from __future__ import annotations

import numpy as np
import pytest
import varigym
from serverless_schedulers import record_of
from varigym.envs.serverless.metrics import metrics_of
from varigym.envs.serverless.record import Record
from varigym.policies.serverless.catalog import find_scheduler
from varigym.scenarios.catalog import find_source

SMALL_USD_PER_MS, LARGE_USD_PER_MS = (0.034 + 0.67) / 3.6e6, (0.034 + 2 * 0.67) / 3.6e6

Row = tuple[float, float, int, int, int, bool, int]
"""Start, end, queue, configuration, invoker, cold, request."""

MIN_CONFIG: list[Row] = [
    (0.0, 100.0, 0, 0, 0, False, 0),
    (10.0, 110.0, 0, 0, 1, False, 1),
    (20.0, 60.0, 2, 0, 0, False, 2),
    (30.0, 630.0, 0, 0, 1, True, 3),
    (100.0, 140.2, 1, 0, 0, False, 0),
    (110.0, 150.2, 1, 0, 1, False, 1),
    (130.0, 670.0, 2, 0, 0, True, 4),
    (140.2, 240.2, 0, 0, 0, False, 5),
    (240.2, 280.4, 1, 0, 0, False, 5),
    (630.0, 670.2, 1, 0, 1, False, 3),
]
MAX_CONFIG: list[Row] = [
    (0.0, 60.0, 0, 1, 0, False, 0),
    (10.0, 70.0, 0, 1, 1, False, 1),
    (60.0, 90.2, 1, 1, 0, False, 0),
    (70.0, 100.0, 2, 1, 1, False, 2),
    (90.2, 150.2, 0, 1, 0, False, 3),
    (100.0, 130.2, 1, 1, 1, False, 1),
    (130.2, 160.2, 2, 1, 1, False, 4),
    (150.2, 210.2, 0, 1, 0, False, 5),
    (160.2, 191.2, 1, 1, 1, False, 3),
    (210.2, 240.4, 1, 1, 0, False, 5),
]
BY_HAND: dict[str, list[Row]] = {
    "min-config": MIN_CONFIG,
    "max-config": MAX_CONFIG,
    # 0.85 of what is left suffices for the cheapest path, until request 3 is lost and gets the cheapest configuration.
    "esg": MIN_CONFIG,
    # The same, but the lost request gets the fastest one.
    "esg-literal": [*MIN_CONFIG[:-1], (630.0, 660.2, 1, 1, 1, False, 3)],
}


@pytest.fixture(scope="module")
def played() -> dict[str, Record]:
    scenario = find_source("tiny-serverless").build(0)
    return {name: record_of(find_scheduler(name), scenario) for name in BY_HAND}


@pytest.mark.parametrize("policy", BY_HAND)
def test_every_task_is_where_and_when_it_was_by_hand(played: dict[str, Record], policy: str) -> None:
    tasks = played[policy].tasks
    columns = (tasks.start_ms, tasks.end_ms, tasks.queue, tasks.config, tasks.invoker, tasks.cold, tasks.members[:, 0])
    assert list(zip(*(column.tolist() for column in columns), strict=True)) == BY_HAND[policy]
    assert tasks.batch.tolist() == [1] * 10


@pytest.mark.parametrize("policy", ["min-config", "esg"])
def test_requests_and_costs_of_the_smallest_configuration(played: dict[str, Record], policy: str) -> None:
    record = played[policy]
    requests = record.requests
    assert requests.latency_ms.tolist() == [140.2, 140.2, 40.0, 640.2, 540.0, 140.4]
    assert requests.hit.tolist() == [True, True, True, False, False, True]
    assert requests.cold_starts.tolist() == [0, 0, 0, 1, 1, 0]
    both, alone = 140.2 * SMALL_USD_PER_MS, 40.0 * SMALL_USD_PER_MS
    assert requests.cost_usd == pytest.approx([both, both, alone, both, alone, both], rel=1e-12)
    assert record.tasks.billed_ms.tolist() == [100.0, 100.0, 40.0, 100.0, 40.2, 40.2, 40.0, 100.0, 40.2, 40.2]
    assert (record.end_ms, record.truncated, record.visits, record.misses) == (670.2, False, 10, 0)


def test_requests_and_costs_of_the_largest_configuration(played: dict[str, Record]) -> None:
    record = played["max-config"]
    requests = record.requests
    assert requests.latency_ms.tolist() == [90.2, 120.2, 80.0, 161.2, 30.2, 100.4]
    assert requests.hit.tolist() == [True, True, False, True, True, True]
    billed_ms = np.array([90.2, 90.2, 30.0, 91.0, 30.0, 90.2])
    assert requests.cost_usd == pytest.approx(billed_ms * LARGE_USD_PER_MS, rel=1e-12)
    assert (record.end_ms, record.tasks.cold.any(), record.misses) == (240.4, np.False_, 0)


def test_the_best_effort_of_esg_literal_costs_more(played: dict[str, Record]) -> None:
    record = played["esg-literal"]
    assert (record.requests.latency_ms[3], record.end_ms) == (630.2, 670.0)
    usd = 100.0 * SMALL_USD_PER_MS + 30.2 * LARGE_USD_PER_MS
    assert record.requests.cost_usd[3] == pytest.approx(usd, rel=1e-12)


def test_every_metric_by_hand(played: dict[str, Record]) -> None:
    found = metrics_of(played["min-config"])
    found.pop("decision_ms")
    # vGPU-ms within the window of 200 ms: look 100 + 100 + 170 + 59.8, say 40 + 40.2 + 40.2 + 70.
    assert found == {
        "hit_rate": pytest.approx(4 / 6),
        "cost_usd_per_request": pytest.approx(640.8 * SMALL_USD_PER_MS / 6),
        "p50_latency_over_slo": pytest.approx((140.2 + 140.4) / 2 / 210),
        "p99_latency_over_slo": pytest.approx(640.2 / 210 + 0.95 * (540 / 60 - 640.2 / 210)),
        "served": 1.0,
        "shed": 0.0,
        "unfinished": 0.0,
        "cold_starts": 2.0,
        "config_miss_rate": 0.0,
        "vgpu_utilization": pytest.approx(620.2 / (4 * 200)),
    }


def test_simulate_runs_the_same_episode_in_one_program(played: dict[str, Record]) -> None:
    (whole,) = varigym.simulate("tiny-serverless", "min-config")
    for part in ("tasks", "requests"):
        ours, theirs = vars(getattr(played["min-config"], part)), vars(getattr(whole, part))
        assert all(np.array_equal(ours[name], theirs[name]) for name in ours)
    assert (whole.end_ms, whole.visits) == (670.2, 10)
