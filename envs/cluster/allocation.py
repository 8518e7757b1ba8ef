"""Allocation rules: which of the free GPUs a gang gets. No rule sorts, and each passes over the nodes at most once.

Every rule uses one primitive, "take the first n of these GPUs, nodes in this order", with its own set of GPUs
and its own order. `free` and all results are masks [N, P]; `level` [N, P] is the GPU's bin, 0 = fastest.
"""

from __future__ import annotations

import jax
import jax.numpy as jnp
from jax import lax

from .state import Profile

LAST = 2**30
"""A node key that sorts after all others."""


def take_first(gpus: jax.Array, node_key: jax.Array, n: jax.Array) -> jax.Array:
    """Return the first n GPUs of the mask `gpus`: nodes in the order of (node_key [N], id), GPUs of a node by id."""
    per_node = jnp.sum(gpus, axis=1, dtype=jnp.int32)
    node = jnp.arange(node_key.shape[0], dtype=jnp.int32)
    sooner = (node_key[None, :] < node_key[:, None]) | (
        (node_key[None, :] == node_key[:, None]) & (node[None, :] < node[:, None])
    )
    before = jnp.sum(jnp.where(sooner, per_node[None, :], 0), axis=1, dtype=jnp.int32)
    return gpus & (before[:, None] + _earlier_in_node(gpus) < n)


def packed(free: jax.Array, n: jax.Array) -> jax.Array:
    """Use the fewest nodes: the fullest that fits, else the emptiest nodes first (hal-uw/blox-pal, Default-Packed)."""
    count = jnp.sum(free, axis=1, dtype=jnp.int32)
    fits = count >= n
    node_key = jnp.where(jnp.any(fits), jnp.where(fits, count, LAST), -count)
    return take_first(free, node_key, n)


def fastest_bins(level: jax.Array, bins: int, free: jax.Array, n: jax.Array) -> tuple[jax.Array, jax.Array]:
    """Return PM-First's gang, the n free GPUs of the lowest bins, and the bin of its slowest GPU.

    Within the last bin, nodes are sorted by (|free GPUs of that bin in the node - n|, id), which prefers nodes that
    the gang just fills (hal-uw/blox-pal, PM-First).
    """
    in_reach = level[None] <= jnp.arange(bins, dtype=jnp.int32)[:, None, None]
    up_to = jnp.sum(in_reach & free[None], axis=(1, 2), dtype=jnp.int32)
    bottleneck = jnp.sum(up_to < n, dtype=jnp.int32)
    sure = free & (level < bottleneck)
    tier = free & (level == bottleneck)
    misfit = jnp.abs(jnp.sum(tier, axis=1, dtype=jnp.int32) - n)
    return sure | take_first(tier, misfit, n - jnp.sum(sure, dtype=jnp.int32)), bottleneck


def node_bottlenecks(level: jax.Array, bins: int, free: jax.Array, n: jax.Array) -> jax.Array:
    """Return the bin of each node's n-th fastest free GPU [N]; `bins` where the node has fewer than n free GPUs."""
    place = jnp.arange(level.shape[1], dtype=jnp.int32)
    faster = (level[:, None, :] < level[:, :, None]) | (
        (level[:, None, :] == level[:, :, None]) & (place[None, None, :] < place[None, :, None])
    )
    rank = jnp.sum(faster & free[:, None, :], axis=2, dtype=jnp.int32)
    return jnp.min(jnp.where(free & (rank == n - 1), level, bins), axis=1)


def one_node(level: jax.Array, worst: jax.Array, bottlenecks: jax.Array, free: jax.Array, n: jax.Array) -> jax.Array:
    """Take n GPUs of bin <= worst in one node: the emptiest of the nodes with that bottleneck (ties: lowest id)."""
    usable = free & (level <= worst)
    count = jnp.sum(usable, axis=1, dtype=jnp.int32)
    return take_first(usable, jnp.where(bottlenecks == worst, -count, LAST), n)


def pal(profile: Profile, app_class: jax.Array, free: jax.Array, n: jax.Array) -> jax.Array:
    """Return PAL's gang, of the first cell by (bin x penalty) in the L x V matrix that fits (Jain et al., SC 2024).

    No loop is needed: the first `within` cell that fits has the lowest node bottleneck, the first `across` cell has
    PM-First's bottleneck, and two static ranks say which of them comes first.
    """
    level, bins = profile.level[app_class], profile.value.shape[1]
    spread, worst_across = fastest_bins(level, bins, free, n)
    bottlenecks = node_bottlenecks(level, bins, free, n)
    worst_within = jnp.min(bottlenecks)
    possible = (n > 1) & (worst_within < bins)
    cell_within = profile.within_rank[app_class, jnp.minimum(worst_within, bins - 1)]
    cell_across = profile.across_rank[app_class, jnp.minimum(worst_across, bins - 1)]
    return lax.cond(
        possible & (cell_within < cell_across),
        lambda: one_node(level, worst_within, bottlenecks, free, n),
        lambda: spread,
    )


def pm_first(profile: Profile, app_class: jax.Array, free: jax.Array, n: jax.Array) -> jax.Array:
    """Return PM-First's gang: the fastest free GPUs, on any nodes."""
    return fastest_bins(profile.level[app_class], profile.value.shape[1], free, n)[0]


def _earlier_in_node(gpus: jax.Array) -> jax.Array:
    """Count, for each GPU, the GPUs of the mask that come before it in its node [N, P]."""
    place = jnp.arange(gpus.shape[1], dtype=jnp.int32)
    return jnp.sum(gpus[:, None, :] & (place[None, None, :] < place[None, :, None]), axis=2, dtype=jnp.int32)
