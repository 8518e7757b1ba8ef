"""Shares of the SLO: the published pipelines, forks and joins by hand, and what holds in every workflow."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from varigym.policies.serverless.dominators import Edge, Parallel, Tangle, dominator_tree, dominators, reduce_workflow
from varigym.policies.serverless.slo import average_normalised_length, share_slo, tangle_spans

SR, SEG, DEB, CLS, BG, DEP = 86, 293, 319, 147, 1047, 828
PUBLISHED = {
    (SR, SEG, CLS): (0.163, 0.557, 0.279),
    (DEB, SR, DEP): (0.259, 0.070, 0.672),
    (SR, DEB, BG): (0.059, 0.220, 0.721),
    (DEB, SR, BG, SEG, CLS): (0.169, 0.045, 0.553, 0.155, 0.078),
}
DIAMOND = [(0, 1), (0, 2), (1, 3), (2, 3)]
NESTED = [(0, 1), (1, 2), (1, 3), (2, 4), (3, 4), (0, 5), (4, 6), (5, 6)]
BRIDGE = [(0, 1), (0, 2), (1, 3), (1, 4), (2, 4), (3, 5), (4, 5)]


def chain(stages: int) -> list[Edge]:
    return [(stage, stage + 1) for stage in range(stages - 1)]


def column(*latency: float) -> np.ndarray:
    return np.array(latency, float)[:, None]


def paths(edges: list[Edge], last: int, stage: int = 0) -> Iterator[tuple[int, ...]]:
    """All paths from a stage to the last one."""
    if stage == last:
        yield (stage,)
    for _, v in (edge for edge in edges if edge[0] == stage):
        yield from ((stage, *rest) for rest in paths(edges, last, v))


@st.composite
def workflows(draw: st.DrawFn) -> tuple[np.ndarray, list[Edge]]:
    """Any DAG with one entry and one exit: up to 9 stages and 3 configurations."""
    stages = draw(st.integers(1, 9))
    edges = {
        (u, v)
        for v in range(1, stages)
        for u in draw(st.sets(st.integers(max(0, v - 4), v - 1), min_size=1, max_size=3))
    }
    dead_ends = set(range(stages - 1)) - {u for u, _ in edges}
    edges |= {(u, stages - 1) for u in dead_ends}
    latency = draw(st.lists(st.lists(st.integers(1, 500), min_size=3, max_size=3), min_size=stages, max_size=stages))
    return np.array(latency, float), sorted(edges)


@pytest.mark.parametrize("pipeline", PUBLISHED)
def test_a_pipeline_of_minimum_configurations_is_shared_by_work(pipeline: tuple[int, ...]) -> None:
    shares = share_slo(column(*pipeline), chain(len(pipeline)))
    assert shares.quota == pytest.approx(PUBLISHED[pipeline], abs=6e-4)
    assert shares.quota == pytest.approx(np.array(pipeline) / sum(pipeline))
    assert shares.length == pytest.approx(shares.quota)


def test_length_is_a_mean_over_ranks_not_over_configurations() -> None:
    """Sorted lists (1, 4) and (3, 4): ranks 1 / 4 and 4 / 8."""
    assert average_normalised_length([[4, 1], [3, 4]]) == pytest.approx([(0.25 + 0.5) / 2, (0.75 + 0.5) / 2])


def test_groups_of_a_long_pipeline() -> None:
    shares = share_slo(column(1, 1, 2, 3, 3), chain(5))
    assert shares.group.tolist() == [0, 0, 0, 1, 1]
    assert shares.suffix == ((0, 1, 2), (1, 2), (2,), (3, 4), (4,))
    assert shares.deadline == pytest.approx([0.4, 0.4, 0.4, 1, 1])
    assert shares.start == pytest.approx([0, 0.1, 0.2, 0.4, 0.7])
    assert share_slo(column(1, 1, 2, 3, 3), chain(5), most=1).suffix == ((0,), (1,), (2,), (3,), (4,))


def test_a_group_that_holds_the_pipeline_has_the_whole_slo() -> None:
    shares = share_slo(column(3, 1, 7, 9), chain(4), most=4)
    assert shares.deadline.tolist() == [1.0] * 4
    assert shares.suffix[0] == (0, 1, 2, 3)


def test_fork_and_join() -> None:
    """Branches 2 and 6 in parallel count as 6; each has from 0.2 to 0.8."""
    shares = share_slo(column(2, 2, 6, 2), DIAMOND)
    assert reduce_workflow(4, DIAMOND) == (0, Parallel(((1,), (2,))), 3)
    assert shares.start == pytest.approx([0, 0.2, 0.2, 0.8])
    assert shares.end == pytest.approx([0.2, 0.8, 0.8, 1])
    assert shares.suffix == ((0,), (1,), (2,), (3,))
    assert shares.deadline == pytest.approx(shares.end)


def test_nested_fork_and_join() -> None:
    """0, then {1, {2 | 3}, 4 | 5}, then 6: lengths 1, {1, {3 | 2}, 1 | 2}, 2 of 8; the region has 5 of them."""
    inner = Parallel(((2,), (3,)))
    assert reduce_workflow(7, NESTED) == (0, Parallel(((1, inner, 4), (5,))), 6)
    shares = share_slo(column(1, 1, 3, 2, 1, 2, 2), NESTED)
    assert shares.start * 8 == pytest.approx([0, 1, 2, 2, 5, 1, 6])
    assert shares.end * 8 == pytest.approx([1, 2, 5, 5, 6, 6, 8])


def test_an_edge_may_bypass_a_branch() -> None:
    edges = [(0, 1), (1, 2), (0, 2), (2, 3)]
    assert reduce_workflow(4, edges) == (0, Parallel(((1,), ())), 2, 3)
    shares = share_slo(column(1, 1, 1, 1), edges)
    assert shares.quota == pytest.approx([0.25] * 4)
    assert shares.suffix == ((0,), (1,), (2, 3), (3,))


def test_a_workflow_that_is_not_series_parallel() -> None:
    """1 -> 3, 1 -> 4, 2 -> 4 between 0 and 5: longest ways 1-4 and 2-4 are 6 and 5 long, 1-3 is 3.

    Parts of the region, length over the longest way through: 1: 2/6, 2: 1/5, 3: 1/3, 4: 4/6; 4 waits for 1.
    """
    between = ((1, 3), (1, 4), (2, 4))
    assert reduce_workflow(6, BRIDGE) == (0, Tangle((1, 2, 3, 4), between), 5)
    shares = share_slo(column(2, 2, 1, 1, 4, 2), BRIDGE)
    region = (shares.start[1:5] - 0.2, shares.end[1:5] - 0.2)
    assert region[0] / 0.6 == pytest.approx([0, 0, 1 / 3, 1 / 3])
    assert region[1] / 0.6 == pytest.approx([1 / 3, 1 / 5, 2 / 3, 1])
    assert shares.suffix == tuple((stage,) for stage in range(6))


@given(lengths=st.lists(st.floats(0.01, 1), min_size=1, max_size=6))
def test_the_rule_for_tangles_shares_a_pipeline_in_proportion(lengths: list[float]) -> None:
    spans = tangle_spans(Tangle(tuple(range(len(lengths))), tuple(chain(len(lengths)))), np.array(lengths))
    assert [end - start for start, end in spans.values()] == pytest.approx(np.array(lengths) / sum(lengths))


@given(workflow=workflows(), most=st.integers(1, 4))
def test_shares_of_every_workflow(workflow: tuple[np.ndarray, list[Edge]], most: int) -> None:
    """On every path quotas sum to at most the SLO, on one to all of it; no stage begins before another's end."""
    latency, edges = workflow
    shares = share_slo(latency, edges, most)
    sums = [shares.quota[list(path)].sum() for path in paths(edges, len(latency) - 1)]
    assert max(sums) == pytest.approx(1)
    assert (shares.quota > 0).all()
    assert all(shares.start[v] >= shares.end[u] - 1e-9 for u, v in edges)
    assert (shares.start[0], shares.end[-1]) == (0.0, 1.0)


