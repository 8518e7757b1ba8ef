"""AFW queues: first in, first out; the first jobs of a queue can be read as one slice."""

from __future__ import annotations

from dataclasses import replace

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

from .state import NO_TICKET, Queues


def empty_queues(queues: int, places: int, most: int, predecessors: int) -> Queues:
    """Return Q empty queues of K = `places` each, for batches of at most L = `most` jobs."""
    width = places + 3 * most
    none = jnp.zeros(queues, jnp.int32)
    return Queues(
        request=jnp.full((queues, width), -1, jnp.int32),
        origin=jnp.full((queues, width, predecessors), -1, jnp.int32),
        head=none,
        length=none,
        waiting=jnp.zeros(queues, bool),
        ticket=jnp.full(queues, NO_TICKET, jnp.int32),
        fails=none,
        due=none,
    )


def places_of(queues: Queues, most: int) -> int:
    """Return K, the places of a queue (static)."""
    return queues.request.shape[1] - 3 * most


def has_room(queues: Queues, most: int) -> jax.Array:
    """Whether every queue can take `most` more jobs [] bool."""
    return jnp.max(queues.length) + 2 * most <= places_of(queues, most)


def first_jobs(queues: Queues, queue: jax.Array, most: int) -> tuple[jax.Array, jax.Array]:
    """Return (requests [L+1], origins [L, P]) from the head on; values beyond the length are undefined."""
    start = queues.head[queue] + most
    request = lax.dynamic_slice(queues.request, (queue, start), (1, most + 1))[0]
    origin = lax.dynamic_slice(queues.origin, (queue, start, np.int32(0)), (1, most, queues.origin.shape[2]))[0]
    return request, origin


def push(
    queues: Queues, queue: jax.Array, request: jax.Array, origin: jax.Array, count: jax.Array, due: jax.Array
) -> Queues:
    """Append the first `count` of `request` [L], `origin` [L, P] to `queue`, which stops waiting. Needs `has_room`.

    `due` [] is the deadline of the first of them.
    """
    most = request.shape[0]
    places = places_of(queues, most)
    tail = (queues.head[queue] + queues.length[queue]) % places
    # Both ends of the circular buffer are stored twice: the first L places after the last, the last L before the first.
    # A copy that begins within the first L places extends L places further, where nothing is read.
    copy = jnp.where(tail < most, tail + places, jnp.where(tail > places - most, tail - places, tail))
    here = (jnp.arange(queues.length.shape[0], dtype=jnp.int32) == queue) & (count > 0)

    def write(table: jax.Array, at: jax.Array, rows: jax.Array) -> jax.Array:
        start = (queue, at + most) + (np.int32(0),) * (table.ndim - 2)
        # If no job joins, the present values are written back.
        present = lax.dynamic_slice(table, start, (1, *rows.shape))
        return lax.dynamic_update_slice(table, jnp.where(count > 0, rows[None], present), start)

    return replace(
        queues,
        request=write(write(queues.request, tail, request), copy, request),
        origin=write(write(queues.origin, tail, origin), copy, origin),
        length=jnp.where(here, queues.length + count, queues.length),
        waiting=queues.waiting & ~here,
        due=jnp.where(here & (queues.length == 0), due, queues.due),
    )


def pop(queues: Queues, queue: jax.Array, count: jax.Array, due: jax.Array, most: int) -> Queues:
    """Remove the first `count` jobs from `queue`; `due` [] is the deadline of the job after them."""
    here = jnp.arange(queues.length.shape[0], dtype=jnp.int32) == queue
    return replace(
        queues,
        head=jnp.where(here, (queues.head + count) % places_of(queues, most), queues.head),
        length=jnp.where(here, queues.length - count, queues.length),
        due=jnp.where(here, due, queues.due),
    )


def enlarge(queues: Queues, places: int, most: int) -> Queues:
    """Return the same queues with `places` places each."""
    held = places_of(queues, most)
    at = (queues.head[:, None] + jnp.arange(held, dtype=jnp.int32)[None, :]) % held + most
    fresh = empty_queues(queues.length.shape[0], places, most, queues.origin.shape[2])
    request = jnp.take_along_axis(queues.request, at, axis=1)
    origin = jnp.take_along_axis(queues.origin, at[:, :, None], axis=1)
    return replace(
        queues,
        request=lax.dynamic_update_slice(fresh.request, request, (0, most)),
        origin=lax.dynamic_update_slice(fresh.origin, origin, (0, most, 0)),
        head=jnp.zeros_like(queues.head),
    )
