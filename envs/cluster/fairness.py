"""Finish-time fairness: the time a job took, divided by the time it would have needed with a fair share of the cluster.

It is JCT / (work_s x contention): 1 is a fair share, lower is better. A job's contention is the mean of max(1, total
demand of the active jobs / GPUs) over the rounds from the first at or after its arrival, run or not, to its finish.
`work_s x contention` is thus its JCT on 1 / contention of the cluster. Untracked jobs contend too. The wait before the
first round counts in the JCT only. For an unfinished job the values up to now are used.

Source: Themis (Mahajan et al., NSDI 2020): shared finish time over independent finish time, where the independent one
is the time on the whole cluster times the mean contention. Because of gangs, contention counts GPUs instead of jobs.
"""

from __future__ import annotations

import jax
import jax.numpy as jnp

from ..loops import put
from .state import Contention, State, World


def contended_gpu_rounds(contention: Contention, now: jax.Array) -> jax.Array:
    """Sum the contended GPUs [] int32 over the rounds before `now` [] int32."""
    return contention.gpu_rounds + contention.gpus * (now - contention.since)


def recount(contention: Contention, now: jax.Array, demand: jax.Array, gpus: int) -> Contention:
    """Return the contention from round `now` on, if active jobs demand `demand` [A] of `gpus` GPUs."""
    asked = jnp.sum(demand, dtype=jnp.int32)
    return Contention(jnp.maximum(asked, gpus), since=now, gpu_rounds=contended_gpu_rounds(contention, now))


def fairness_sum(world: World, state: State) -> jax.Array:
    """Sum the finish-time fairness [] over tracked jobs that have finished or been active for at least one round."""
    slots, ledger = state.slots, state.ledger
    so_far = contended_gpu_rounds(state.contention, state.round) - slots.contended_gpu_rounds
    gpu_rounds = put(ledger.contended_gpu_rounds, slots.job, so_far)
    end_round = jnp.minimum(ledger.finish_round, state.round)
    rounds = end_round - world.arrival_round
    counts = world.tracked & (rounds > 0)
    fair_s = world.iterations * world.iter_s * gpu_rounds / (state.owner.size * jnp.maximum(rounds, 1))
    jct_s = end_round * world.round_s - world.arrival_s
    return jnp.sum(jnp.where(counts, jct_s / jnp.where(counts, fair_s, 1.0), 0.0))
