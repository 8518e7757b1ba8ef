"""Finish-time fairness in worlds where it is known: 9 GPUs, rounds of 60 s, first come first served."""

from __future__ import annotations

import numpy as np
import pytest
from varigym.bench.simulate import simulate
from varigym.envs.cluster.mdp.faces import GpuClusterEnv
from varigym.envs.cluster.metrics import metrics_of
from varigym.envs.cluster.record import Record
from varigym.envs.cluster.world import horizon_round
from varigym.registration import make_cluster
from varigym.scenarios.cluster.scenario import ClusterScenario
from worlds import SmallJob, Worlds, small_scenario

FLAT = (1.0, 1.0)


def run(rows: list[SmallJob]) -> Record:
    return simulate(small_scenario(rows, locality_penalty=FLAT), "fifo+packed")[0]


def environment(world: ClusterScenario) -> GpuClusterEnv:
    return make_cluster(Worlds((world,) * 4), "fifo+packed", worlds=4, reward="ftf", window=4, action_mode="select")


def rewards(env: GpuClusterEnv, action: int) -> list[float]:
    """Raw rewards of an episode of one action, counted from the end of the actions."""
    env.reset(seed=0)
    paid, over = [], False
    while not over:
        _, _, terminated, truncated, info = env.step(int(env.action_space.n) - action)
        paid.append(info["reward_raw"])
        over = terminated or truncated
    return paid


REST, COMMIT = 2, 1


def test_alone_it_is_the_slowdown() -> None:
    record = run([SmallJob(0, 9, 90, 0)])
    assert record.jobs.contention.tolist() == [1.0]
    assert record.jobs.ftf.tolist() == [120 / 90]


def test_two_equal_jobs_in_turn_are_fair_to_the_second_alone() -> None:
    """Both want all 9 GPUs. Job 0 has contention 2 while it runs; job 1 has 2 for as long, then 1."""
    record = run([SmallJob(0, 9, 120, 0), SmallJob(0, 9, 120, 0)])
    assert record.jobs.contention.tolist() == [2.0, 1.5]
    assert record.jobs.ftf.tolist() == [120 / 240, 240 / 180]
    values = metrics_of(record)
    assert values["mean_ftf"] == pytest.approx((1 / 2 + 4 / 3) / 2, rel=1e-15)
    assert values["max_ftf"] == pytest.approx(4 / 3, rel=1e-15)


def test_demand_below_the_gpus_is_no_contention() -> None:
    assert run([SmallJob(0, 4, 60, 0), SmallJob(0, 5, 60, 0)]).jobs.ftf.tolist() == [1.0, 1.0]


def test_untracked_jobs_contend_and_are_not_judged() -> None:
    record = run([SmallJob(0, 9, 120, 0, tracked=False), SmallJob(0, 9, 120, 0)])
    assert record.jobs.ftf.tolist() == [240 / 180]


def test_the_wait_before_the_first_round_lengthens_the_jct_alone() -> None:
    record = run([SmallJob(0, 9, 120, 0), SmallJob(30, 9, 60, 0)])
    # Job 1 joins at 60, contends in the round up to 120 with job 0 (2) and then runs alone (1).
    assert record.jobs.contention.tolist() == [1.5, 1.5]
    assert record.jobs.ftf.tolist() == [120 / (120 * 1.5), 150 / (60 * 1.5)]


def test_an_empty_stretch_does_not_count() -> None:
    late = [SmallJob(60_000, 9, 60, 0), SmallJob(60_000, 9, 60, 0)]
    record = run([SmallJob(0, 9, 60, 0), SmallJob(0, 9, 60, 0), *late])
    assert record.jobs.contention.tolist() == [2.0, 1.5, 2.0, 1.5]


def test_rewards_are_the_change_of_the_fairness_as_it_stands() -> None:
    """Job 0 runs for a round alone and for one beside job 1, which waits for it and then runs alone."""
    world = small_scenario([SmallJob(0, 9, 120, 0), SmallJob(60, 9, 60, 0)], locality_penalty=FLAT)
    env = environment(world)
    # At 60 s: 60 / 120. At 120 s: 120 / (120 x 1.5), and 60 / (60 x 2) of job 1. At 180 s: 120 / (60 x 1.5) of job 1.
    totals = [1 / 2, 2 / 3 + 1 / 2, 2 / 3 + 4 / 3]
    assert rewards(env, REST) == pytest.approx(-np.diff([0, *totals]), rel=1e-12)
    assert env.record().jobs.ftf.tolist() == pytest.approx([2 / 3, 4 / 3], rel=1e-15)


def test_a_reward_is_positive_when_the_fair_share_shrinks() -> None:
    """Job 0 waits 600 s alone (5 of its work of 120 s); when 8 others come its fair share falls to a ninth."""
    crowd = [SmallJob(600, 9, 60, 0) for _ in range(8)]
    env = environment(small_scenario([SmallJob(0, 9, 120, 0), *crowd], locality_penalty=FLAT))
    paid = rewards(env, COMMIT)
    standing = -np.cumsum(paid)
    assert standing[0] == pytest.approx(5.0)
    assert max(paid) > 0


def test_truncated_jobs_count_as_they_stand_at_the_horizon() -> None:
    world = small_scenario([SmallJob(0, 9, 60, 0), SmallJob(30, 9, 60, 1)], locality_penalty=FLAT)
    env = environment(world)
    total, jobs, rounds = sum(rewards(env, COMMIT)), env.record().jobs, horizon_round(world)
    assert np.isnan(jobs.finish_s).all()
    assert jobs.contention.tolist() == [(1 + 2 * (rounds - 1)) / rounds, 2.0]
    assert jobs.ftf.tolist() == (jobs.jct_s / (60 * jobs.contention)).tolist()
    assert total == pytest.approx(-jobs.ftf.sum(), rel=1e-12)
