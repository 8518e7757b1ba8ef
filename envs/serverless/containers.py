"""Containers that no task uses: warm, under preparation, or removed after their keep-alive time."""

from __future__ import annotations

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

from .state import EMPTY, NEVER


def is_kept(stamp: jax.Array, now: jax.Array, keep_alive: jax.Array) -> jax.Array:
    """Whether a container is idle or under preparation, and not yet removed."""
    return stamp > now - keep_alive


def is_warm(stamp: jax.Array, now: jax.Array, keep_alive: jax.Array) -> jax.Array:
    """Whether a container is ready to run a task."""
    return is_kept(stamp, now, keep_alive) & (stamp <= now)


def stamps_of(stamp: jax.Array, invoker: jax.Array, function: jax.Array) -> jax.Array:
    """Return the stamps of one function's containers on one invoker [N]."""
    return lax.dynamic_slice(stamp, (invoker, function, np.int32(0)), (1, 1, stamp.shape[2]))[0, 0]


def put(stamp: jax.Array, invoker: jax.Array, function: jax.Array, tick: jax.Array, wanted: jax.Array) -> jax.Array:
    """Add a container stamped `tick` if `wanted`, in an empty place, else in that with the oldest stamp."""
    row = stamps_of(stamp, invoker, function)
    place = jnp.arange(row.shape[0], dtype=jnp.int32) == jnp.argmin(row).astype(jnp.int32)
    return _write(stamp, jnp.where(wanted & place, tick, row), invoker, function)


def take(
    stamp: jax.Array,
    invoker: jax.Array,
    function: jax.Array,
    now: jax.Array,
    keep_alive: jax.Array,
    wanted: jax.Array,
) -> jax.Array:
    """Remove the most recently used warm container, if `wanted` and there is one."""
    row = stamps_of(stamp, invoker, function)
    usable = jnp.where(is_warm(row, now, keep_alive), row, EMPTY)
    best = jnp.max(usable)
    place = (jnp.arange(row.shape[0], dtype=jnp.int32) == jnp.argmax(usable).astype(jnp.int32)) & (best > EMPTY)
    return _write(stamp, jnp.where(wanted & place, EMPTY, row), invoker, function)


def next_ready(stamp: jax.Array, now: jax.Array) -> jax.Array:
    """Return the first tick after `now` at which a container becomes ready."""
    return jnp.min(jnp.where(stamp > now, stamp, NEVER))


def _write(stamp: jax.Array, row: jax.Array, invoker: jax.Array, function: jax.Array) -> jax.Array:
    return lax.dynamic_update_slice(stamp, row[None, None], (invoker, function, np.int32(0)))
