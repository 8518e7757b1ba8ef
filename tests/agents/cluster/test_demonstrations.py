"""An expert's plan as micro-steps: exact where the window holds it, counted where it does not."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
import varigym
from varigym.agents.cluster.demonstrations import demonstrate
from varigym.agents.steps import MicroStep
from varigym.bench.simulate import simulate
from varigym.envs.cluster.bank import make_bank
from varigym.envs.cluster.mdp.faces import GpuClusterEnv
from varigym.envs.cluster.mdp.options import EnvOptions
from varigym.scenarios.cluster.scenario import ClusterScenario
from varigym.scenarios.errors import InputError
from worlds import LEVELS, SmallJob, small_scenario

BINS = np.tile(np.repeat(LEVELS[:3], 3), (2, 1))
CELL = EnvOptions(window=4, decide_every=1)
"""The process of tests in envs/faces, over as many worlds, so that nothing is compiled twice."""


def crowd(jobs: int) -> ClusterScenario:
    rows = [SmallJob(29 * k, 1 + (7 * k) % 9, 50 + 70 * (k % 5), k % 2) for k in range(jobs)]
    return small_scenario(rows, pm_bin=BINS)


WORLD = crowd(11)


def environment(base: str, world: ClusterScenario = WORLD, **options: Any) -> GpuClusterEnv:
    policy = varigym.find_policy(base)
    given = replace(CELL, **{"clairvoyant": policy.clairvoyant, **options})
    return GpuClusterEnv(make_bank([world] * 4), policy, given)


def shown(env: GpuClusterEnv, expert: str) -> list[MicroStep]:
    return list(demonstrate(env, varigym.find_policy(expert), seed=0))


@pytest.mark.parametrize("expert", ["fifo+pal", "las-2d+pal+backfill", "fifo+pm-first", "srtf+pal", "las+pal+sticky"])
def test_replaying_an_expert_gives_its_times(expert: str) -> None:
    env = environment(expert)
    steps = shown(env, expert)
    assert all(step.exact for step in steps)
    expected = simulate(WORLD, expert)[0].jobs
    assert env.record().jobs.finish_s.tolist() == expected.finish_s.tolist()
    assert env.record().jobs.preemptions.tolist() == expected.preemptions.tolist()
    assert sum(step.reward for step in steps) == -expected.jct_s.sum()


def test_every_action_is_legal_and_has_the_best_score_of_its_kind() -> None:
    env = environment("fifo+pal")
    space = env.kind.process.space
    for step in shown(env, "fifo+pal"):
        assert step.mask[step.action]
        assert np.isneginf(step.score[~step.mask]).all()
        assert step.score[step.action] > -np.inf
        cells = step.score[: space.rest].reshape(space.window, space.per_slot)[:, : space.keep].max()
        assert step.action >= space.rest or step.score[step.action] >= cells - 1e-6
        assert step.observation["action_mask"].tolist() == step.mask.tolist()


def test_a_window_too_small_for_the_plan_leaves_a_gap_that_is_seen() -> None:
    """Four rows do not hold the jobs that backfilling takes from farther behind."""
    expert, world = "las-2d+pal+backfill", crowd(14)
    env = environment(expert, world)
    steps = shown(env, expert)
    assert env.record().jobs.finish_s.tolist() != simulate(world, expert)[0].jobs.finish_s.tolist()
    assert not all(step.exact for step in steps)


def test_packed_gangs_that_no_cell_names_are_counted() -> None:
    mixed = np.tile([0.9, 1.25, 0.9, 1.25, 0.9, 1.25, 0.9, 1.25, 0.9], (2, 1))
    world = small_scenario([SmallJob(0, 2, 60, 0), SmallJob(0, 2, 60, 0), SmallJob(0, 3, 200, 1)], pm_bin=mixed)
    env = environment("fifo+packed", world)
    assert not all(step.exact for step in shown(env, "fifo+packed"))


def test_a_clairvoyant_expert_needs_a_clairvoyant_environment() -> None:
    env = environment("fifo+pal")
    with pytest.raises(InputError, match="clairvoyant"):
        shown(env, "srtf+pal")
    with pytest.raises(InputError, match="need cell"):
        shown(environment("fifo+pal", action_mode="select"), "fifo+pal")


def test_what_is_no_environment_or_policy_is_refused() -> None:
    env = environment("fifo+pal")
    with pytest.raises(InputError, match=r"expert = 'fifo\+pal'; legal: a policy object"):
        next(demonstrate(env, "fifo+pal"))  # type: ignore[arg-type]
    with pytest.raises(InputError, match="legal: one environment"):
        next(demonstrate("env", varigym.find_policy("fifo+pal")))  # type: ignore[arg-type]
