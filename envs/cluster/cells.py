"""Which cells (within or across nodes, bin v) are legal for a gang, and the gang that each stands for.

A cell names the gang's worst bin *exactly*. `within`: of the nodes whose n-th fastest free GPU is of bin v the one with
most free GPUs of bin <= v. `across`: PM-First's gang where v is its worst bin; for a larger v the n slowest GPUs of
bin <= v, which spares the fast ones. Cells that give the same gang twice are not legal twice: `within` stays.
"""

from __future__ import annotations

import jax
import jax.numpy as jnp
from jax import lax

from .allocation import fastest_bins, node_bottlenecks, one_node
from .state import Profile


def gang_of(profile: Profile, app_class: jax.Array, free: jax.Array, n: jax.Array, cell: jax.Array) -> jax.Array:
    """GPUs [N, P] of cell `v` (within) or `V + v` (across) for one job; the cell must be legal."""
    level, bins = profile.level[app_class], profile.value.shape[1]
    v = cell % bins
    return lax.cond(
        cell < bins,
        lambda: one_node(level, v, node_bottlenecks(level, bins, free, n), free, n),
        lambda: _across(level, bins, free, n, v),
    )


def legal_cells(profile: Profile, app_class: jax.Array, demand: jax.Array, free: jax.Array) -> jax.Array:
    """Legal cells [W, 2V] of W jobs (class [W], demand [W], 0 = no job): V within, then V across."""
    places, bins = free.shape[1], profile.value.shape[1]
    counts = jnp.sum(
        free[None, None] & (profile.level[:, None] <= jnp.arange(bins)[None, :, None, None]), axis=3, dtype=jnp.int32
    )  # [C, V, N] free GPUs of bin <= v
    up_to = counts[app_class]  # [W, V, N]
    below = _shift(up_to)
    total, total_below = jnp.sum(up_to, axis=2), jnp.sum(below, axis=2)
    n = demand[:, None]
    bottleneck = (up_to >= n[:, :, None]) & (below < n[:, :, None])
    within = jnp.any(bottleneck, axis=2) & (n > 1) & (n <= places)
    across = (total >= n) & (total > total_below) & (n > 0)
    narrow = jnp.any(within & across, axis=1)
    same = _same_gangs(profile, app_class, demand, free, narrow)
    return jnp.concatenate([within, across & ~(within & same)], axis=1)


def _across(level: jax.Array, bins: int, free: jax.Array, n: jax.Array, v: jax.Array) -> jax.Array:
    fastest, bottleneck = fastest_bins(level, bins, free, n)
    usable = free & (level <= v)
    slowest, _ = fastest_bins(jnp.where(usable, v - level, bins), bins, usable, n)
    return jnp.where(v == bottleneck, fastest, slowest)


def _same_gangs(
    profile: Profile, app_class: jax.Array, demand: jax.Array, free: jax.Array, asked: jax.Array
) -> jax.Array:
    """Whether the within gang and the across gang of a bin are one [W, V], for the jobs that are asked about [W].

    Few pairs of class and demand occur in a window, and only gangs that fit a node are asked about, so each such pair
    is worked out once, by making both gangs.
    """
    jobs, bins = app_class.shape[0], profile.value.shape[1]
    row, v = jnp.arange(jobs, dtype=jnp.int32), jnp.arange(bins, dtype=jnp.int32)
    twin = (app_class[:, None] == app_class[None, :]) & (demand[:, None] == demand[None, :])
    first = jnp.min(jnp.where(twin, row[None, :], jobs), axis=1)
    todo = asked & (first == row)
    rows = jnp.full(jobs, jobs, jnp.int32).at[jnp.where(todo, jnp.cumsum(todo) - 1, jobs)].set(row, mode="drop")

    def work_out(i: jax.Array, found: jax.Array) -> jax.Array:
        n, level = demand[rows[i]], profile.level[app_class[rows[i]]]
        bottlenecks = node_bottlenecks(level, bins, free, n)
        within = jax.vmap(lambda worst: one_node(level, worst, bottlenecks, free, n))(v)
        across = jax.vmap(lambda worst: _across(level, bins, free, n, worst))(v)
        return found.at[rows[i]].set(jnp.all(within == across, axis=(1, 2)))

    found = lax.fori_loop(0, jnp.sum(todo, dtype=jnp.int32), work_out, jnp.zeros((jobs, bins), bool))
    return found[first]


def _shift(values: jax.Array) -> jax.Array:
    """Values of the next lower bin (axis 1), 0 below the lowest."""
    return jnp.concatenate([jnp.zeros_like(values[:, :1]), values[:, :-1]], axis=1)
