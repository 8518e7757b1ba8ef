"""What must hold before any result of the serverless world is believed: one job alone meets every promise.

Latencies and loads at the minimum configuration are checked with the scenarios, the search with the search, and costs
from the log with the records. Here: without noise, transfers, cold starts and other jobs ESG runs the path that a plan
of the whole chain would take, and everybody in time.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from serverless_schedulers import record_of
from varigym.envs.serverless.bank import make_bank
from varigym.envs.serverless.record import Record
from varigym.policies.serverless.catalog import find_scheduler
from varigym.policies.serverless.tables import platform_tables
from varigym.scenarios.catalog import find_source
from varigym.scenarios.serverless.requests import make_requests
from varigym.scenarios.serverless.scenario import ServerlessScenario

APART_MS = 20_000.0
"""Longer than any request takes."""
QUIET = "strict-light:invokers=2:noise_cv=0:straggler_share=0:transfer=none"
FACTORS = (0.8, 1.0, 1.2)


def alone(factor: float) -> ServerlessScenario:
    """One request of each of the four workflows, each with the platform to itself."""
    scenario = find_source(f"{QUIET}:slo_factor={factor}").build(0)
    count = len(scenario.workflows)
    window_ms = (0.0, count * APART_MS)
    arrival_ms, workflow = np.arange(count) * APART_MS, np.arange(count, dtype=np.int32)
    requests = make_requests(arrival_ms, workflow, window_ms, stages=scenario.stages)
    return replace(scenario, requests=requests, window_ms=window_ms, horizon_ms=window_ms[1])


@pytest.fixture(scope="module", params=FACTORS)
def scenario(request: pytest.FixtureRequest) -> ServerlessScenario:
    return alone(request.param)


def least_cost(scenario: ServerlessScenario, workflow: int) -> int:
    """Units of the cheapest path of a chain within its SLO, batches of one: all paths, the dominated ones left out."""
    tables = platform_tables(make_bank([scenario]))
    single = np.flatnonzero(scenario.grid.batch == 1)
    frontier = {0: 0}
    for function in scenario.workflows[workflow].functions:
        reached: dict[int, int] = {}
        for ticks, units in frontier.items():
            for config in single:
                time, cost = ticks + int(tables.time[function, config]), units + int(tables.cost[function, config])
                reached[time] = min(cost, reached.get(time, cost))
        frontier, least = {}, 2**62
        for time, cost in sorted(reached.items()):
            if cost < least:
                frontier[time] = least = cost
    promised = round(scenario.workflows[workflow].slo_ms * 100)
    return min(cost for time, cost in frontier.items() if time <= promised)


def paid(scenario: ServerlessScenario, record: Record, request: int) -> int:
    """Units of what a request was run with."""
    tables = platform_tables(make_bank([scenario]))
    mine = record.tasks.members[:, 0] == request
    functions = tables.function[record.tasks.queue[mine]]
    return int(tables.cost[functions, record.tasks.config[mine]].sum())


@pytest.mark.parametrize("name", ["esg", "esg-literal", "esg:k=1:margin=1:group=5"])
def test_one_job_alone_is_always_in_time(scenario: ServerlessScenario, name: str) -> None:
    record = record_of(find_scheduler(name), scenario)
    assert record.requests.hit.all()
    assert not record.tasks.cold.any()
    assert (record.tasks.batch == 1).all()


def test_planned_as_one_group_a_chain_runs_the_cheapest_path_of_all(scenario: ServerlessScenario) -> None:
    """The oracle's: re-planning after every stage changes nothing when all went as planned."""
    record = record_of(find_scheduler("esg:k=1:margin=1:group=5"), scenario)
    for workflow in range(len(scenario.workflows)):
        assert paid(scenario, record, workflow) == least_cost(scenario, workflow)


def test_three_stages_are_one_group_by_default(scenario: ServerlessScenario) -> None:
    record = record_of(find_scheduler("esg-literal"), scenario)
    assert [len(w.functions) for w in scenario.workflows] == [3, 3, 3, 5]
    for workflow in range(3):
        assert paid(scenario, record, workflow) == least_cost(scenario, workflow)
    assert paid(scenario, record, 3) >= least_cost(scenario, 3)


def test_what_requests_pay_is_what_their_tasks_held(scenario: ServerlessScenario) -> None:
    """Run time x (vCPU x its price + vGPU x its price), from the profile alone."""
    record = record_of(find_scheduler("esg"), scenario)
    grid, prices = scenario.grid, scenario.prices
    for request in range(len(scenario.workflows)):
        mine = np.flatnonzero(record.tasks.members[:, 0] == request)
        usd = 0.0
        for task in mine:
            workflow, stage = scenario.queues[record.tasks.queue[task]]
            config = record.tasks.config[task]
            ms = scenario.functions[scenario.workflows[workflow].functions[stage]].latency_ms[config]
            per_h = grid.vcpu[config] * prices.usd_per_vcpu_h + grid.vgpu[config] * prices.usd_per_vgpu_h
            usd += round(ms * 100) / 100 / 3.6e6 * per_h
        assert record.requests.cost_usd[request] == pytest.approx(usd, rel=1e-12)
