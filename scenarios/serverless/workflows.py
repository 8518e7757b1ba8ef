"""Workflows: the functions of a request, and the dependencies between them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from ..checks import as_array, check_each, check_number, check_whole
from ..errors import InputError
from ..types import Floats

MOST_STAGES = 31
MOST_PREDECESSORS = 4
MOST_MB = 1e6
MOST_MS = 1e7
"""Longer times are refused, because simulated time is counted in 32-bit ticks of 10 us."""


@dataclass(frozen=True)
class Function:
    """A DNN model that is served: its latency under each configuration, and its cold start and input."""

    name: str
    latency_ms: Floats
    """Mean latency of a whole batch, by configuration [X]."""
    cold_start_ms: float
    """Time until a new container can run tasks."""
    input_mb: float
    """Size of one request's input."""

    def __post_init__(self) -> None:
        if not isinstance(self.name, str) or not self.name.strip():
            raise InputError(f"function name = {self.name!r}; legal: a name")
        latency = as_array(f"latency_ms of {self.name}", self.latency_ms, np.float64, 1)
        object.__setattr__(self, "latency_ms", latency)
        within = (latency > 0) & (latency <= MOST_MS)
        check_each(f"latency_ms of {self.name}", latency, within, f"a finite number > 0 and <= {MOST_MS:g}")
        check_number(f"cold_start_ms of {self.name}", self.cold_start_ms, 0, MOST_MS)
        check_number(f"input_mb of {self.name}", self.input_mb, 0, MOST_MB)


@dataclass(frozen=True)
class Workflow:
    """A DAG of functions with an SLO. Stages are numbered so that every edge leads to a higher number.

    There is one entry (stage 0) and one exit (the last stage); every stage lies on a path between them.
    """

    name: str
    functions: tuple[int, ...]
    """Index of each stage's function."""
    edges: tuple[tuple[int, int], ...]
    """(stage, stage that waits for it)."""
    slo_ms: float
    """Promised latency, from arrival to the end of the exit stage."""

    def __post_init__(self) -> None:
        if not isinstance(self.name, str) or not self.name.strip():
            raise InputError(f"workflow name = {self.name!r}; legal: a name")
        check_number(f"slo_ms of {self.name}", self.slo_ms, 0, MOST_MS, above=True)
        object.__setattr__(self, "functions", tuple(self.functions))
        object.__setattr__(self, "edges", tuple(self.edges))
        check_whole(f"number of stages of {self.name}", len(self.functions), 1, MOST_STAGES)
        for stage, function in enumerate(self.functions):
            check_whole(f"function of stage {stage} of {self.name}", function, 0, 2**31 - 1)
        _check_edges(self)
        _check_ends(self)

    @property
    def stages(self) -> int:
        """Number of stages."""
        return len(self.functions)

    @property
    def entry(self) -> int:
        """The first stage of a request."""
        return 0

    @property
    def exit(self) -> int:
        """The stage whose end finishes a request."""
        return len(self.functions) - 1

    @property
    def predecessors(self) -> tuple[tuple[int, ...], ...]:
        """The stages that each stage waits for, in ascending order."""
        return tuple(tuple(sorted(u for u, v in self.edges if v == stage)) for stage in range(self.stages))

    @property
    def successors(self) -> tuple[tuple[int, ...], ...]:
        """The stages that wait for each stage, in ascending order."""
        return tuple(tuple(sorted(v for u, v in self.edges if u == stage)) for stage in range(self.stages))

    def critical_path(self, stage_ms: Sequence[float]) -> float:
        """Return the longest sum of `stage_ms` from entry to exit."""
        return longest_path(self.edges, stage_ms)


def longest_path(edges: Sequence[tuple[int, int]], stage_ms: Sequence[float]) -> float:
    """Return the longest sum of `stage_ms` on a path to the last stage; every edge must lead to a higher number."""
    reach = list(stage_ms)
    for stage in range(len(reach)):
        reach[stage] += max((reach[u] for u, v in edges if v == stage), default=0.0)
    return reach[-1]


def chain(stages: int) -> tuple[tuple[int, int], ...]:
    """Return the edges of a pipeline."""
    return tuple((stage, stage + 1) for stage in range(stages - 1))


def _check_edges(workflow: Workflow) -> None:
    name, last = workflow.name, workflow.exit
    for edge in workflow.edges:
        if not isinstance(edge, tuple) or len(edge) != 2:
            raise InputError(f"workflow {name}: edge {edge!r}; legal: a pair of stages")
        for stage in edge:
            check_whole(f"stage of edge {edge} of {name}", stage, 0, last)
        if edge[0] >= edge[1]:
            raise InputError(f"workflow {name}: edge {edge}; legal: no cycle, and each edge leads to a higher stage")
    if len(set(workflow.edges)) < len(workflow.edges):
        raise InputError(f"workflow {name}: edges {workflow.edges}; legal: each edge once")


def _check_ends(workflow: Workflow) -> None:
    for stage, before in enumerate(workflow.predecessors):
        if stage > 0 and not before:
            raise InputError(f"workflow {workflow.name}: stage {stage} cannot be reached from stage 0, the one entry")
        if len(before) > MOST_PREDECESSORS:
            raise InputError(
                f"workflow {workflow.name}: stage {stage} waits for {len(before)} stages; "
                f"legal: at most {MOST_PREDECESSORS}"
            )
    for stage, after in enumerate(workflow.successors[:-1]):
        if not after:
            raise InputError(
                f"workflow {workflow.name}: stage {stage} does not lead to stage {workflow.exit}, the one exit"
            )
