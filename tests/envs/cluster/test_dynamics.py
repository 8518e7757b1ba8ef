"""Single rules of the round loop, each in a world made for it."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from varigym.bench.simulate import simulate
from varigym.envs.cluster import episode
from varigym.envs.cluster.record import Record
from varigym.policies.cluster.catalog import find_policy
from varigym.scenarios.cluster.scenario import ClusterScenario, Compat, with_tracked
from worlds import GPUS, SmallJob, gangs, small_scenario, steps


def run(scenario: ClusterScenario, policy: str = "fifo+packed") -> Record:
    return simulate(scenario, policy)[0]


def test_a_job_ends_with_the_round_it_ends_in() -> None:
    jobs = run(small_scenario([SmallJob(0, 1, 61, 0), SmallJob(0, 1, 60, 0)])).jobs
    assert jobs.finish_s.tolist() == [120, 60]


def test_round_length_is_the_grid_of_all_times() -> None:
    coarse = run(small_scenario([SmallJob(10, 1, 97, 0)], round_s=300.0)).jobs
    fine = run(small_scenario([SmallJob(10, 1, 97, 0)], round_s=5.0)).jobs
    assert (coarse.start_s[0], coarse.finish_s[0]) == (300, 600)
    assert (fine.start_s[0], fine.finish_s[0]) == (10, 110)


def test_an_arrival_on_a_boundary_joins_at_once() -> None:
    assert run(small_scenario([SmallJob(60, 1, 60, 0)])).jobs.jct_s.tolist() == [60]


def test_empty_stretches_are_skipped() -> None:
    record = run(small_scenario([SmallJob(0, 1, 60, 0), SmallJob(6_000_000, 1, 60, 0)]))
    assert record.jobs.finish_s.tolist() == [60, 6_000_060]
    assert record.rounds == 2


def test_the_slowest_gpu_and_the_penalty_set_the_pace() -> None:
    scores = np.ones((2, GPUS))
    scores[0, 4] = 1.5
    spread = run(small_scenario([SmallJob(0, 9, 60, 0)], pm_score=scores, pm_bin=np.ones((2, GPUS)))).jobs
    assert spread.run_slowdown.tolist() == [1.5 * 1.7]
    assert spread.finish_s.tolist() == [180]
    other_class = run(small_scenario([SmallJob(0, 9, 60, 1)], pm_score=scores, locality_penalty=(1.7, 1.1))).jobs
    assert other_class.run_slowdown.tolist() == [1.1]


def test_only_tracked_jobs_count_and_end_the_episode() -> None:
    scenario = small_scenario([SmallJob(0, 1, 60, 0), SmallJob(0, 1, 6000, 0)])
    record = run(with_tracked(scenario, 0, 0))
    assert record.jobs.job_id.tolist() == ["0"]
    assert record.last_round == 1


def alternating(restart_s: float) -> ClusterScenario:
    """Two gangs of 9 take turns under las: each loses its GPUs after every round."""
    return small_scenario(
        [SmallJob(0, 9, 100, 0), SmallJob(0, 9, 100, 0)], restart_s=restart_s, locality_penalty=(1, 1)
    )


def test_restart_is_lost_from_the_first_round_after_a_pause() -> None:
    free, paid = run(alternating(0.0), "las+packed").jobs, run(alternating(30.0), "las+packed").jobs
    # Job 0 runs in rounds 0, 2, (4): 60, then 30 of 60, so that 100 needs a third turn.
    assert free.finish_s.tolist() == [180, 240]
    assert paid.finish_s.tolist() == [300, 360]
    assert paid.preemptions.tolist() == [2, 2]


def test_restart_longer_than_a_round_is_carried_over() -> None:
    move = [SmallJob(0, 3, 600, 0), SmallJob(60, 9, 60, 0)]
    record = run(small_scenario(move, restart_s=90.0, locality_penalty=(1, 1)), "las+packed")
    # Job 0 runs 0-60, pauses for job 1, resumes at 120: 90 s of restart leave 540 s of work for 120 + 90 ... 750.
    assert record.jobs.finish_s.tolist() == [780, 120]


def test_the_first_start_is_free() -> None:
    assert run(small_scenario([SmallJob(0, 1, 60, 0)], restart_s=50.0)).jobs.finish_s.tolist() == [60]


def test_a_stuck_episode_is_truncated_and_says_so() -> None:
    record = run(alternating(60.0), "las+packed")
    assert record.truncated_jobs == 2
    assert np.isnan(record.jobs.finish_s).all()
    assert (record.jobs.jct_s == record.last_round * 60.0).all()
    assert (record.jobs.preemptions > 10).all()


def test_slots_are_doubled_where_more_jobs_are_active(monkeypatch: pytest.MonkeyPatch) -> None:
    crowd = small_scenario([SmallJob(0, 1 + k % 9, 30 + k, k % 2) for k in range(100)])
    plain = run(crowd, "las+pal").jobs
    monkeypatch.setattr(episode, "FIRST_SLOTS", 32)
    grown = run(crowd, "las+pal").jobs
    assert (grown.finish_s == plain.finish_s).all()
    assert (grown.contention == plain.contention).all()


def test_starving_jobs_are_promoted_under_artifact_alone() -> None:
    """After 3.6e6 s of waiting a job goes before all others; rounds of 1e6 s keep the test short."""
    small = [SmallJob(0, 9, 10e6, 0), SmallJob(0, 9, 10e6, 0)]
    scenario = small_scenario(small, round_s=1e6, locality_penalty=(1, 1))
    policy = find_policy("srtf+packed")

    def first_holders(compat: Compat) -> list[int]:
        late = [SmallJob(0, 9, 20e6, 0), SmallJob(0, 9, 10e6, 0)]
        world = small_scenario(late, round_s=1e6, locality_penalty=(1, 1), compat=compat)
        return [next(iter(gangs(planned))) for _, planned in steps(world, policy)]

    assert run(scenario).last_round == 20
    assert first_holders(Compat.PAPER) == [1] * 10 + [0] * 20
    # Waiting 1, 2, 3, 4 rounds of 1e6 s passes 3.6e6 s: job 0 is promoted at its fourth missed round.
    assert first_holders(Compat.ARTIFACT)[:5] == [1, 1, 1, 1, 0]


def test_remaining_time_is_nominal_under_artifact() -> None:
    """A job on a slow GPU: the artifact subtracts wall time from its work, the paper what was really done."""
    scores = np.full((2, GPUS), 2.0)
    rows = [SmallJob(0, 9, 170, 0), SmallJob(120, 9, 100, 0)]
    world = small_scenario(rows, pm_bin=scores, locality_penalty=(1, 1))
    artifact = run(replace(world, compat=Compat.ARTIFACT), "srtf+packed").jobs
    paper = run(world, "srtf+packed").jobs
    # At 120 s job 0 has done 60 of 170 s: 110 s are left, nominally 50.
    assert artifact.finish_s.tolist() == [360, 600]
    assert paper.finish_s.tolist() == [600, 360]
