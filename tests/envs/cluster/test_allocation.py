"""Allocation rules against their literal reading, one gang and one free set at a time."""

from __future__ import annotations

from itertools import combinations

import jax
import jax.numpy as jnp
import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray
from varigym.envs.cluster import allocation
from varigym.envs.cluster.state import Profile
from varigym.envs.cluster.world import make_profile
from worlds import CLASSES, GPUS, LEVELS, NODES, PER_NODE, SmallJob, small_scenario

Mask = NDArray[np.bool_]
GRID = (NODES, PER_NODE)
BINS = 4
free_sets = st.lists(st.booleans(), min_size=GPUS, max_size=GPUS).filter(any)
bin_rows = st.lists(st.sampled_from(LEVELS), min_size=GPUS, max_size=GPUS)
penalties = st.sampled_from([1.0, 1.1, 1.3, 1.7, 3.0])

take_first = jax.jit(allocation.take_first)
packed = jax.jit(allocation.packed)
pm_first = jax.jit(allocation.pm_first)
pal = jax.jit(allocation.pal)


def profile_of(bins: list[float], penalty: float) -> Profile:
    scenario = small_scenario(
        [SmallJob(0, 1, 1, 0)], np.array([bins] * len(CLASSES)), locality_penalty=(penalty, penalty)
    )
    return make_profile(scenario, BINS)


def slowdown(gang: Mask, bins: list[float], penalty: float) -> float:
    nodes = np.flatnonzero(gang.any(axis=1))
    return float(np.array(bins).reshape(GRID)[gang].max() * (penalty if len(nodes) > 1 else 1.0))


@given(mask=free_sets, key=st.lists(st.integers(0, 3), min_size=NODES, max_size=NODES), n=st.integers(0, GPUS))
def test_take_first_is_a_sort_cut_short(mask: list[bool], key: list[int], n: int) -> None:
    gpus = np.array(mask).reshape(GRID)
    ids = sorted(np.flatnonzero(gpus), key=lambda g: (key[g // PER_NODE], g))[:n]
    got = take_first(jnp.asarray(gpus), jnp.asarray(key), n)
    assert np.flatnonzero(got).tolist() == sorted(ids)


@settings(max_examples=400)
@given(bins=bin_rows, mask=free_sets, penalty=penalties, data=st.data())
def test_pal_is_never_slower_than_pm_first_or_packed(
    bins: list[float], mask: list[bool], penalty: float, data: st.DataObject
) -> None:
    free, profile = jnp.asarray(mask).reshape(GRID), profile_of(bins, penalty)
    n = data.draw(st.integers(1, min(sum(mask), PER_NODE)))
    gangs = {
        "pal": pal(profile, 0, free, n),
        "pm-first": pm_first(profile, 0, free, n),
        "packed": packed(free, n),
    }
    cost = {name: slowdown(np.asarray(gang), bins, penalty) for name, gang in gangs.items()}
    assert all(int(gang.sum()) == n and not bool((gang & ~free).any()) for gang in gangs.values())
    assert cost["pal"] <= min(cost["pm-first"], cost["packed"]) + 1e-12
    if penalty == 1.0:
        assert cost["pal"] == cost["pm-first"]


@settings(max_examples=150)
@given(bins=bin_rows, mask=free_sets, penalty=penalties, data=st.data())
def test_pal_finds_the_cheapest_gang_there_is(
    bins: list[float], mask: list[bool], penalty: float, data: st.DataObject
) -> None:
    free_ids = np.flatnonzero(mask)
    n = data.draw(st.integers(1, min(len(free_ids), PER_NODE)))
    gang = np.asarray(pal(profile_of(bins, penalty), 0, jnp.asarray(mask).reshape(GRID), n))
    costs = []
    for ids in combinations(free_ids, n):
        other = np.zeros(GPUS, bool)
        other[list(ids)] = True
        costs.append(slowdown(other.reshape(GRID), bins, penalty))
    assert slowdown(gang, bins, penalty) <= min(costs) + 1e-12


@given(bins=bin_rows, mask=free_sets, data=st.data())
def test_pm_first_sorts_by_bin_then_fit_then_id(bins: list[float], mask: list[bool], data: st.DataObject) -> None:
    free = [g for g in range(GPUS) if mask[g]]
    n = data.draw(st.integers(1, len(free)))
    mates = {g: sum(bins[h] == bins[g] and h // PER_NODE == g // PER_NODE for h in free) for g in free}
    expected = sorted(free, key=lambda g: (bins[g], abs(mates[g] - n), g))[:n]
    got = pm_first(profile_of(bins, 1.7), 0, jnp.asarray(mask).reshape(GRID), n)
    assert np.flatnonzero(got).tolist() == sorted(expected)


@given(mask=free_sets, data=st.data())
def test_packed_uses_as_few_nodes_as_possible(mask: list[bool], data: st.DataObject) -> None:
    free = np.array(mask).reshape(GRID)
    n = data.draw(st.integers(1, int(free.sum())))
    used = int(np.asarray(packed(jnp.asarray(free), n)).any(axis=1).sum())
    fullest = np.cumsum(np.sort(free.sum(axis=1))[::-1])
    assert used == int(np.argmax(fullest >= n)) + 1


def test_walk_breaks_ties_by_first_appearance() -> None:
    """Bins 1.0 and 1.7 at penalty 1.7: (1.7, within) costs as much as (1.0, across); the bin met first goes first."""
    slow_first = profile_of([1.7, 1.0, 1.0, *[1.0] * 6], 1.7)
    fast_first = profile_of([1.0, 1.7, 1.7, *[1.7] * 6], 1.7)
    assert int(slow_first.within_rank[0, 1]) < int(slow_first.across_rank[0, 0])
    assert int(fast_first.within_rank[0, 1]) > int(fast_first.across_rank[0, 0])
