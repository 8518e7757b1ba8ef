"""The faces on a world of nothing but the contract: a counter, without data, drafts or floats in its state."""

from __future__ import annotations

import pickle
from dataclasses import dataclass, field
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from gymnasium.vector import AutoresetMode
from varigym import InputError
from varigym.agents.vec_env import SchedulingVecEnv
from varigym.envs.core import pytree
from varigym.envs.faces.gym import SchedulingEnv
from varigym.envs.faces.vector import SchedulingVectorEnv
from varigym.envs.options import IllegalAction
from varigym.envs.process import Column, EveryActionTakesTime, Step


@pytree
class Goal:
    length: jax.Array  # [] int32, the walk ends here
    gift: jax.Array  # [3] float32, what a step of each kind earns beside its length


@dataclass(frozen=True)
class Walk(EveryActionTakesTime):
    """Actions 1 and 2 walk as far, 0 is never legal and counts as 1; overflows at 9."""

    actions: int = 3

    @property
    def sizes(self) -> dict[str, int]:
        return {"place": 2, "nothing": 0}

    @property
    def columns(self) -> tuple[Column, ...]:
        return Column("walked", int), Column("way", int, term=True), Column("gift", float, term=True)

    def reset(self, world: Any, data: Any, key: jax.Array) -> jax.Array:
        return jnp.int32(0)

    def step(self, world: Any, data: Any, state: Any, action: jax.Array, mask: jax.Array) -> Any:
        illegal = ~mask[jnp.clip(action, 0, 2)]
        way = jnp.where(illegal, 1, action)
        state = state + way
        gift = world.gift[way]
        over = state >= world.length
        step = Step(way + gift, over, jnp.bool_(False), illegal, (way, way, gift))
        return state, step

    def observe(self, world: Any, data: Any, state: Any) -> Any:
        place = jnp.stack([state, world.length]).astype(jnp.float32) / 10
        return {"place": place, "nothing": jnp.zeros(0, jnp.float32)}, jnp.array([False, True, True])

    def clock(self, world: Any, state: Any) -> Any:
        return state * 2.5, state >= 9

    def is_over(self, world: Any, state: Any) -> Any:
        return state >= world.length


@dataclass(frozen=True)
class Walks:
    scenarios: tuple[int, ...] = (3, 5, 20)

    @property
    def worlds(self) -> Goal:
        gifts = jnp.tile(jnp.array([0.0, 0.5, 0.25], jnp.float32), (3, 1))
        return Goal(jnp.array(self.scenarios, jnp.int32), gifts)

    def __len__(self) -> int:
        return len(self.scenarios)


@dataclass(frozen=True)
class Options:
    illegal_action: IllegalAction = IllegalAction.PENALTY
    illegal_penalty: float = 4.0


@dataclass(frozen=True)
class WalkKind:
    bank: Walks = Walks()
    process: Walk = Walk()
    options: Options = Options()
    data: tuple[()] = ()
    reward_scale: float = 2.0
    fingerprint: str = "walk"
    advice: str = "walk less"
    idle: str = "way 1"
    words: tuple[str, ...] = field(default=("STAY", "WALK", "RUN"))

    def describe(self, action: int) -> str:
        return self.words[action]

    def record(self, state: Any, world: int, seed: int) -> tuple[int, int]:
        return int(state), world

    def metrics(self, record: tuple[int, int]) -> dict[str, float]:
        return {"end": float(record[0])}

    def render(self, state: Any, world: int) -> str:
        return "." * int(state)


def test_one_episode() -> None:
    env = SchedulingEnv(WalkKind(), "ansi")
    obs, info = env.reset(seed=0, options={"world": 1})
    assert env.observation_space.contains(obs)
    assert info["reward_terms"] == {"way": 0, "gift": 0.0}
    _, reward, *_, info = env.step(2)
    assert reward == 2.25 / 2
    assert (info["walked"], info["reward_terms"], info["time_s"]) == (2, {"way": 2, "gift": 0.25}, 5.0)
    assert env.render() == ".."
    twin = pickle.loads(pickle.dumps(env))
    for each in (env, twin):
        obs, reward, terminated, _, info = each.step(0)
        assert (reward, terminated, info["illegal"]) == (1.5 / 2 - 4.0, False, True)
        assert obs["place"].tolist() == pytest.approx([0.3, 0.5])
        *_, terminated, _, info = each.step(2)
        assert terminated
        assert info["metrics"] == {"end": 5.0, "illegal_actions": 1.0}


def test_room_that_ran_out() -> None:
    env = SchedulingEnv(WalkKind())
    env.reset(seed=0, options={"world": 2})
    for _ in range(4):
        env.step(2)
    with pytest.raises(InputError, match="walk less"):
        env.step(2)
    with pytest.raises(InputError, match="reset"):
        env.step(2)


@pytest.mark.parametrize("lanes", [3, 16])
def test_a_batch(lanes: int) -> None:
    env = SchedulingVectorEnv(WalkKind(), lanes, AutoresetMode.SAME_STEP)
    env.reset(seed=0, options={"worlds": [0, 1, *[1] * (lanes - 2)]})
    _, reward, terminated, _, info = env.step(np.array([2, 1, *[2] * (lanes - 2)]))
    assert reward[:3].tolist() == [1.125, 0.75, 1.125]
    assert not terminated.any()
    assert info["reward_terms"]["way"][:3].tolist() == [2, 1, 2]
    assert info["_reward_terms"].all()
    _, _, terminated, _, info = env.step(np.array([2, 1, *[2] * (lanes - 2)]))
    assert terminated.tolist() == [True, *[False] * (lanes - 1)]
    assert info["final_info"]["metrics"]["end"][0] == 4.0


def test_stable_baselines() -> None:
    env = SchedulingVecEnv(WalkKind(), 2)
    env.seed(3)
    env.reset()
    _, _, _, infos = env.step(np.array([1, 2]))
    assert [info["reward_terms"] for info in infos] == [{"way": 1, "gift": 0.5}, {"way": 2, "gift": 0.25}]
