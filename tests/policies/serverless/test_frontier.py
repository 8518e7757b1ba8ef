"""Suffix tables against brute force, and ESG's search as a prefix of what they list."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from path_spaces import all_paths, costs_by_first, random_space, random_visit, tables_of
from varigym.policies.serverless.costs import NO_PATH
from varigym.policies.serverless.esg.search import Search
from varigym.policies.serverless.frontier import FAR, first_configurations, first_of_paths, path_costs, suffix_tables
from varigym.policies.serverless.paths import LaterBatch, PathSpace
from varigym.policies.serverless.skyband import merge, running_smallest, skyband, steps_of

POINTS = st.lists(st.tuples(st.integers(0, 9), st.integers(0, 9)), min_size=1, max_size=25)


def as_points(pairs: list[tuple[int, int]]) -> tuple[np.ndarray, np.ndarray]:
    return np.array([t for t, _ in pairs], np.int64), np.array([c for _, c in pairs], np.int64)


def within(pairs: list[tuple[int, int]], budget: int, k: int) -> list[int]:
    """The `k` smallest costs of points that take at most `budget`."""
    costs = sorted(cost for time, cost in pairs if time <= budget)[:k]
    return costs + [NO_PATH] * (k - len(costs))


@given(values=st.lists(st.integers(0, 50), min_size=1, max_size=30), k=st.integers(1, 6))
def test_running_smallest_is_a_sorted_prefix(values: list[int], k: int) -> None:
    got = running_smallest(np.array(values, np.int64), k)
    for i, row in enumerate(got):
        expected = sorted(values[: i + 1])[:k]
        assert row.tolist() == expected + [NO_PATH] * (k - len(expected))


@given(pairs=POINTS, k=st.integers(1, 5))
def test_a_skyband_and_its_steps_keep_the_smallest_costs_of_every_budget(pairs: list[tuple[int, int]], k: int) -> None:
    band = skyband(as_points(pairs), k)
    steps = steps_of(band, k)
    kept = list(zip(*(axis.tolist() for axis in band), strict=True))
    assert kept == sorted(kept)
    assert (np.diff(steps.time) > 0).all()
    for budget in range(-1, 12):
        at = int((steps.time <= budget).sum())
        assert within(kept, budget, k) == within(pairs, budget, k) == steps.cost[at].tolist()


@given(pairs=POINTS)
def test_with_one_path_the_steps_are_the_pareto_frontier(pairs: list[tuple[int, int]]) -> None:
    frontier = [p for p in set(pairs) if not any(q != p and q[0] <= p[0] and q[1] <= p[1] for q in pairs)]
    steps = steps_of(skyband(as_points(pairs), 1), 1)
    assert list(zip(steps.time.tolist(), steps.cost[1:, 0].tolist(), strict=True)) == sorted(frontier)


@given(one=POINTS, two=POINTS, k=st.integers(1, 5), longest=st.integers(0, 20))
def test_merging_skybands_is_exact(
    one: list[tuple[int, int]], two: list[tuple[int, int]], k: int, longest: int
) -> None:
    merged = merge(skyband(as_points(one), k), skyband(as_points(two), k), k, longest)
    sums = [(s + t, b + c) for s, b in one for t, c in two if s + t <= longest]
    kept = list(zip(*(axis.tolist() for axis in merged), strict=True))
    for budget in range(20):
        assert within(kept, budget, k) == within(sums, budget, k)


@pytest.mark.parametrize("k", [1, 3, 5])
def test_tables_hold_the_costs_of_brute_force(k: int) -> None:
    rng = np.random.default_rng(100 + k)
    for _ in range(200):
        space = random_space(rng)
        target, length = random_visit(rng, space)
        tables = tables_of(space, k)
        paths = all_paths(space, target, length)
        got = path_costs(tables, 0, target, length)
        assert (got == costs_by_first(paths, len(space.batch), k)).all()
        assert first_of_paths(tables, 0, target, length) == list(dict.fromkeys(path[0] for _, path, _ in paths[:k]))
        everything = first_configurations(tables, 0, target, length, count=99)
        assert everything == list(dict.fromkeys(path[0] for _, path, _ in paths))


@pytest.mark.parametrize("later_batch", LaterBatch)
def test_the_search_lists_a_prefix_of_the_frontier(later_batch: LaterBatch) -> None:
    """Ties are broken alike, so they agree exactly: with K paths, and with the cheapest first configurations."""
    rng = np.random.default_rng(5)
    shorter = 0
    for _ in range(600):
        space, k = random_space(rng), int(rng.choice([1, 3, 5]))
        space = PathSpace(space.time, space.cost, space.batch, later_batch)
        target, length = random_visit(rng, space)
        listed = list(Search(space).paths(target, length, k).first)
        ours = first_configurations(tables_of(space, 1), 0, target, length, k)
        assert listed == first_of_paths(tables_of(space, k), 0, target, length)
        assert listed == ours[: len(listed)]
        shorter += len(listed) < len(ours)
    assert shorter > 30


def test_tables_of_many_queues_are_those_of_each() -> None:
    """Suffixes of several lengths that share functions, padded to the longest."""
    rng = np.random.default_rng(2)
    space = random_space(rng, stages=3)
    suffixes = [(0,), (2, 1, 0), (1, 0), (0, 0), (2,)]
    tables = suffix_tables(suffixes, space.time, space.cost, space.batch, 3)
    assert tables.step_time.shape[:2] == (5, len(space.batches))
    assert tables.step_cost.shape == (*tables.step_time.shape[:2], tables.step_time.shape[2] + 1, 3)
    assert all(array.dtype == np.int32 for array in vars(tables).values())
    for queue, suffix in enumerate(suffixes):
        alone = suffix_tables([suffix], space.time, space.cost, space.batch, 3)
        for target in range(0, 180, 7):
            assert (path_costs(tables, queue, target, 4) == path_costs(alone, 0, target, 4)).all()


def test_the_last_stage_of_a_group_has_only_itself() -> None:
    space = random_space(np.random.default_rng(1), stages=1)
    tables = tables_of(space, 2)
    assert (tables.step_time == 0).all()
    assert (tables.step_cost == [[NO_PATH, NO_PATH], [0, NO_PATH]]).all()
    assert (path_costs(tables, 0, FAR - 1, 99)[:, 0] == space.cost[0]).all()


def test_a_longest_budget_shortens_the_tables_and_changes_nothing_below_it() -> None:
    rng = np.random.default_rng(8)
    shorter = 0
    for _ in range(100):
        space = random_space(rng, stages=3)
        longest, length = random_visit(rng, space)
        whole, cut = tables_of(space, 3), tables_of(space, 3, longest)
        for target in range(longest - 5, longest + 1):
            assert (path_costs(whole, 0, target, length) == path_costs(cut, 0, target, length)).all()
        shorter += cut.step_time.shape[-1] < whole.step_time.shape[-1]
    assert shorter > 20
