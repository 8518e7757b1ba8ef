"""ESG: pipeline-conscious scheduling with re-planning at every visit (Hui et al., HPDC 2024); a reconstruction.

`esg-literal` follows the description as far as it is known. `esg` is our variant: it plans with a safety margin, forces
no minimum configuration, and spends little on requests that are lost.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import Any

import jax.numpy as jnp
import numpy as np

from ....envs.serverless.bank import Bank
from ....envs.serverless.state import World
from ....envs.serverless.world import without_locality
from ....scenarios.checks import as_member, check_flag, check_number, check_whole
from ....scenarios.types import Bools, Ints
from ..costs import NO_PATH
from ..frontier import FAR, suffix_tables
from ..paths import LaterBatch
from ..policy import NONE, SchedulerProgram
from ..slo import GROUP_STAGES, SloShares
from ..tables import PlatformTables, by_queue, platform_tables
from .fallback import best_effort, give_up
from .scoring import EsgData, choose, scores

PROGRAM = SchedulerProgram(choose, scores)
NEVER_FORCED = 2**30
STEPS = 64
"""Tables are padded to a multiple of this many steps."""


class NoPath(StrEnum):
    """What to run when no path ends in time."""

    BEST_EFFORT = "best_effort"
    """The fastest, so that the jobs waiting behind may be in time."""
    GIVE_UP = "give_up"
    """The cheapest, because the job is lost anyway."""


class Candidates(StrEnum):
    """What the list of first configurations contains."""

    CONFIGS = "configs"
    """The K cheapest first configurations, each rated by its best path."""
    PATHS = "paths"
    """The first configurations of the K cheapest paths; several paths may share one."""


@dataclass(frozen=True)
class Esg:
    """ESG, with a parameter for every choice that the paper leaves open."""

    name: str
    margin: float = 0.85
    """Fraction of T* that ESG plans with; the mean run times of a profile leave no room for noise."""
    k: int = 5
    """Number of paths, or of first configurations, that are kept."""
    candidates: Candidates = Candidates.CONFIGS
    group: int = GROUP_STAGES
    """Most stages that are planned together."""
    later_batch: LaterBatch = LaterBatch.LE_FIRST
    """Batches of later stages: at most the first stage's batch, or any."""
    no_path: NoPath = NoPath.GIVE_UP
    retries: int = -1
    """Failed visits after which the minimum configuration is forced; -1: never."""
    rescue: bool = False
    """Force it also when the slack is shorter than its run time."""
    replan: bool = True
    """T* is the time that is really left; otherwise the group's share of the SLO, as if it began on time."""
    sharing: bool = True
    """GPUs are shared; otherwise only configurations with the largest vGPU share are used."""
    batching: bool = True
    """Batches are used; otherwise every task takes one request."""
    locality: bool = True
    """Dispatch prefers invokers that hold the inputs."""

    def __post_init__(self) -> None:
        check_number("margin", self.margin, 0, 10, above=True)
        check_whole("k", self.k, 1, 64)
        check_whole("group", self.group, 1, 31)
        check_whole("retries", self.retries, -1, 10**6)
        for name, kind in (("candidates", Candidates), ("later_batch", LaterBatch), ("no_path", NoPath)):
            object.__setattr__(self, name, as_member(name, getattr(self, name), kind))
        for name in ("rescue", "replan", "sharing", "batching", "locality"):
            check_flag(name, getattr(self, name))

    @property
    def program(self) -> SchedulerProgram:
        """One program for all variants."""
        return PROGRAM

    def bind(self, bank: Bank) -> EsgData:
        """Return the tables of every queue, and the parameters as numbers."""
        tables = platform_tables(bank)
        grid = tables.scenario.grid
        allowed = np.ones(grid.size, bool)
        if not self.sharing:
            allowed &= grid.vgpu == max(grid.vgpus)
        if not self.batching:
            allowed &= grid.batch == 1
        shares = tables.shares(self.group)
        return EsgData(**_columns(self, tables, shares, allowed))

    def adapt(self, worlds: World, data: Any) -> World:
        """Return the worlds, without locality if it is switched off."""
        return without_locality(worlds) if not self.locality else worlds


def _columns(esg: Esg, tables: PlatformTables, shares: list[SloShares], allowed: Bools) -> dict[str, Any]:
    grid, workflows = tables.scenario.grid, tables.scenario.workflows
    suffixes = [
        tuple(workflow.functions[stage] for stage in share.suffix[first])
        for workflow, share in zip(workflows, shares, strict=True)
        for first in range(workflow.stages)
    ]
    deadline = by_queue(shares, "deadline")
    found = suffix_tables(
        suffixes,
        tables.time[:, allowed],
        tables.cost[:, allowed],
        grid.batch[allowed],
        k=esg.k if esg.candidates is Candidates.PATHS else 1,
        later_batch=esg.later_batch,
        longest=np.ceil(max(esg.margin, 1.0) * deadline * tables.most_slo[tables.workflow]) + 1,
    )
    fallback = np.stack([_fallback(esg, tables.time[f], tables.cost[f], grid.batch, allowed) for f in tables.function])
    return {
        "time": jnp.asarray(tables.time[tables.function]),
        "cost": jnp.asarray(tables.cost[tables.function]),
        "step_time": jnp.asarray(_few_shapes(found.step_time, 0, FAR).transpose(0, 2, 1)),
        "step_cost": jnp.asarray(_few_shapes(found.step_cost, 1, NO_PATH)),
        "begins": jnp.asarray(by_queue(shares, "start"), jnp.float32),
        "deadline": jnp.asarray(deadline, jnp.float32),
        "batch": jnp.asarray(grid.batch),
        "allowed": jnp.asarray(allowed),
        "fallback": jnp.asarray(fallback),
        "fullest": jnp.bool_(esg.no_path is NoPath.BEST_EFFORT),
        "margin": jnp.float32(esg.margin),
        "candidates": jnp.int32(esg.k),
        "replan": jnp.bool_(esg.replan),
        "retries": jnp.int32(NEVER_FORCED if esg.retries < 0 else esg.retries),
        "rescue": jnp.bool_(esg.rescue),
        "least": jnp.int32(np.flatnonzero(allowed)[0]),
    }


def _few_shapes(table: Ints, more: int, rest: int) -> Ints:
    """Round up M of a table [Q, B, M (+ `more`), ...], because each shape needs its own program."""
    steps = table.shape[2] - more
    room = -(-steps // STEPS) * STEPS - steps
    return np.pad(table, [(0, 0), (0, 0), (0, room), *[(0, 0)] * (table.ndim - 3)], constant_values=rest)


def _fallback(esg: Esg, time: Ints, cost: Ints, batch: Ints, allowed: Bools) -> Ints:
    """Rank a function's configurations [X] for when no path ends in time; `best_effort` ranks within each batch."""
    rank = np.full(len(batch), NONE, np.int32)
    own = np.flatnonzero(allowed)
    if esg.no_path is NoPath.GIVE_UP:
        order = give_up(cost[own], batch[own], int(batch.max()))
        rank[own[order]] = np.arange(len(order))
        return rank
    for size in np.unique(batch[own]):
        order = best_effort(time[own], cost[own], batch[own], int(size))
        rank[own[order]] = np.arange(len(order))
    return rank
