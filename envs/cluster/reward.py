"""Rewards: what a step costs. All are minus a quantity that grows with time, and sum to minus a metric.

`jct`: seconds that tracked jobs spent in the system, waiting before their first round included; sums to -sum(JCT).
`slowdown`: the same in units of each job's ideal run time; sums to -sum(JCT / work_s).
`makespan`: seconds since the first tracked arrival; sums to -makespan. A truncated job counts up to the horizon.
"""

from __future__ import annotations

from enum import StrEnum

import jax
import jax.numpy as jnp
import numpy as np

from ...scenarios.types import ClusterScenario
from .state import State, World


class RewardKind(StrEnum):
    """What is charged."""

    JCT = "jct"
    SLOWDOWN = "slowdown"
    MAKESPAN = "makespan"


def raw_reward(kind: RewardKind, world: World, state: State, paid_round: jax.Array) -> jax.Array:
    """Minus what has come up since the last step; `paid_round` [] int32 is the round that was paid up to (-1: none)."""
    if kind is RewardKind.JCT:
        return -state.flow[0]
    if kind is RewardKind.SLOWDOWN:
        return -state.flow[1]
    now_s = state.round * world.round_s
    paid_s = jnp.maximum(paid_round * world.round_s, world.first_arrival_s)
    return -jnp.maximum(now_s - paid_s, 0.0)


def reward_scale(kind: RewardKind, scenario: ClusterScenario) -> float:
    """The constant that rewards of a bank are divided by: what its first world would cost if no job ever waited."""
    jobs = scenario.jobs
    if kind is RewardKind.JCT:
        return float(jobs.work_s[jobs.tracked].sum())
    if kind is RewardKind.SLOWDOWN:
        return float(jobs.tracked.sum())
    span_s = np.ptp(jobs.arrival_s[jobs.tracked])
    return float(max((jobs.work_s * jobs.demand)[jobs.tracked].sum() / scenario.gpus, span_s, scenario.round_s))
