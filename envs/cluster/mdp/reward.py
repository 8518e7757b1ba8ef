"""Rewards: the cost of a step. Each is minus the change of a quantity, so an episode's rewards sum to minus a metric.

`jct`: seconds that tracked jobs spent in the system, including the wait before their first round; sums to -sum(JCT).
`slowdown`: the same in units of each job's ideal run time; sums to -sum(JCT / work_s).
`makespan`: seconds since the first tracked arrival; sums to -makespan.
`ftf`: finish-time fairness of tracked jobs up to now; sums to -sum(JCT / (work_s x contention)), see `fairness`.
A truncated job counts up to the horizon. Only `ftf` can be positive: when jobs arrive, the fair share gets smaller.
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
    """The quantity that the reward charges for."""

    JCT = "jct"
    SLOWDOWN = "slowdown"
    MAKESPAN = "makespan"
    FTF = "ftf"


def raw_reward(kind: RewardKind, world: World, state: State, paid: jax.Array) -> tuple[jax.Array, jax.Array]:
    """Return (minus the cost since the last step, the new `paid` [], which starts at 0)."""
    if kind is RewardKind.JCT:
        return -state.flow[0], paid
    if kind is RewardKind.SLOWDOWN:
        return -state.flow[1], paid
    cost = fairness_sum(world, state) if kind is RewardKind.FTF else _elapsed_s(world, state)
    return paid - cost, cost


def _elapsed_s(world: World, state: State) -> jax.Array:
    return jnp.maximum(state.round * world.round_s - world.first_arrival_s, 0.0)


def reward_scale(kind: RewardKind, scenario: ClusterScenario) -> float:
    """Return the constant that divides a bank's rewards: the cost of its first world if no job ever waited.

    For `ftf` it is the cost if every job had its fair share.
    """
    jobs = scenario.jobs
    if kind is RewardKind.JCT:
        return float(jobs.work_s[jobs.tracked].sum())
    if kind in {RewardKind.SLOWDOWN, RewardKind.FTF}:
        return float(jobs.tracked.sum())
    span_s = np.ptp(jobs.arrival_s[jobs.tracked])
    return float(max((jobs.work_s * jobs.demand)[jobs.tracked].sum() / scenario.gpus, span_s, scenario.round_s))
