"""Rewards in units of what an expert gets in the same world, so that easy and hard worlds weigh the same.

In a cluster an episode under the expert sums to -1 in every world. On the serverless platform rewards are divided by
the requests that count, so that serving all of them in time sums to +1, less their price.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from stable_baselines3.common.vec_env import VecEnvWrapper

from ...envs.cluster.bank import Bank
from ...envs.cluster.episode import run_episodes
from ...envs.cluster.mdp.reward import RewardKind
from ...envs.cluster.record import make_record
from ...envs.kind import Kind
from ...scenarios.errors import InputError
from ..task import Classroom
from ..vec_env import SchedulingVecEnv


class AgainstExpert(VecEnvWrapper):
    """Lanes whose rewards are raw rewards over `units` [M] of the world that they were earned in."""

    def __init__(self, lanes: SchedulingVecEnv, units: NDArray[np.float64]) -> None:
        """Wrap `lanes` over a bank of M worlds."""
        super().__init__(lanes)
        self.units = units

    def reset(self) -> Any:
        """Reset the lanes."""
        return self.venv.reset()

    def step_wait(self) -> tuple[Any, NDArray[Any], NDArray[Any], list[dict[str, Any]]]:
        """A step of all lanes; `infos` and episode statistics keep rewards as the environment gives them."""
        seen, _, dones, infos = self.venv.step_wait()
        rewards = np.array([info["reward_raw"] / self.units[info["world"]] for info in infos], np.float32)
        return seen, rewards, dones, infos


def units_of(room: Classroom, kind: Kind) -> NDArray[np.float64]:
    """What rewards of every world [M] of `kind` are divided by. Raises `InputError` for rewards other than JCT."""
    if not isinstance(kind.bank, Bank):
        return np.array([float(scenario.requests.counted.sum()) for scenario in kind.bank.scenarios])
    if (reward := getattr(kind.options, "reward", None)) is not RewardKind.JCT:
        raise InputError(f"reward = '{reward}'; legal for ppo: jct")
    teacher, worlds = room.teacher, kind.bank.scenarios
    seeds = list(range(len(worlds)))
    outcomes = run_episodes(kind.bank, teacher.program, teacher.bind(kind.bank), teacher.clairvoyant, seeds)
    records = [make_record(w, teacher.name, s, o) for w, s, o in zip(worlds, seeds, outcomes, strict=True)]
    return np.array([float(record.jobs.jct_s.sum()) for record in records])
