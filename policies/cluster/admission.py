"""Admission: which active jobs run in the next round, decided by counting GPUs only.

A gang can be placed exactly if enough GPUs are free, whichever the placement, so the jobs to run are chosen before
their GPUs. All arrays are in scheduling order [A]: position 0 is the first job of the order.
"""

from __future__ import annotations

import jax
import jax.numpy as jnp
from jax import lax

from ...envs.core import pytree

ALWAYS_FREE = -1
"""Release position of a GPU that was free when the walk began."""


@pytree
class Admission:
    """Which jobs keep their gangs, which are placed anew, and when the GPUs of stopped gangs become free."""

    kept: jax.Array  # [A] bool, the job keeps its gang
    placed: jax.Array  # [A] bool, the job gets a new gang
    released_at: jax.Array  # [A] int32, position of the job for which the gang was stopped; A if it is kept


@pytree
class _Walk:
    position: jax.Array  # [] int32, next position to look at
    free: jax.Array  # [] int32 GPUs
    cut: jax.Array  # [] int32, gangs at or after this position have been stopped
    stop: jax.Array  # [] bool
    placed: jax.Array  # [A] bool
    released_at: jax.Array  # [A] int32


def admit(
    demand: jax.Array, running: jax.Array, gpus: int | jax.Array, sticky: jax.Array, backfill: jax.Array
) -> Admission:
    """Admit jobs of `demand` [A] (0 = no job), of which `running` [A] hold gangs, to `gpus` GPUs.

    Without `backfill` the walk ends at the first job that cannot be placed; with it, the walk skips that job.
    With `sticky`, a running gang stays unless a job ahead of it needs its GPUs; the last gang in the order goes first.
    """
    return lax.cond(sticky | backfill, _walk, _prefix, demand, running & sticky, gpus, backfill)


def _prefix(demand: jax.Array, running: jax.Array, gpus: jax.Array, backfill: jax.Array) -> Admission:
    placed = (demand > 0) & (jnp.cumsum(demand) <= gpus)
    return Admission(
        kept=jnp.zeros_like(placed), placed=placed, released_at=jnp.full(demand.shape, ALWAYS_FREE, jnp.int32)
    )


def _walk(demand: jax.Array, running: jax.Array, gpus: jax.Array, backfill: jax.Array) -> Admission:
    capacity = demand.shape[0]
    position = jnp.arange(capacity, dtype=jnp.int32)
    held = jnp.where(running, demand, 0)
    behind = jnp.concatenate([jnp.cumsum(held[::-1])[::-1], jnp.zeros(1, held.dtype)])  # [A+1] GPUs held from here on

    def step(walk: _Walk) -> _Walk:
        waiting = (demand > 0) & (~running | (position >= walk.cut)) & (position >= walk.position)
        waiting &= ~backfill | (demand <= walk.free)
        at = jnp.min(jnp.where(waiting, position, capacity))
        here = jnp.minimum(at, capacity - 1)
        missing = demand[here] - walk.free
        freed = behind[:-1] - behind[walk.cut]  # [A] GPUs gained by stopping every gang from here to the cut
        enough = (position > at) & (position < walk.cut) & (freed >= missing)
        cut = jnp.where(missing > 0, jnp.max(jnp.where(enough, position, at + 1)), walk.cut)
        cut = jnp.minimum(cut, walk.cut)
        gained = behind[cut] - behind[walk.cut]
        fits = (at < capacity) & (missing <= gained)
        stopped = running & (position >= cut) & (position < walk.cut) & (at < capacity)
        return _Walk(
            position=at + 1,
            free=walk.free + gained - jnp.where(fits, demand[here], 0),
            cut=jnp.where(at < capacity, cut, walk.cut),
            stop=~fits,
            placed=walk.placed | (fits & (position == at)),
            released_at=jnp.where(stopped, at, walk.released_at),
        )

    start = _Walk(
        position=jnp.int32(0),
        free=jnp.int32(gpus) - behind[0],
        cut=jnp.int32(capacity),
        stop=jnp.bool_(False),
        placed=jnp.zeros(capacity, bool),
        released_at=jnp.full(capacity, capacity, jnp.int32),
    )
    end = lax.while_loop(lambda walk: ~walk.stop, step, start)
    kept = running & (end.released_at == capacity)
    released_at = jnp.where(running, end.released_at, ALWAYS_FREE)
    return Admission(kept=kept, placed=end.placed, released_at=released_at)
