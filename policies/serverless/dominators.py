"""Dominators of a workflow, and its reduction to a chain of stages and parallel regions.

Stages are numbered in a topological order: every edge (u, v) has u < v, stage 0 is the only entry and the last stage
the only exit. Stage u dominates v if every path from the entry to v goes through u. The dominators of the exit form the
chain that every request passes. The stages between two of them are a region, which is reduced in the same way.

The idea is ESG's ("dominator-based SLO distribution", HPDC'24); the reduction is a reconstruction (spec d.2).
"""

from __future__ import annotations

from collections.abc import Collection, Iterable
from dataclasses import dataclass
from itertools import pairwise

Edge = tuple[int, int]


@dataclass(frozen=True)
class Parallel:
    """Branches between a fork and its join, each a chain; a branch may be empty (an edge that bypasses the others)."""

    branches: tuple[Chain, ...]


@dataclass(frozen=True)
class Tangle:
    """Stages between a fork and its join that are neither a chain nor parallel: the graph is not series-parallel."""

    stages: tuple[int, ...]
    edges: tuple[Edge, ...]


Chain = tuple[int | Parallel | Tangle, ...]
"""Stages and regions, one after the other."""


def dominators(stages: Collection[int], edges: Iterable[Edge]) -> dict[int, frozenset[int]]:
    """Return the dominators of every stage, itself included. All stages but the lowest, the entry, have predecessors.

    dom(v) = {v} + the intersection of dom(u) over the edges (u, v); one pass in topological order computes it.
    """
    into: dict[int, list[int]] = {stage: [] for stage in sorted(stages)}
    for u, v in edges:
        into[v].append(u)
    found: dict[int, frozenset[int]] = {}
    for stage, before in into.items():
        shared = frozenset.intersection(*(found[u] for u in before)) if before else frozenset[int]()
        found[stage] = shared | {stage}
    return found


def dominator_tree(stages: Collection[int], edges: Iterable[Edge]) -> dict[int, int]:
    """Return the parent of every stage but the entry: its closest dominator, which all its others dominate."""
    found = dominators(stages, edges)
    return {stage: max(above - {stage}) for stage, above in found.items() if len(above) > 1}


def reduce_workflow(stages: int, edges: Iterable[Edge]) -> Chain:
    """Reduce a workflow of `stages` stages to one chain."""
    source, sink = -1, stages
    return _chain(range(stages), source, sink, [(source, 0), *edges, (stages - 1, sink)])


def _chain(inner: Collection[int], source: int, sink: int, edges: Iterable[Edge]) -> Chain:
    """Reduce the stages `inner`, which all lie on paths from `source` to `sink`, to a chain.

    Every such path passes the sink's dominators in order, so the stages between two adjacent dominators are those with
    numbers between theirs.
    """
    known = {*inner, source, sink}
    mine = [(u, v) for u, v in edges if u in known and v in known and (u, v) != (source, sink)]
    if not inner:
        return ()
    spine = sorted(dominators(known, mine)[sink])
    if len(spine) == 2 and len(_components(inner, mine)) == 1:
        return (Tangle(tuple(sorted(inner)), tuple(e for e in mine if e[0] != source and e[1] != sink)),)
    chain: list[int | Parallel | Tangle] = []
    for u, v in pairwise(spine):
        chain += _region([stage for stage in inner if u < stage < v], u, v, mine)
        chain += [v] if v != sink else []
    return tuple(chain)


def _region(inner: list[int], fork: int, join: int, edges: list[Edge]) -> Chain:
    """Return the region between two adjacent stages of a chain: nothing, parallel branches, or a tangle."""
    if not inner:
        return ()
    branches = [_chain(part, fork, join, edges) for part in _components(inner, edges)]
    bypass: list[Chain] = [()] if (fork, join) in edges else []
    if len(branches) + len(bypass) == 1:
        return branches[0]
    return (Parallel(tuple(branches + bypass)),)


def _components(inner: Collection[int], edges: Iterable[Edge]) -> list[list[int]]:
    """Return the connected components of `inner`, each in ascending order, sorted by their lowest stage."""
    part = {stage: stage for stage in inner}
    for u, v in edges:
        if u in part and v in part:
            low, high = sorted((part[u], part[v]))
            part = {stage: low if root == high else root for stage, root in part.items()}
    return [[stage for stage in sorted(inner) if part[stage] == root] for root in sorted(set(part.values()))]
