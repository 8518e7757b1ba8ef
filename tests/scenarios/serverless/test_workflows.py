from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from varigym.scenarios.errors import InputError
from varigym.scenarios.serverless.workflows import (
    MOST_PREDECESSORS,
    MOST_STAGES,
    Function,
    Workflow,
    chain,
    longest_path,
)

DIAMOND = ((0, 1), (0, 2), (1, 3), (2, 3))


def test_neighbours_of_each_stage() -> None:
    workflow = Workflow("w", (5, 6, 5, 7), tuple(reversed(DIAMOND)), 10.0)
    assert (workflow.stages, workflow.entry, workflow.exit) == (4, 0, 3)
    assert workflow.predecessors == ((), (0,), (0,), (1, 2))
    assert workflow.successors == ((1, 2), (3,), (3,), ())


def test_one_function_is_a_workflow() -> None:
    workflow = Workflow("w", (0,), (), 10.0)
    assert (workflow.entry, workflow.exit, workflow.predecessors, workflow.successors) == (0, 0, ((),), ((),))


def test_the_critical_path_takes_the_slower_branch() -> None:
    assert Workflow("w", (0, 1, 2, 3), DIAMOND, 1.0).critical_path([1.0, 5.0, 20.0, 300.0]) == 321.0
    assert Workflow("w", (0, 1, 2), chain(3), 1.0).critical_path([1.0, 5.0, 20.0]) == 26.0


Edges = tuple[tuple[int, int], ...]


@st.composite
def dags(draw: st.DrawFn) -> tuple[int, Edges]:
    """Stages and edges with one entry and one exit."""
    stages = draw(st.integers(1, 9))
    edges = set()
    for stage in range(1, stages):
        before = draw(st.sets(st.integers(0, stage - 1), min_size=1, max_size=MOST_PREDECESSORS))
        edges |= {(u, stage) for u in before}
    ends = [u for u in range(stages - 1) if all(u != edge[0] for edge in edges)]
    return stages, tuple(sorted(edges | {(u, stages - 1) for u in ends}))


def paths_to(stage: int, edges: Edges) -> list[list[int]]:
    before = [u for u, v in edges if v == stage]
    return [[*path, stage] for u in before for path in paths_to(u, edges)] if before else [[stage]]


