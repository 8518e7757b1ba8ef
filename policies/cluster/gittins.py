"""Gittins index of attained service, computed from a histogram of the service that finished jobs needed.

For a job of age a, with X the service of finished jobs of the same app class and demand,

    G(a) = max over d > 0 of  P(X - a <= d | X > a) / E[min(X - a, d) | X > a]

(Aalto, Ayesta, Righter 2009; used for GPU clusters by Tiresias, NSDI 2019). Service is counted in GPU-rounds
on a grid of ages, which is exact for short jobs and geometric for longer ones. If a cell has fewer than
`MIN_FINISHED` finished jobs, or a job is older than all of them, the index is 1 / (age + 1). It orders jobs as
`las-2d` does and is the index of a Pareto tail of exponent 1.
"""

from __future__ import annotations

from functools import partial

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax
from numpy.typing import NDArray

from ...envs.cluster.view import View
from ...envs.core import pytree
from ...envs.loops import add

MIN_FINISHED = 5
"""Finished jobs that a (class, demand) cell needs before its history is used."""
GRID = np.unique(np.concatenate([np.arange(1, 17), np.ceil(16 * 1.16 ** np.arange(1, 49))])).astype(np.int32)
"""Upper edges [T] of the service histogram, in rounds scheduled."""


@pytree
class History:
    """Service of finished jobs per (class, demand) cell, in rounds; the last cell is for unknown pairs."""

    cell_class: jax.Array  # [K] int32
    cell_demand: jax.Array  # [K] int32
    finished: jax.Array  # [K, T] jobs that needed at most GRID[t] rounds
    service: jax.Array  # [K, T] sum of their rounds
    seen: jax.Array  # [] int32 finished jobs counted so far
    online: jax.Array  # [] bool, add the jobs that finish during the episode


def gittins_index(view: View, history: History) -> jax.Array:
    """Return the index of each slot [A], in completions per GPU-round."""
    cell, age = cell_of(history, view.app_class, view.demand), view.attained
    finished, service, edges = history.finished.T, history.service.T, jnp.asarray(GRID)
    real = partial(jnp.asarray, dtype=finished.dtype)
    every, none = finished[-1][cell], jnp.zeros(age.shape, finished.dtype)

    def look(t: jax.Array, seen: tuple[jax.Array, jax.Array, jax.Array]) -> tuple[jax.Array, jax.Array, jax.Array]:
        finished_by_age, service_by_age, best = seen
        done, spent_by, young = finished[t][cell], service[t][cell], edges[t] <= age
        finished_by_age = jnp.where(young, done, finished_by_age)
        service_by_age = jnp.where(young, spent_by, service_by_age)
        completions, beyond = done - finished_by_age, every - done
        spent = spent_by - service_by_age - real(age) * completions + beyond * real(edges[t] - age)
        rate = jnp.where(young | (completions <= 0), 0.0, completions / jnp.maximum(spent, 1e-6))
        return finished_by_age, service_by_age, jnp.maximum(best, rate)

    finished_by_age, _, best = lax.fori_loop(0, edges.shape[0], look, (none, none, none))
    known = (every >= MIN_FINISHED) & (every > finished_by_age)
    tail = 1.0 / (real(age * view.demand) + 1.0)
    return jnp.where(known, best / real(jnp.maximum(view.demand, 1)), tail)


def cell_of(history: History, app_class: jax.Array, demand: jax.Array) -> jax.Array:
    """Return the cell of each (class, demand) pair [J]; unknown pairs get the last cell, which is always empty."""
    match = (history.cell_class[None, :] == app_class[:, None]) & (history.cell_demand[None, :] == demand[:, None])
    cells = history.cell_class.shape[0]
    return jnp.min(jnp.where(match, jnp.arange(cells, dtype=jnp.int32)[None, :], cells - 1), axis=1)


def empty_history(pairs: NDArray[np.int32], online: bool) -> History:
    """Return a history without finished jobs for the (class, demand) rows of `pairs` [K-1, 2]."""
    cells = np.concatenate([pairs, [[-1, -1]]]).astype(np.int32)
    blank = jnp.zeros((len(cells), len(GRID)))
    return History(
        cell_class=jnp.asarray(cells[:, 0]),
        cell_demand=jnp.asarray(cells[:, 1]),
        finished=blank,
        service=blank,
        seen=jnp.int32(0),
        online=jnp.bool_(online),
    )


def add_finished(history: History, app_class: jax.Array, demand: jax.Array, rounds: jax.Array) -> History:
    """Add finished jobs to a history: arrays [J] of class, demand and rounds scheduled (0: not finished)."""
    cells, edges = history.finished.shape
    bucket = jnp.minimum(jnp.searchsorted(jnp.asarray(GRID), rounds, method="compare_all"), edges - 1)
    place = jnp.where(rounds > 0, cell_of(history, app_class, demand) * edges + bucket, -1)
    none, value = jnp.zeros(cells * edges, history.finished.dtype), rounds.astype(history.finished.dtype)
    count, total = (table.reshape(cells, edges) for table in add((none, none), place, (jnp.ones_like(value), value)))
    known = jnp.arange(cells, dtype=jnp.int32)[:, None] < cells - 1
    return History(
        cell_class=history.cell_class,
        cell_demand=history.cell_demand,
        finished=jnp.where(known, history.finished + jnp.cumsum(count, axis=1), 0.0),
        service=jnp.where(known, history.service + jnp.cumsum(total, axis=1), 0.0),
        seen=history.seen + jnp.sum(rounds > 0, dtype=jnp.int32),
        online=history.online,
    )
