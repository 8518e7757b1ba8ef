"""Rewards: what a step costs. All are minus the change of a quantity, and sum to minus a metric.

`jct`: seconds that tracked jobs spent in the system, waiting before their first round included; sums to -sum(JCT).
`slowdown`: the same in units of each job's ideal run time; sums to -sum(JCT / work_s).
`makespan`: seconds since the first tracked arrival; sums to -makespan.
`ftf`: finish-time fairness of tracked jobs as they stand; sums to -sum(JCT / (work_s x contention)), see `fairness`.
A truncated job counts up to the horizon. `ftf` alone can be positive: when jobs arrive, a fair share gets smaller.
"""

from __future__ import annotations

from enum import StrEnum

import jax
import jax.numpy as jnp
import numpy as np

from ....scenarios.cluster.scenario import ClusterScenario
from ..fairness import fairness_sum
from ..state import State, World


class RewardKind(StrEnum):
    """What is charged."""

    JCT = "jct"
    SLOWDOWN = "slowdown"
    MAKESPAN = "makespan"
    FTF = "ftf"


def raw_reward(kind: RewardKind, world: World, state: State, paid: jax.Array) -> tuple[jax.Array, jax.Array]:
    """(minus what has come up since the last step, what is `paid` [] from now on; 0 at first)."""
    if kind is RewardKind.JCT:
        return -state.flow[0], paid
    if kind is RewardKind.SLOWDOWN:
        return -state.flow[1], paid
    cost = fairness_sum(world, state) if kind is RewardKind.FTF else _elapsed_s(world, state)
    return paid - cost, cost


def _elapsed_s(world: World, state: State) -> jax.Array:
    return jnp.maximum(state.round * world.round_s - world.first_arrival_s, 0.0)


def reward_scale(kind: RewardKind, scenario: ClusterScenario) -> float:
    """The constant that rewards of a bank are divided by: what its first world would cost if no job ever waited.

    For `ftf`: what it would cost if every job had its fair share.
    """
    jobs = scenario.jobs
    if kind is RewardKind.JCT:
        return float(jobs.work_s[jobs.tracked].sum())
    if kind in {RewardKind.SLOWDOWN, RewardKind.FTF}:
        return float(jobs.tracked.sum())
    span_s = np.ptp(jobs.arrival_s[jobs.tracked])
    return float(max((jobs.work_s * jobs.demand)[jobs.tracked].sum() / scenario.gpus, span_s, scenario.round_s))
