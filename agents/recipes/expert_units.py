"""Rewards in units of what an expert gets in the same world, so that easy and hard worlds weigh the same.

In a cluster an episode under the expert sums to -1 in every world. On the serverless platform rewards are divided by
the requests that count, so that serving all of them in time sums to +1, less their price.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from stable_baselines3.common.vec_env import VecEnvWrapper

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
