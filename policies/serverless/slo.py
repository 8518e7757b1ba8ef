"""How a workflow's SLO is divided among its stages, and which stages are planned together (ESG, spec d.2).

A reconstruction: average normalised length, function group and dominator tree are ESG's words (HPDC'24); the
details are inferred.

1. Average normalised length (ANL) of stage s: the mean over configuration ranks j of t_s(j) / sum over h of t_h(j),
   each stage's latencies sorted ascending. With minimum configurations only, it is the stage's share of the work.
2. The workflow is reduced to a chain (`dominators`): a chain's ANL is the sum, that of parallel branches the largest.
3. Top-down, the members of a chain divide the chain's quota in proportion to ANL; every branch of a region gets the
   region's whole quota.
4. Runs of stages in a chain are cut into groups of at most `most` stages; no group crosses a fork or a join.

Along every path from entry to exit the quotas sum to at most 1, and along the critical path to exactly 1.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
from numpy.typing import ArrayLike

from ...scenarios.types import Floats, Ints
from .dominators import Chain, Edge, Parallel, Tangle, reduce_workflow

GROUP_STAGES = 3
"""Most stages of a group (m of the spec, as recalled)."""

Span = tuple[int, float, float]
"""A stage, and the shares at which it should begin and end."""


@dataclass(frozen=True)
class SloShares:
    """Shares of one workflow's SLO. Arrays are [S]; a share of 1 is the whole SLO."""

    length: Floats
    """Average normalised length."""
    start: Floats
    """Share at which the stage should begin: the end of the stages before it."""
    end: Floats
    """Share by which the stage should end, counted from the request's arrival."""
    group: Ints
    """Number of the stage's group; stages of a group are planned together, and groups are sorted by first stage."""
    suffix: tuple[tuple[int, ...], ...]
    """The stages of its group from this stage on, in order."""
    deadline: Floats
    """Share by which the stage's group should end: group deadline = arrival + SLO * deadline."""

    @property
    def quota(self) -> Floats:
        """The stage's own share [S]."""
        return self.end - self.start


def average_normalised_length(latency: ArrayLike) -> Floats:
    """Return ANL [S] from the latencies [S, X] of each stage's configurations, in any unit and order."""
    ranked = np.sort(np.asarray(latency, np.float64), axis=1)
    length: Floats = (ranked / ranked.sum(axis=0)).mean(axis=1)
    return length


def share_slo(latency: ArrayLike, edges: Iterable[Edge], most: int = GROUP_STAGES) -> SloShares:
    """Divide a workflow's SLO by its latencies [S, X] and its edges (u, v), u < v, with one entry and one exit."""
    length = average_normalised_length(latency)
    chain = reduce_workflow(len(length), edges)
    groups = sorted(_share(chain, 0.0, 1.0, length, most))
    start, end, deadline = (np.zeros(len(length)) for _ in range(3))
    group = np.zeros(len(length), np.int32)
    suffix: list[tuple[int, ...]] = [()] * len(length)
    for number, spans in enumerate(groups):
        stages = [span[0] for span in spans]
        start[stages], end[stages] = [span[1] for span in spans], [span[2] for span in spans]
        group[stages], deadline[stages] = number, spans[-1][2]
        for i, stage in enumerate(stages):
            suffix[stage] = tuple(stages[i:])
    return SloShares(length, start, end, group, tuple(suffix), deadline)


def _share(chain: Chain, start: float, end: float, length: Floats, most: int) -> Iterator[list[Span]]:
    """Yield the groups of a chain whose members divide `start` to `end` in proportion to ANL."""
    if not chain:
        return
    sums = np.cumsum([0.0, *(_measure(member, length) for member in chain)])
    points = [_between(start, end, part) for part in sums / sums[-1]]
    run: list[Span] = []
    for member, (begin, stop) in zip(chain, pairwise(points), strict=True):
        if isinstance(member, int):
            run.append((member, begin, stop))
            continue
        yield from _cut(run, most)
        run = []
        yield from _share_region(member, begin, stop, length, most)
    yield from _cut(run, most)


def _share_region(
    region: Parallel | Tangle, start: float, end: float, length: Floats, most: int
) -> Iterator[list[Span]]:
    """Yield the groups of a region: every branch gets the whole region; each stage of a tangle is its own group."""
    if isinstance(region, Parallel):
        for branch in region.branches:
            yield from _share(branch, start, end, length, most)
        return
    for stage, (first, last) in tangle_spans(region, length).items():
        yield [(stage, _between(start, end, first), _between(start, end, last))]


def _cut(run: list[Span], most: int) -> Iterator[list[Span]]:
    """Cut a run of stages into groups of at most `most`."""
    return (run[i : i + most] for i in range(0, len(run), most))


def _measure(member: int | Parallel | Tangle, length: Floats) -> float:
    """Return the ANL of a chain's member, which is that of the longest path through it."""
    if isinstance(member, int):
        return float(length[member])
    if isinstance(member, Tangle):
        return max(_longest_through(member, length).values())
    return max(sum(_measure(inner, length) for inner in branch) for branch in member.branches)


def _between(start: float, end: float, part: float) -> float:
    """Interpolate between `start` (`part` = 0) and `end` (`part` = 1), exact at both ends."""
    return float(start * (1.0 - part) + end * part)


def tangle_spans(tangle: Tangle, length: Floats) -> dict[int, tuple[float, float]]:
    """Return the start and end of each stage of a graph that is not series-parallel, as fractions of the region.

    The part of stage v is length(v) / (longest path through v), and it starts when the last stage before it ends.
    A path p through v is at most as long as the longest one, so the parts along p sum to at most
    sum of length(v) / length(p) = 1, and to 1 along the longest path: the invariant holds. For a chain or for parallel
    chains this equals proportional sharing.
    """
    through = _longest_through(tangle, length)
    spans: dict[int, tuple[float, float]] = {}
    for stage in tangle.stages:
        start = max((spans[u][1] for u, v in tangle.edges if v == stage), default=0.0)
        spans[stage] = (start, min(start + length[stage] / through[stage], 1.0))
    return spans


def _longest_through(tangle: Tangle, length: Floats) -> dict[int, float]:
    """Return the length of the longest path through each stage."""
    head: dict[int, float] = {}
    tail: dict[int, float] = {}
    for stage in tangle.stages:
        head[stage] = float(length[stage]) + max((head[u] for u, v in tangle.edges if v == stage), default=0.0)
    for stage in reversed(tangle.stages):
        tail[stage] = float(length[stage]) + max((tail[v] for u, v in tangle.edges if u == stage), default=0.0)
    return {stage: head[stage] + tail[stage] - float(length[stage]) for stage in tangle.stages}
