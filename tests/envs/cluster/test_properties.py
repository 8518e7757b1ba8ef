"""What holds in every round of every episode, whatever the policy."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from varigym.bench.simulate import simulate
from varigym.envs.cluster.state import FREE, NEVER
from varigym.policies.cluster.catalog import find_policy, policy_names
from varigym.scenarios.cluster.scenario import ClusterScenario
from worlds import GPUS, LEVELS, PER_NODE, scaled, scenarios, steps

ANY_POLICY = st.sampled_from(policy_names())


@settings(max_examples=50)
@given(scenario=scenarios(), name=ANY_POLICY)
def test_gangs_are_whole_and_run_only_after_arrival(scenario: ClusterScenario, name: str) -> None:
    jobs = scenario.jobs
    for _, planned in steps(scenario, find_policy(name)):
        owner = np.asarray(planned.owner).ravel()
        slots = planned.slots
        held = np.bincount(owner[owner != FREE], minlength=len(slots.job))
        running = np.asarray(slots.running)
        assert (held == np.where(running, np.asarray(slots.demand), 0)).all()
        assert held.sum() <= GPUS
        here = np.asarray(slots.job)[running]
        assert (jobs.arrival_s[here] <= float(planned.round) * scenario.round_s).all()


@settings(max_examples=50)
@given(scenario=scenarios(restart=False), name=ANY_POLICY)
def test_work_is_conserved(scenario: ClusterScenario, name: str) -> None:
    """A finished job ran for its work at its mean pace, to within the round it ended in."""
    (record,) = simulate(scenario, name)
    jobs = record.jobs
    run_s = (jobs.finish_s - jobs.start_s) * 0
    for before, planned in steps(scenario, find_policy(name)):
        slots = planned.slots
        for job, runs in zip(np.asarray(slots.job), np.asarray(slots.running), strict=True):
            if runs and scenario.jobs.tracked[job]:
                run_s[np.flatnonzero(np.flatnonzero(scenario.jobs.tracked) == job)[0]] += scenario.round_s
        assert int(before.round) < NEVER
    best = np.maximum(jobs.work_s * scenario.pm_score.min(), 0)
    worst = jobs.work_s * scenario.pm_score.max() * scenario.locality_penalty.max()
    assert (run_s >= best - 1e-6).all()
    assert (run_s < worst + scenario.round_s).all()
    assert (jobs.jct_s >= run_s - 1e-6).all()


@settings(max_examples=60)
@given(scenario=scenarios(), name=ANY_POLICY, power=st.sampled_from([0.25, 0.5, 2.0, 8.0]))
def test_scaling_all_seconds_scales_all_times(scenario: ClusterScenario, name: str, power: float) -> None:
    scenario = replace(scenario, round_s=64.0)
    plain, other = simulate(scenario, name)[0].jobs, simulate(scaled(scenario, power), name)[0].jobs
    assert (other.jct_s == plain.jct_s * power).all()
    assert (other.start_s == plain.start_s * power).all()
    assert (other.preemptions == plain.preemptions).all()
    assert (other.contention == plain.contention).all()


@settings(max_examples=60)
@given(scenario=scenarios(penalty=1.0), order=st.sampled_from(["fifo", "las", "srsf"]), level=st.sampled_from(LEVELS))
def test_equal_gpus_without_penalty_make_pal_and_pm_first_the_same(
    scenario: ClusterScenario, order: str, level: float
) -> None:
    same = np.full_like(scenario.pm_score, level)
    scenario = replace(scenario, pm_score=same, pm_bin=same, restart_s=0.0)
    jct_s = [simulate(scenario, f"{order}+{placement}")[0].jobs.jct_s for placement in ("pal", "pm-first")]
    assert (jct_s[0] == jct_s[1]).all()


@settings(max_examples=60)
@given(scenario=scenarios(), name=ANY_POLICY, data=st.data())
def test_swapping_twin_gpus_of_a_node_changes_no_jct(scenario: ClusterScenario, name: str, data: st.DataObject) -> None:
    node = data.draw(st.integers(0, GPUS // PER_NODE - 1)) * PER_NODE
    scores, bins = scenario.pm_score.copy(), scenario.pm_bin.copy()
    scores[:, node + 1], bins[:, node + 1] = scores[:, node], bins[:, node]
    twins = replace(scenario, pm_score=scores, pm_bin=bins)
    order = np.arange(GPUS)
    order[[node, node + 1]] = order[[node + 1, node]]
    swapped = replace(twins, pm_score=scores[:, order], pm_bin=bins[:, order])
    assert (simulate(twins, name)[0].jobs.jct_s == simulate(swapped, name)[0].jobs.jct_s).all()


@pytest.mark.parametrize("name", ["fifo+random", "las+random+sticky"])
def test_random_placement_follows_its_seed_alone(name: str) -> None:
    first, again, other = (simulate("tiny", name, seed)[0].jobs for seed in (3, 3, 4))
    assert (first.finish_s == again.finish_s).all()
    np.random.seed(1)  # noqa: NPY002 (a polluted global stream must change nothing)
    assert (simulate("tiny", name, 3)[0].jobs.finish_s == first.finish_s).all()
    many = {tuple(simulate("tiny", name, s)[0].jobs.run_slowdown) for s in range(8)}
    assert len(many) > 1, other
