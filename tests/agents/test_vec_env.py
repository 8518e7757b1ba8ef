"""The Stable-Baselines3 face: the same trajectories, terminal observations, masks and statistics."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import varigym
from sb3_contrib.common.maskable.utils import get_action_masks, is_masking_supported
from varigym import InputError
from varigym.agents.vec_env import GpuClusterVecEnv
from varigym.envs.cluster.bank import make_bank
from varigym.envs.cluster.mdp.faces import GpuClusterEnv
from varigym.envs.cluster.mdp.options import EnvOptions
from worlds import SmallJob, small_scenario

WORLDS = [small_scenario([SmallJob(10 * k, 1 + (k + w) % 9, 60 + 40 * k, k % 2) for k in range(5)]) for w in range(4)]
OPTIONS = EnvOptions(window=4, decide_every=1)  # of as many worlds as in envs/faces, so that nothing is compiled twice


@pytest.fixture(scope="module")
def parts() -> tuple[Any, Any]:
    return make_bank(WORLDS), varigym.find_policy("las-2d+pal+backfill")


def test_lanes_follow_single_environments_through_ends_of_episodes(parts: tuple[Any, Any]) -> None:
    batch = GpuClusterVecEnv(*parts, 3, OPTIONS)
    singles = [GpuClusterEnv(*parts, OPTIONS) for _ in range(3)]
    batch.seed(7)
    seen = batch.reset()
    for lane, env in enumerate(singles):
        assert_equal(seen, lane, env.reset(seed=7 + lane)[0])
    lots, ends, returns, lengths = np.random.default_rng(0), 0, np.zeros(3), np.zeros(3, int)
    for _ in range(150):
        actions = np.array([lots.choice(np.flatnonzero(mask)) for mask in get_action_masks(batch)])
        seen, rewards, dones, infos = batch.step(actions)
        for lane, env in enumerate(singles):
            own, reward, terminated, truncated, info = env.step(actions[lane])
            returns[lane] += float(reward)
            lengths[lane] += 1
            assert rewards[lane] == pytest.approx(float(reward), rel=1e-6)
            assert dones[lane] == (terminated or truncated)
            if dones[lane]:
                ends += 1
                for name, part in own.items():
                    assert (infos[lane]["terminal_observation"][name] == part).all()
                assert infos[lane]["metrics"] == info["metrics"]
                assert infos[lane]["TimeLimit.truncated"] == truncated
                assert infos[lane]["episode"]["r"] == pytest.approx(returns[lane])
                assert infos[lane]["episode"]["l"] == lengths[lane]
                returns[lane], lengths[lane] = 0.0, 0
                own = env.reset()[0]
            assert infos[lane]["reward_raw"] == info["reward_raw"]
            assert_equal(seen, lane, own)
    assert ends > 3


def assert_equal(batch: dict[str, Any], lane: int, single: dict[str, Any]) -> None:
    for name, part in single.items():
        assert (batch[name][lane] == part).all(), name


def test_masks_reach_sb3_contrib(parts: tuple[Any, Any]) -> None:
    batch = GpuClusterVecEnv(*parts, 2, OPTIONS)
    batch.reset()
    assert is_masking_supported(batch)
    assert (get_action_masks(batch) == batch.batch.action_masks()).all()
    assert [mask.tolist() for mask in batch.env_method("action_masks", indices=[1])] == [
        batch.batch.action_masks()[1].tolist()
    ]


def test_what_a_batch_has_not_is_refused(parts: tuple[Any, Any]) -> None:
    batch = GpuClusterVecEnv(*parts, 2, OPTIONS)
    with pytest.raises(AttributeError, match="legal: action_masks"):
        batch.env_method("close")
    with pytest.raises(AttributeError, match="cannot be set"):
        batch.set_attr("options", None)
    assert batch.get_attr("num_envs") == [2, 2]
    assert batch.env_is_wrapped(GpuClusterVecEnv) == [False, False]


def test_worlds_can_be_asked_for(parts: tuple[Any, Any]) -> None:
    batch = GpuClusterVecEnv(*parts, 2, OPTIONS)
    batch.seed(0)
    batch.set_options({"world": 2})
    batch.reset()
    assert [info["world"] for info in batch.reset_infos] == [2, 2]
    batch.set_options([{"world": 1}, {}])
    batch.reset()
    assert batch.reset_infos[0]["world"] == 1
    for options, says in (
        ({"wrld": 1}, "reset option 'wrld'; did you mean world"),
        ({"world": 4}, "world of lane 0 = 4; legal: a whole number, 0 to 3"),
        ([{}], "1 reset options; legal: one dictionary, or one for each lane"),
    ):
        with pytest.raises(InputError, match=says):
            batch.set_options(options)


@pytest.mark.parametrize("seed", [-1, 1.5, True])
def test_what_is_no_seed_is_refused_at_once(parts: tuple[Any, Any], seed: Any) -> None:
    with pytest.raises(InputError, match="seed = "):
        GpuClusterVecEnv(*parts, 2, OPTIONS).seed(seed)


def test_names_are_refused_with_the_way_to_an_object(parts: tuple[Any, Any]) -> None:
    with pytest.raises(InputError, match="base = 'pal'; legal: a policy object"):
        GpuClusterVecEnv(parts[0], "pal", 2)  # type: ignore[arg-type]
