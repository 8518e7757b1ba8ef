"""Which cells (within or across nodes, bin v) are legal for a gang, and which gang each cell means.

The gang's worst bin is *exactly* the cell's v. `within`: among the nodes whose n-th fastest free GPU is of bin v, the
one with most free GPUs of bin <= v. `across`: PM-First's gang if v is its worst bin; for a larger v the n slowest GPUs
of bin <= v, which spares the fast ones. If both cells of a bin mean the same gang, only `within` is legal.
"""

from __future__ import annotations

import jax
import jax.numpy as jnp
from jax import lax

from ..allocation import node_bottlenecks, one_node, take_first
from ..state import Profile


def gang_of(profile: Profile, app_class: jax.Array, free: jax.Array, n: jax.Array, cell: jax.Array) -> jax.Array:
    """Return the GPUs [N, P] of cell `v` (within) or `V + v` (across) for one job; the cell must be legal."""
    level, bins = profile.level[app_class], profile.value.shape[1]
    v = cell % bins
    return lax.cond(
        cell < bins,
        lambda: one_node(level, v, node_bottlenecks(level, bins, free, n), free, n),
        lambda: _across(level, _reached(level, bins, free), free, n, v),
    )


def legal_cells(profile: Profile, app_class: jax.Array, demand: jax.Array, free: jax.Array) -> jax.Array:
    """Return the legal cells [W, 2V] of W jobs (class [W], demand [W], 0 = no job): V within, then V across."""
    places, bins = free.shape[1], profile.value.shape[1]
    # Each job reads a row of small tables per class: far cheaper than computing the same for every job.
    somewhere = jax.vmap(lambda level: _bottlenecks_found(level, bins, free))(profile.level)  # [C, P, V]
    totals = jax.vmap(lambda level: _reached(level, bins, free))(profile.level)  # [C, V]
    n = demand[:, None]
    total = rows_of(totals, app_class)
    by_demand = rows_of(somewhere.reshape(-1, places * bins), app_class).reshape(-1, places, bins)
    fits = _numbers(places)[None, :, None] + 1 == n[:, :, None]
    within = jnp.any(by_demand & fits, axis=1) & (n > 1)
    across = (total >= n) & (total > _shift(total)) & (n > 0)
    narrow = jnp.any(within & across, axis=1)
    same = _same_gangs(profile, app_class, demand, free, total, narrow)
    return jnp.concatenate([within, across & ~(within & same)], axis=1)


def rows_of(table: jax.Array, which: jax.Array) -> jax.Array:
    """Return `table[which]` [W, K] for a table [C, K] of few rows, by selects: far cheaper on a CPU than a gather."""
    rows = jnp.broadcast_to(table[0], (which.shape[0], table.shape[1]))
    for c in range(1, table.shape[0]):
        rows = jnp.where((which == c)[:, None], table[c][None], rows)
    return rows


def _bottlenecks_found(level: jax.Array, bins: int, free: jax.Array) -> jax.Array:
    """Whether the n-th fastest free GPU of any node is of bin v [P, V], n = 1..P."""
    places = free.shape[1]
    nth = jax.vmap(lambda n: node_bottlenecks(level, bins, free, n))(_numbers(places) + 1)  # [P, N]
    return jnp.any(nth[:, None, :] == _numbers(bins)[None, :, None], axis=2)


def _counts(level: jax.Array, bins: int, free: jax.Array) -> jax.Array:
    """Count the free GPUs of bin <= v in each node [V, N]."""
    in_reach = level[None] <= _numbers(bins)[:, None, None]
    return jnp.sum(free[None] & in_reach, axis=2, dtype=jnp.int32)


def _reached(level: jax.Array, bins: int, free: jax.Array) -> jax.Array:
    """Count the free GPUs of bin <= v in the cluster [V]."""
    return jnp.sum(_counts(level, bins, free), axis=1, dtype=jnp.int32)


def _across(level: jax.Array, total: jax.Array, free: jax.Array, n: jax.Array, v: jax.Array) -> jax.Array:
    """Return the gang [N, P] of the across cell of bin v; `total` [V] counts the cluster's free GPUs of bin <= v.

    One bin, the `cut`, is taken in part, by PM-First's rule for the last bin; the other bins needed are taken whole.
    """
    below = jnp.concatenate([jnp.zeros_like(total[:1]), total[:-1]])
    fastest = below[v] < n
    bins = _numbers(total.shape[0])
    reach = (total[v] - below >= n) & (bins <= v)
    cut = jnp.where(fastest, v, jnp.max(jnp.where(reach, bins, 0)))
    whole = free & jnp.where(fastest, level < v, (level > cut) & (level <= v))
    part = free & (level == cut)
    misfit = jnp.abs(jnp.sum(part, axis=1, dtype=jnp.int32) - n)
    return whole | take_first(part, misfit, n - jnp.sum(whole, dtype=jnp.int32))


def _same_gangs(
    profile: Profile, app_class: jax.Array, demand: jax.Array, free: jax.Array, total: jax.Array, asked: jax.Array
) -> jax.Array:
    """Whether the within gang and the across gang of a bin are the same [W, V], for the jobs in the mask `asked` [W].

    A window has few distinct pairs of class and demand, and `asked` has only gangs that fit a node. So each pair is
    computed once, by making both gangs.
    """
    jobs, bins = app_class.shape[0], profile.value.shape[1]
    row, v = _numbers(jobs), _numbers(bins)
    twin = (app_class[:, None] == app_class[None, :]) & (demand[:, None] == demand[None, :])
    first = jnp.min(jnp.where(twin, row[None, :], jobs), axis=1)
    todo = asked & (first == row)
    target = jnp.where(todo, jnp.cumsum(todo, dtype=jnp.int32) - 1, jobs)
    rows = jnp.full(jobs, jobs, jnp.int32).at[target].set(row, mode="drop")

    def work_out(i: jax.Array, found: jax.Array) -> jax.Array:
        n, level = demand[rows[i]], profile.level[app_class[rows[i]]]
        bottlenecks = node_bottlenecks(level, bins, free, n)
        within = jax.vmap(lambda worst: one_node(level, worst, bottlenecks, free, n))(v)
        across = jax.vmap(lambda worst: _across(level, total[rows[i]], free, n, worst))(v)
        return found.at[rows[i]].set(jnp.all(within == across, axis=(1, 2)))

    found = lax.fori_loop(0, jnp.sum(todo, dtype=jnp.int32), work_out, jnp.zeros((jobs, bins), bool))
    return found[first]


def _numbers(n: int) -> jax.Array:
    """Return 0 to n - 1 in 32 bits: a CPU processes twice as many of these at once as of JAX's 64-bit default."""
    return jnp.arange(n, dtype=jnp.int32)


def _shift(values: jax.Array) -> jax.Array:
    """Return the values of the next lower bin (axis 1); 0 for the lowest bin."""
    return jnp.concatenate([jnp.zeros_like(values[:, :1]), values[:, :-1]], axis=1)
