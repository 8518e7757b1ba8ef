"""What the passing of time is worth comes off the rewards, and off nothing else."""

from __future__ import annotations

import numpy as np
import pytest
from serverless_small import make
from varigym import InputError
from varigym.agents.recipes.time_baseline import TimeBaseline
from varigym.agents.vec_env import SchedulingVecEnv


def test_rewards_are_less_the_mean_rate_times_the_time() -> None:
    plain, wrapped = (SchedulingVecEnv(make(0).kind, 2) for _ in range(2))
    baseline, rng = TimeBaseline(wrapped, memory=1.0), np.random.default_rng(0)
    for env in (plain, baseline):
        env.seed(0)
        env.reset()
    earned = spent_s = 0.0
    corrected = 0
    for _ in range(60):
        actions = np.array([rng.choice(np.flatnonzero(mask)) for mask in plain.batch.action_masks()])
        _, rewards, dones, infos = plain.step(actions)
        _, less, ends, _ = baseline.step(actions)
        seconds = np.array([info["elapsed_ms"] for info in infos]) / 1000
        earned, spent_s = earned + float(rewards.sum()), spent_s + float(seconds.sum())
        rate = earned / spent_s if spent_s else 0.0
        np.testing.assert_allclose(less, rewards - rate * seconds, atol=1e-4)
        assert dones.tolist() == ends.tolist()
        corrected += int((less != rewards).any())
    assert corrected > 5


def test_a_memory_that_is_no_share_is_refused() -> None:
    with pytest.raises(InputError, match="memory"):
        TimeBaseline(SchedulingVecEnv(make(0).kind, 2), memory=1.5)
