"""Rewards relative to an expert's return in the same world, so that easy and hard worlds have equal weight.

In a cluster the expert's rewards sum to -1 per episode in every world. On the serverless platform rewards are divided
by the number of counted requests, so that serving all of them in time sums to +1, minus their price.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from stable_baselines3.common.vec_env import VecEnvWrapper

from ..vec_env import SchedulingVecEnv


class AgainstExpert(VecEnvWrapper):
    """Lanes whose rewards are the raw rewards divided by the `units` [M] of their world."""

    def __init__(self, lanes: SchedulingVecEnv, units: NDArray[np.float64]) -> None:
        """Wrap `lanes` over a bank of M worlds."""
        super().__init__(lanes)
        self.units = units

    def reset(self) -> Any:
        """Reset the lanes."""
        return self.venv.reset()

    def step_wait(self) -> tuple[Any, NDArray[Any], NDArray[Any], list[dict[str, Any]]]:
        """Return the result of a step of all lanes; `infos` and episode statistics keep the original rewards."""
        seen, _, dones, infos = self.venv.step_wait()
        rewards = np.array([info["reward_raw"] / self.units[info["world"]] for info in infos], np.float32)
        return seen, rewards, dones, infos
