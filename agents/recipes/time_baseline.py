"""Rewards less what the time that passed is worth: for learners that discount by decisions, not by time.

Decisions of the serverless platform are not evenly spaced. A learner that discounts every decision alike prefers to
have fewer of them per second: it hogs the platform, so that nobody is asked, and every hit seems near. Taking off the
mean reward per second, times the seconds that passed, makes that worth nothing (average reward: Mahadevan 1996). Over a
window of a given length it takes the same off every policy, so the best one stays the best.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from stable_baselines3.common.vec_env import VecEnv, VecEnvWrapper

from ...scenarios.checks import check_number

MS_PER_S = 1000.0


class TimeBaseline(VecEnvWrapper):
    """Lanes whose rewards are `reward - rate * seconds`; `rate` is the mean reward per second of late."""

    def __init__(self, lanes: VecEnv, memory: float = 0.998) -> None:
        """`memory`: how much of the past remains after each step of all lanes. Raises `InputError`."""
        check_number("memory", memory, 0, 1)
        super().__init__(lanes)
        self.memory, self.reward, self.seconds = memory, 0.0, 0.0

    @property
    def rate(self) -> float:
        """Mean reward per second."""
        return self.reward / self.seconds if self.seconds > 0 else 0.0

    def reset(self) -> Any:
        """Reset the lanes; the rate stays."""
        return self.venv.reset()

    def step_wait(self) -> tuple[Any, NDArray[Any], NDArray[Any], list[dict[str, Any]]]:
        """A step of all lanes; `infos` and episode statistics keep the rewards as they were."""
        seen, rewards, dones, infos = self.venv.step_wait()
        seconds = np.array([info["elapsed_ms"] for info in infos]) / MS_PER_S
        self.reward = self.memory * self.reward + float(rewards.sum())
        self.seconds = self.memory * self.seconds + float(seconds.sum())
        return seen, (rewards - self.rate * seconds).astype(np.float32), dones, infos
