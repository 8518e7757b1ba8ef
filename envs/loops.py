"""Scattered writes and a sort, which are plain loops on a CPU.

XLA's CPU compiler turns a loop into one machine function only if the loop contains neither a scatter nor a sort.
Otherwise it runs the loop part by part, and an episode takes 2 to 3 times as long. Other devices use XLA's operations.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import TypeVar

import jax
import jax.numpy as jnp
from jax import lax

T = TypeVar("T")


def put(tables: T, at: jax.Array, rows: T) -> T:
    """Write `rows` (leaves [k, ...]) into tables (leaves [n, ...]) at the places `at` [k]; skip places out of range.

    If `at` names a place twice, the result holds one of its rows.
    """

    def scattered(tables: T, at: jax.Array, rows: T) -> T:
        return jax.tree.map(lambda table, row: table.at[_beyond(at, table)].set(row, mode="drop"), tables, rows)

    def one_by_one(tables: T, at: jax.Array, rows: T) -> T:
        return _write(tables, at, rows, lambda old, new: new)

    return lax.platform_dependent(tables, at, rows, cpu=one_by_one, default=scattered)


def add(tables: T, at: jax.Array, rows: T) -> T:
    """Do the same, but add `rows` to the present values; `at` may name a place more than once."""

    def scattered(tables: T, at: jax.Array, rows: T) -> T:
        return jax.tree.map(lambda table, row: table.at[_beyond(at, table)].add(row, mode="drop"), tables, rows)

    def one_by_one(tables: T, at: jax.Array, rows: T) -> T:
        return _write(tables, at, rows, lambda old, new: old + new)

    return lax.platform_dependent(tables, at, rows, cpu=one_by_one, default=scattered)


def most(table: jax.Array, at: jax.Array, rows: jax.Array) -> jax.Array:
    """Return, for each place, the maximum of `table` [n] and of all `rows` [k] for that place."""
    return lax.platform_dependent(
        table,
        at,
        rows,
        cpu=lambda table, at, rows: _write(table, at, rows, jnp.maximum),
        default=lambda table, at, rows: table.at[_beyond(at, table)].max(rows, mode="drop"),
    )


def sequence_of(group: jax.Array, key: jax.Array) -> jax.Array:
    """Return the indices [n] in ascending order of (group [n] int32, key [n]); ties by index."""

    def by_sort(group: jax.Array, key: jax.Array) -> jax.Array:
        return lax.sort((group, key, jnp.arange(key.shape[0], dtype=jnp.int32)), num_keys=3)[2]

    return lax.platform_dependent(group, key, cpu=_merged, default=by_sort)


def _beyond(at: jax.Array, table: jax.Array) -> jax.Array:
    """Move negative places behind the last one, because JAX would count them from the end."""
    return jnp.where(at < 0, table.shape[0], at)


def _write(tables: T, at: jax.Array, rows: T, merge: Callable[[jax.Array, jax.Array], jax.Array]) -> T:
    def write(i: jax.Array, tables: T) -> T:
        def one(table: jax.Array, row: jax.Array) -> jax.Array:
            place = jnp.clip(at[i], 0, table.shape[0] - 1)
            old = lax.dynamic_index_in_dim(table, place, keepdims=False)
            new = jnp.where(at[i] == place, merge(old, row[i]), old)
            return lax.dynamic_update_index_in_dim(table, new, place, 0)

        return jax.tree.map(one, tables, rows)

    return lax.fori_loop(0, at.shape[0], write, tables) if at.shape[0] else tables


def _merged(group: jax.Array, key: jax.Array) -> jax.Array:
    """Sort by a bottom-up merge sort; it is stable, so that ties stay in ascending order."""
    size = key.shape[0]
    sequence = jnp.arange(size, dtype=jnp.int32)
    return lax.fori_loop(0, max(size - 1, 0).bit_length(), partial(_merge_pairs, group, key), sequence)


def _merge_pairs(group: jax.Array, key: jax.Array, level: jax.Array, sequence: jax.Array) -> jax.Array:
    """Merge neighbouring ascending runs of 2^level."""
    size = sequence.shape[0]
    width, last = jnp.int32(1) << level.astype(jnp.int32), size - 1

    def step(k: jax.Array, held: tuple[jax.Array, jax.Array]) -> tuple[jax.Array, jax.Array]:
        merged, taken = held  # of the left run
        begin = k & -(2 * width)
        taken = jnp.where(k == begin, 0, taken)
        middle, end = jnp.minimum(begin + width, size), jnp.minimum(begin + 2 * width, size)
        i, j = begin + taken, middle + (k - begin - taken)
        left, right = sequence[jnp.minimum(i, last)], sequence[jnp.minimum(j, last)]
        sooner = (group[right] < group[left]) | ((group[right] == group[left]) & (key[right] < key[left]))
        from_left = (i < middle) & ((j >= end) | ~sooner)
        row = jnp.where(from_left, left, right)
        return lax.dynamic_update_index_in_dim(merged, row, k, 0), taken + from_left.astype(jnp.int32)

    return lax.fori_loop(jnp.int32(0), jnp.int32(size), step, (sequence, jnp.int32(0)))[0]
