"""One episode in each world, also where they are no multiple of the lanes."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import varigym
from varigym.agents.evaluation import metric_by_world
from varigym.agents.vec_env import GpuClusterVecEnv
from varigym.envs.cluster.bank import make_bank
from varigym.envs.cluster.mdp.faces import GpuClusterEnv
from varigym.envs.cluster.mdp.options import EnvOptions
from worlds import SmallJob, small_scenario

WORLDS = [small_scenario([SmallJob(10 * k, 1 + (k + w) % 9, 60 + 40 * k, k % 2) for k in range(5)]) for w in range(4)]
PARTS = make_bank(WORLDS), varigym.find_policy("las-2d+pal+backfill")
OPTIONS = EnvOptions(window=4, decide_every=1)  # of as many worlds as in envs/faces, so that nothing is compiled twice
LANES = 3


def first_legal(seen: dict[str, Any], masks: np.ndarray) -> np.ndarray:
    return masks.argmax(axis=1)


@pytest.fixture(scope="module")
def by_hand() -> list[float]:
    """Mean JCT of each world, by a single environment."""
    env, means = GpuClusterEnv(*PARTS, OPTIONS), []
    for world in range(len(WORLDS)):
        seen, info = env.reset(seed=0, options={"world": world})
        while "metrics" not in info:
            seen, _, _, _, info = env.step(int(seen["action_mask"].argmax()))
        means.append(float(info["metrics"]["mean_jct_s"]))
    return means


def test_every_world_is_met_once_and_stands_at_its_place(by_hand: list[float]) -> None:
    assert len(set(by_hand)) == len(WORLDS)
    found = metric_by_world(GpuClusterVecEnv(*PARTS, LANES, OPTIONS), "mean_jct_s", first_legal)
    assert found == pytest.approx(by_hand, rel=1e-12)


def test_an_unknown_metric_is_refused_with_the_closest_ones() -> None:
    with pytest.raises(varigym.InputError, match="unknown metric 'mean_jct'; did you mean mean_jct_s"):
        metric_by_world(GpuClusterVecEnv(*PARTS, LANES, OPTIONS), "mean_jct", first_legal)
