"""Finish-time fairness: how long a job took, over how long a fair share of the cluster would have needed.

JCT / (work_s x contention): 1 is a fair share, lower is better. The contention of a job is the mean, over the rounds
from its first (the first at or after its arrival, run or not) to its finish, of max(1, GPUs that the active jobs demand
together / GPUs); `work_s x contention` is thus its JCT on 1 / contention of the cluster. Jobs that are not tracked
contend too. The wait before the first round is part of the JCT alone. An unfinished job counts as it stands.

Source: Themis (Mahajan et al., NSDI 2020): shared over independent finish time, the latter the time on the whole
cluster times the mean contention; with gangs contention is counted in GPUs instead of jobs.
"""

from __future__ import annotations

import jax
import jax.numpy as jnp

from ..loops import put
from .state import Contention, State, World


def contended_gpu_rounds(contention: Contention, now: jax.Array) -> jax.Array:
    """Contended GPUs [] int32 summed over the rounds before `now` [] int32."""
    return contention.gpu_rounds + contention.gpus * (now - contention.since)


def recount(contention: Contention, now: jax.Array, demand: jax.Array, gpus: int) -> Contention:
    """The contention from round `now` on, among active jobs that demand `demand` [A] of `gpus` GPUs."""
    asked = jnp.sum(demand, dtype=jnp.int32)
    return Contention(jnp.maximum(asked, gpus), since=now, gpu_rounds=contended_gpu_rounds(contention, now))


def fairness_sum(world: World, state: State) -> jax.Array:
    """Finish-time fairness [] summed over tracked jobs, finished or active for a round at least."""
    slots, ledger = state.slots, state.ledger
    so_far = contended_gpu_rounds(state.contention, state.round) - slots.contended_gpu_rounds
    gpu_rounds = put(ledger.contended_gpu_rounds, slots.job, so_far)
    end_round = jnp.minimum(ledger.finish_round, state.round)
    rounds = end_round - world.arrival_round
    counts = world.tracked & (rounds > 0)
    fair_s = world.iterations * world.iter_s * gpu_rounds / (state.owner.size * jnp.maximum(rounds, 1))
    jct_s = end_round * world.round_s - world.arrival_s
    return jnp.sum(jnp.where(counts, jct_s / jnp.where(counts, fair_s, 1.0), 0.0))
