"""Rewards minus the value of the time that passed, for learners that discount by decisions instead of time.

Decisions of the serverless platform are not evenly spaced. A learner that discounts every decision equally prefers
fewer decisions per second: it fills the platform so that there are no visits, and every hit seems near. Subtracting the
mean reward per second times the seconds that passed removes that advantage (average reward: Mahadevan 1996). Over a
window of fixed length it subtracts the same from every policy, so the best policy stays the best.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from stable_baselines3.common.vec_env import VecEnv, VecEnvWrapper

from ...scenarios.checks import check_number

MS_PER_S = 1000.0


class TimeBaseline(VecEnvWrapper):
    """Lanes whose rewards are `reward - rate * seconds`; `rate` is the recent mean reward per second."""

    def __init__(self, lanes: VecEnv, memory: float = 0.998) -> None:
        """Wrap `lanes`; `memory` in [0, 1] is the weight of the past after each step. Raises `InputError`."""
        check_number("memory", memory, 0, 1)
        super().__init__(lanes)
        self.memory, self.reward, self.seconds = memory, 0.0, 0.0

    @property
    def rate(self) -> float:
        """Recent mean reward per second."""
        return self.reward / self.seconds if self.seconds > 0 else 0.0

    def reset(self) -> Any:
        """Reset the lanes, but keep the rate."""
        return self.venv.reset()

    def step_wait(self) -> tuple[Any, NDArray[Any], NDArray[Any], list[dict[str, Any]]]:
        """Return the result of a step of all lanes; `infos` and episode statistics keep the original rewards."""
        seen, rewards, dones, infos = self.venv.step_wait()
        seconds = np.array([info["elapsed_ms"] for info in infos]) / MS_PER_S
        self.reward = self.memory * self.reward + float(rewards.sum())
        self.seconds = self.memory * self.seconds + float(seconds.sum())
        return seen, (rewards - self.rate * seconds).astype(np.float32), dones, infos
