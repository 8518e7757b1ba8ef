"""Computes, on the host, the facts of a platform that the learned ESG measures a visit against."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import jax
import jax.numpy as jnp
import numpy as np
from numpy.typing import ArrayLike

from ....scenarios.serverless.workflows import Workflow
from ....scenarios.types import Floats
from ..slo import SloShares
from ..tables import PlatformTables, by_queue
from .features import PlatformFacts


def facts_of(tables: PlatformTables, shares: list[SloShares]) -> PlatformFacts:
    """Return the facts of a platform; `shares` are the SLO shares of ESG's groups."""
    scenario, grid = tables.scenario, tables.scenario.grid
    single = np.flatnonzero(grid.batch == 1)
    cheap = single[np.argmin(tables.cost[:, single], axis=1)]  # [F]
    fastest, cheapest = tables.time.min(axis=1), tables.time[np.arange(len(cheap)), cheap]
    work = np.asarray(cheapest * grid.vgpu[cheap], np.float64)
    group = _group_ticks(scenario.workflows, shares, fastest)
    stages = [(w, stage) for w in scenario.workflows for stage in range(w.stages)]
    return PlatformFacts(
        fastest_group=_column(group),
        fastest_rest=_column(_by_stage(_ticks_to_end, scenario.workflows, fastest) - group),
        cheapest_end=_column(_by_stage(_ticks_to_end, scenario.workflows, cheapest)),
        work=_column(work[tables.function]),
        work_to_end=_column(_by_stage(_work_to_end, scenario.workflows, work)),
        mean_work=_column(np.mean([sum(work[f] for f in w.functions) for w in scenario.workflows])),
        begins=_column(by_queue(shares, "start")),
        entry=jnp.asarray([not w.predecessors[stage] for w, stage in stages]),
        final=jnp.asarray([not w.successors[stage] for w, stage in stages]),
        workflow=jnp.asarray(tables.workflow),
        workflows=_column(len(scenario.workflows)),
        vcpus=_column(scenario.vcpu.sum()),
        vgpus=_column(scenario.vgpu.sum()),
        largest=_column(max(grid.vgpus)),
    )


def _column(values: ArrayLike) -> jax.Array:
    return jnp.asarray(values, jnp.float32)


def _by_stage(of: Callable[[Workflow, Floats], Floats], workflows: Sequence[Workflow], values: ArrayLike) -> Floats:
    """Apply `of` to every workflow and the values [F] of its functions; return the results by queue [Q]."""
    table = np.asarray(values, np.float64)
    return np.concatenate([of(w, table[list(w.functions)]) for w in workflows])


def _group_ticks(workflows: Sequence[Workflow], shares: Sequence[SloShares], ticks: ArrayLike) -> Floats:
    """Return the ticks through the rest of each queue's group [Q], including its own stage."""
    table = np.asarray(ticks, np.float64)
    return np.array(
        [
            sum(table[w.functions[s]] for s in share.suffix[stage])
            for w, share in zip(workflows, shares, strict=True)
            for stage in range(w.stages)
        ]
    )


def _ticks_to_end(workflow: Workflow, ticks: Floats) -> Floats:
    """Return the ticks of the longest path from each stage, itself included, to the end [S]; `ticks` is [S]."""
    total = np.zeros(workflow.stages)
    for stage in reversed(range(workflow.stages)):
        total[stage] = ticks[stage] + max((total[s] for s in workflow.successors[stage]), default=0.0)
    return total


def _work_to_end(workflow: Workflow, work: Floats) -> Floats:
    """Return the work of each stage and of all stages that follow it [S]; `work` is [S]."""
    after: list[set[int]] = [set() for _ in range(workflow.stages)]
    for stage in reversed(range(workflow.stages)):
        after[stage] = {stage}.union(*(after[s] for s in workflow.successors[stage]))
    return np.array([sum(work[s] for s in stages) for stages in after])
