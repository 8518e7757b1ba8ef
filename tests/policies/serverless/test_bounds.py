"""The oracle's cost against brute force, and below what any scheduler pays."""

from __future__ import annotations

from dataclasses import replace
from itertools import product

import numpy as np
import pytest
import varigym
from varigym.policies.serverless.bounds import oracle_usd, oracle_usd_per_request
from varigym.scenarios.serverless.configs import ConfigGrid
from varigym.scenarios.serverless.requests import make_requests
from varigym.scenarios.serverless.scenario import Prices, ServerlessScenario
from varigym.scenarios.serverless.workflows import Function, Workflow, chain

GRID = ConfigGrid((1, 2), (1,), (1, 2))
PRICES = Prices(usd_per_vcpu_h=0.0, usd_per_vgpu_h=36.0)  # 0.01 USD per vGPU-second


def scenario(slo_ms: float, edges: tuple[tuple[int, int], ...], stages: int) -> ServerlessScenario:
    # By configuration (1, 1, 1), (1, 1, 2), (2, 1, 1), (2, 1, 2).
    functions = (Function("f", np.array([100.0, 70.0, 150.0, 100.0]), 10.0, 1.0),)
    workflow = Workflow("w", (0,) * stages, edges, slo_ms)
    requests = make_requests(np.zeros(1), np.zeros(1, np.int32), (0.0, 1.0), stages=stages)
    big = np.array([8], np.int32)
    return ServerlessScenario("toy", GRID, functions, (workflow,), big, big, requests, 1e4, (0.0, 1.0), PRICES)


@pytest.mark.parametrize("slo_ms", [130.0, 150.0, 200.0, 240.0, 300.0, 1000.0])
def test_a_pipeline_s_bound_is_its_cheapest_path_in_time(slo_ms: float) -> None:
    world = scenario(slo_ms, chain(2), 2)
    time = world.functions[0].latency_ms
    usd = time / 1000 * GRID.vgpu * 0.01 / GRID.batch
    paths = [usd[x] + usd[y] for x, y in product(range(4), repeat=2) if time[x] + time[y] <= slo_ms]
    if paths:
        assert oracle_usd(world)[0] == pytest.approx(min(paths), rel=1e-6)
    else:
        assert np.isnan(oracle_usd(world)[0])


def test_a_fork_s_bound_takes_every_stage_by_itself() -> None:
    fork = scenario(300.0, ((0, 1), (0, 2), (1, 3), (2, 3)), 4)
    assert oracle_usd(fork)[0] == pytest.approx(4 * 0.15 * 0.01 / 2, rel=1e-6)


@pytest.mark.slow
def test_no_scheduler_is_cheaper() -> None:
    source = varigym.find_source("strict-light:warmup_s=1:measured_s=5:noise_cv=0:straggler_share=0:transfer=none")
    world = replace(source.build(0), name="quiet")
    bound = oracle_usd_per_request(world)
    record = varigym.simulate(world, "esg:margin=1:group=31")[0]
    assert bound <= varigym.metrics_of(record)["cost_usd_per_request"]