@given(dags(), st.data())
def test_the_critical_path_is_the_longest_of_all(dag: tuple[int, Edges], data: st.DataObject) -> None:
    stages, edges = dag
    stage_ms = data.draw(st.lists(st.integers(1, 100), min_size=stages, max_size=stages))
    expected = max(sum(stage_ms[s] for s in path) for path in paths_to(stages - 1, edges))
    assert longest_path(edges, stage_ms) == expected
    if max((sum(v == stage for _, v in edges) for stage in range(stages)), default=0) <= MOST_PREDECESSORS:
        workflow = Workflow("w", (0,) * stages, edges, 1.0)
        assert workflow.critical_path(stage_ms) == expected
        assert {(u, v) for v, before in enumerate(workflow.predecessors) for u in before} == set(edges)
        assert {(u, v) for u, after in enumerate(workflow.successors) for v in after} == set(edges)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"name": ""}, "workflow name = ''; legal: a name"),
        ({"name": 3}, "workflow name = 3; legal: a name"),
        ({"slo_ms": 0}, "slo_ms of w = 0; legal: a finite number > 0"),
        ({"slo_ms": -5.0}, "slo_ms of w = -5.0"),
        ({"slo_ms": float("nan")}, "slo_ms of w = nan"),
        ({"slo_ms": float("inf")}, "slo_ms of w = inf"),
        ({"slo_ms": 1e9}, r"slo_ms of w = 1000000000\.0; legal: .* <= 1e\+07"),
        ({"slo_ms": "long"}, "slo_ms of w = 'long'"),
        ({"functions": ()}, "number of stages of w = 0; legal: a whole number, 1 to 31"),
        ({"functions": (0,) * 32, "edges": chain(32)}, "number of stages of w = 32"),
        ({"functions": (0, -1, 0, 0)}, "function of stage 1 of w = -1"),
        ({"functions": (0, "SR", 0, 0)}, "function of stage 1 of w = 'SR'"),
        ({"edges": (*DIAMOND, (3, 0))}, r"workflow w: edge \(3, 0\); legal: no cycle"),
        ({"edges": (*DIAMOND, (2, 2))}, r"workflow w: edge \(2, 2\); legal: no cycle"),
        ({"edges": (*DIAMOND, (2, 1))}, r"workflow w: edge \(2, 1\); legal: no cycle"),
        ({"edges": (*DIAMOND, (0, 1))}, "workflow w: edges .*; legal: each edge once"),
        ({"edges": (*DIAMOND, (0, 4))}, r"stage of edge \(0, 4\) of w = 4; legal: a whole number, 0 to 3"),
        ({"edges": (*DIAMOND, (0,))}, r"workflow w: edge \(0,\); legal: a pair of stages"),
        ({"edges": (*DIAMOND, 1)}, "workflow w: edge 1; legal: a pair of stages"),
        ({"edges": ()}, "workflow w: stage 1 cannot be reached from stage 0, the one entry"),
        ({"edges": ((0, 1), (1, 3), (2, 3))}, "workflow w: stage 2 cannot be reached"),
        ({"edges": ((0, 1), (0, 2), (1, 3))}, "workflow w: stage 2 does not lead to stage 3, the one exit"),
        (
            {"functions": (0,) * 7, "edges": tuple((0, s) for s in range(1, 6)) + tuple((s, 6) for s in range(1, 6))},
            "workflow w: stage 6 waits for 5 stages; legal: at most 4",
        ),
    ],
)
def test_a_bad_workflow_is_refused(change: dict[str, Any], message: str) -> None:
    good: dict[str, Any] = {"name": "w", "functions": (0, 1, 0, 2), "edges": DIAMOND, "slo_ms": 10.0}
    Workflow(**good)
    with pytest.raises(InputError, match=message):
        Workflow(**good | change)


def test_the_longest_workflow_is_legal() -> None:
    assert Workflow("w", (0,) * MOST_STAGES, chain(MOST_STAGES), 1.0).stages == MOST_STAGES


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"name": " "}, "function name = ' '; legal: a name"),
        ({"latency_ms": [1.0, 0.0]}, r"latency_ms of f\[1\] = 0\.0; legal: a finite number > 0"),
        ({"latency_ms": [1.0, -2.0]}, r"latency_ms of f\[1\] = -2\.0"),
        ({"latency_ms": [np.nan, 1.0]}, r"latency_ms of f\[0\] = nan"),
        ({"latency_ms": [np.inf, 1.0]}, r"latency_ms of f\[0\] = inf"),
        ({"latency_ms": [1e8, 1.0]}, r"latency_ms of f\[0\] = 100000000\.0; legal: .* <= 1e\+07"),
        ({"latency_ms": ["fast", "slow"]}, r"latency_ms of f = \['fast', 'slow'\]; legal: an array of numbers"),
        ({"latency_ms": [None, 1.0]}, r"latency_ms of f\[0\] = nan|legal: an array of numbers"),
        ({"latency_ms": [[1.0]]}, r"latency_ms of f has shape \(1, 1\); expected 1 axis"),
        ({"cold_start_ms": -1.0}, "cold_start_ms of f = -1.0; legal: a finite number >= 0"),
        ({"cold_start_ms": float("nan")}, "cold_start_ms of f = nan"),
        ({"input_mb": -1.0}, "input_mb of f = -1.0"),
        ({"input_mb": None}, "input_mb of f = None"),
    ],
)
def test_a_bad_function_is_refused(change: dict[str, Any], message: str) -> None:
    good: dict[str, Any] = {"name": "f", "latency_ms": [1.0, 2.0], "cold_start_ms": 0.0, "input_mb": 0.0}
    assert Function(**good).latency_ms.dtype == np.float64
    with pytest.raises(InputError, match=message):
        Function(**good | change)
