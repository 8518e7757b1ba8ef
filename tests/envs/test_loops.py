"""Loops against the operations they stand for."""

from __future__ import annotations

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from varigym.envs import loops

SIZES = (1, 2, 3, 7, 8, 9, 33)


@pytest.mark.parametrize("size", SIZES)
def test_a_sequence_is_sorted_and_stable(size: int) -> None:
    run = jax.jit(loops.sequence_of)
    for seed in range(20):
        rng = np.random.default_rng(seed)
        group, key = rng.integers(0, 3, size).astype(np.int32), rng.choice([-1.5, 0.0, 2.0, np.inf], size)
        assert run(group, key).tolist() == np.lexsort((key, group)).tolist()


@given(st.data())
@settings(max_examples=50, deadline=None)
def test_writes_pass_over_places_outside(data: st.DataObject) -> None:
    rng = np.random.default_rng(data.draw(st.integers(0, 2**32 - 1)))
    size, count = 6, 9
    at = rng.integers(-3, 9, count).astype(np.int32)
    rows = rng.random(count)
    table, inside = rng.random(size), (at >= 0) & (at < size)

    added, greatest = table.copy(), table.copy()
    np.add.at(added, at[inside], rows[inside])
    np.maximum.at(greatest, at[inside], rows[inside])
    np.testing.assert_allclose(jax.jit(loops.add)(table, at, rows), added, rtol=1e-12)
    assert jax.jit(loops.most)(jnp.asarray(table), at, rows).tolist() == greatest.tolist()

    once = np.unique(at)
    replaced = table.copy()
    legal = once[(once >= 0) & (once < size)]
    replaced[legal] = np.arange(len(once))[(once >= 0) & (once < size)]
    assert jax.jit(loops.put)(table, once, np.arange(len(once)) * 1.0).tolist() == replaced.tolist()


def test_a_tree_of_tables_is_written_at_once() -> None:
    tables = (jnp.zeros(3, jnp.int32), jnp.zeros((3, 2)))
    rows = (jnp.array([7, 8], jnp.int32), jnp.array([[1.0, 2.0], [3.0, 4.0]]))
    numbers, pairs = loops.put(tables, jnp.array([2, 5]), rows)
    assert numbers.tolist() == [0, 0, 7]
    assert pairs.tolist() == [[0, 0], [0, 0], [1, 2]]


def test_other_machines_get_the_operations_of_xla() -> None:
    lowered = (
        jax.jit(loops.sequence_of).trace(jnp.zeros(4, jnp.int32), jnp.zeros(4)).lower(lowering_platforms=("cuda",))
    )
    assert "sort" in lowered.as_text()