@given(workflow=workflows(), most=st.integers(1, 4))
def test_groups_of_every_workflow(workflow: tuple[np.ndarray, list[Edge]], most: int) -> None:
    """Groups are runs of stages without a fork or a join inside, numbered by their first stage."""
    latency, edges = workflow
    shares = share_slo(latency, edges, most)
    for stage, suffix in enumerate(shares.suffix):
        assert suffix[0] == stage
        assert len(suffix) <= most
        assert {shares.group[s] for s in suffix} == {shares.group[stage]}
        assert shares.deadline[stage] == shares.end[suffix[-1]]
        for u, v in pairwise(suffix):
            assert [edge for edge in edges if edge[0] == u or edge[1] == v] == [(u, v)]
    first = [np.flatnonzero(shares.group == number)[0] for number in range(shares.group.max() + 1)]
    assert first == sorted(first)


@given(workflow=workflows())
def test_dominators_are_on_every_path(workflow: tuple[np.ndarray, list[Edge]]) -> None:
    latency, edges = workflow
    stages = range(len(latency))
    found, parent = dominators(stages, edges), dominator_tree(stages, edges)
    for stage in stages:
        on_all = set.intersection(*(set(path) for path in paths(edges, stage)))
        assert found[stage] == on_all
        assert stage == 0 or found[stage] == found[parent[stage]] | {stage}


def test_quotas_follow_the_whole_profile() -> None:
    """A stage that resources hardly speed up gets more than its part of the minimum configurations."""
    shares = share_slo([[100, 90, 80], [100, 50, 20]], chain(2))
    assert shares.quota[0] > 0.6
    assert shares.quota.sum() == pytest.approx(1)
