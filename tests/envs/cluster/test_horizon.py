from __future__ import annotations

import numpy as np
import pytest
from varigym.bench.simulate import simulate
from varigym.envs.cluster.state import NEVER
from varigym.envs.cluster.world import horizon_round
from varigym.scenarios.catalog import find_source
from varigym.scenarios.cluster.scenario import ClusterScenario
from worlds import GPUS, SmallJob, small_scenario

SLOW = small_scenario(
    [SmallJob(0, 3, 0.01, 0), SmallJob(0, 9, 0.01, 0), SmallJob(30, 1, 0.01, 1)], pm_bin=np.full((2, GPUS), 1e6)
)
FAR = small_scenario([SmallJob(0, 4, 600, k % 2) for k in range(3)], locality_penalty=(100.0, 100.0))


@pytest.mark.parametrize("policy", ["fifo+packed", "las-2d+pal"])
@pytest.mark.parametrize("world", [SLOW, FAR], ids=["score 1e6", "penalty 100"])
def test_slow_gpus_and_far_nodes_put_off_the_horizon(world: ClusterScenario, policy: str) -> None:
    (record,) = simulate(world, policy)
    assert record.truncated_jobs == 0
    assert record.last_round < horizon_round(world) < NEVER - 1


def test_the_horizon_follows_the_worst_slowdown() -> None:
    # needed: 0 s for the last arrival, 3 x 600 s x 4 of 9 GPUs, 600 s for the longest job; 1400 s are 23.33 rounds
    assert horizon_round(FAR) == np.ceil(2 * 100 * 1400 / 60) + 20 * 3 == 4727
    # 30 s + 0.01 s x 13 of 9 GPUs + 0.01 s, at 1.7 x 1e6
    needed_s = 30 + 0.13 / 9 + 0.01
    assert horizon_round(SLOW) == pytest.approx(2 * 1.7e6 * needed_s / 60 + 60, abs=1)


def test_the_horizon_of_tiny_by_hand() -> None:
    # the last job arrives at 60 s; 240 + 60 + 240 + 120 GPU seconds on 4 GPUs; the longest takes 120 s: 345 s in all,
    # of which 20 times are 115 rounds; and 20 for each of four jobs
    assert horizon_round(find_source("tiny").build(0)) == 115 + 80


@pytest.mark.parametrize("name", ["tiny", "sia-64", "sia-64-heavy-pm", "frontera-64", "synergy-256"])
def test_usual_worlds_are_cut_off_at_20_times_the_work(name: str) -> None:
    scenario = find_source(name).build(200_000)
    jobs, own = scenario.jobs, len(scenario.jobs) - scenario.streamed
    work_s, demand = jobs.work_s[:own], jobs.demand[:own]
    needed_s = jobs.arrival_s[:own].max() + (work_s * demand).sum() / scenario.gpus + work_s.max()
    assert horizon_round(scenario) == np.ceil(20 * needed_s / scenario.round_s) + 20 * own
