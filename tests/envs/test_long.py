"""Long runs: thousands of episodes leave memory flat, and no sequence of actions crashes or hangs."""

from __future__ import annotations

import resource
from itertools import product

import gymnasium as gym
import numpy as np
import pytest
import varigym
from varigym.envs.cluster.bank import make_bank
from varigym.envs.cluster.mdp.faces import GpuClusterEnv, GpuClusterVectorEnv
from varigym.envs.cluster.mdp.options import EnvOptions
from worlds import SmallJob, small_scenario

WORLDS = [small_scenario([SmallJob(37 * k, 1 + (k + w) % 9, 60 + 50 * k, k % 2) for k in range(4)]) for w in range(3)]


@pytest.mark.slow
def test_ten_thousand_episodes_leave_memory_flat() -> None:
    env = GpuClusterVectorEnv(
        make_bank(WORLDS), varigym.find_policy("fifo+pal"), 64, EnvOptions(window=4), gym.vector.AutoresetMode.SAME_STEP
    )
    env.reset(seed=0)
    lots, ended, after_start = np.random.default_rng(0), 0, 0
    while ended < 10_000:
        masks = env.action_masks()
        _, _, terminated, truncated, _ = env.step((masks * lots.random(masks.shape)).argmax(axis=1))
        ended += int((terminated | truncated).sum())
        if not after_start and ended > 1000:
            after_start = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    grown_mb = (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - after_start) / 1024
    assert grown_mb < 20


@pytest.mark.slow
@pytest.mark.parametrize(
    ("mode", "every", "illegal", "masked"),
    [
        (mode, every, illegal, masked)
        for k, (mode, every, illegal, masked) in enumerate(
            product(("cell", "select"), (0, 1, 10), ("noop", "penalty"), (True, False))
        )
        if k % 2 == (k // 4) % 2  # every pair of values occurs
    ],
)
def test_ten_thousand_random_actions_never_crash_or_hang(mode: str, every: int, illegal: str, masked: bool) -> None:
    options = EnvOptions(window=4, action_mode=mode, decide_every=every, illegal_action=illegal)  # type: ignore[arg-type]
    env = GpuClusterEnv(make_bank(WORLDS), varigym.find_policy("las-2d+pal+backfill"), options)
    lots, over = np.random.default_rng(0), True
    for _ in range(10_000):
        if over:
            observation, _ = env.reset()
        legal = np.flatnonzero(env.action_masks()) if masked else np.arange(env.action_space.n)
        observation, reward, terminated, truncated, _ = env.step(int(lots.choice(legal)))
        assert env.observation_space.contains(observation)
        assert np.isfinite(float(reward))
        over = terminated or truncated
