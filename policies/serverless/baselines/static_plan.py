"""Static plans, which fix one configuration per stage before the run: following a plan, and the two extreme plans.

A *configuration miss* (spec e.7) occurs when the planned configuration cannot run: its batch is larger than the queue,
or no invoker has room. Then the nearest one that fits is used: the same shares with the nearest smaller batch; else the
nearest smaller batch and shares, compared by batch, then vGPUs, then vCPUs.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from ....envs.core import pytree
from ....envs.serverless.bank import Bank
from ....envs.serverless.state import TICKS_PER_MS, World
from ....envs.serverless.view import Decision, View
from ....envs.serverless.world import fastest_ticks
from ....scenarios.types import Ints
from ..policy import best_of, serve_or_wait, unless_lost
from ..tables import PlatformTables, platform_tables


@pytree
class PlanData:
    """Data of a bank's plans. V plans, Q queues, X configurations."""

    plan: jax.Array  # [V, Q] int32 configuration
    batch: jax.Array  # [X] int32
    vcpu: jax.Array  # [X] int32
    vgpu: jax.Array  # [X] int32
    remaining: jax.Array  # [Q] int32 fewest ticks to the end of the workflow
    cheap: jax.Array  # [Q, X] int32 rank by cost per job
    strict: jax.Array  # [] bool wait for the planned shares rather than use others
    gives_up: jax.Array  # [] bool spend as little as possible on requests that are lost
    delay: jax.Array  # [] int32 ticks of planning before a request's first stage


@dataclass(frozen=True)
class PlanProgram:
    """Follows one of the plans, drawn at the start, throughout an episode."""

    def start(self, data: PlanData, key: jax.Array) -> jax.Array:
        """Draw a plan at random."""
        return jax.random.randint(key, (), 0, data.plan.shape[0])

    def act(self, data: PlanData, view: View, memory: jax.Array, key: jax.Array) -> tuple[Decision, jax.Array]:
        """Choose the planned configuration, or the nearest that fits."""
        return follow(data, view, data.plan[memory, view.queue]), memory

    def act_now(self, data: PlanData, view: View) -> Decision:
        """Do the same under the first plan, as an environment does to show its base's choice."""
        return follow(data, view, data.plan[0, view.queue])

    def scores(self, data: PlanData, view: View) -> jax.Array:
        """Return 0 for the first plan's configuration, less for others by their distance from it, -inf if illegal."""
        distance = _distance(data, data.plan[0, view.queue]).astype(jnp.float32)
        return jnp.where(view.legal, -distance / 1e6, -jnp.inf)


PROGRAM = PlanProgram()


FARTHER = 2**30
"""Added to the distance of configurations with other shares; above any distance, as values are at most 1024."""


def _distance(data: PlanData, planned: jax.Array) -> jax.Array:
    """Return the distance of each configuration [X] from the planned one: by batch, then vGPUs, then vCPUs."""
    batch, vcpu, vgpu = (jnp.abs(axis - axis[planned]) for axis in (data.batch, data.vcpu, data.vgpu))
    return (batch * 1024 + vgpu) * 1024 + vcpu


def follow(data: PlanData, view: View, planned: jax.Array) -> Decision:
    """Choose `planned` if it can run, else the nearest configuration that can."""
    within = (data.batch <= data.batch[planned]) & (data.vcpu <= data.vcpu[planned])
    same = (data.vcpu == data.vcpu[planned]) & (data.vgpu == data.vgpu[planned])
    usable = view.legal & within & (data.vgpu <= data.vgpu[planned]) & (same | ~data.strict)
    config, found = best_of(jnp.where(same, 0, FARTHER) + _distance(data, planned), usable)

    config, found, lost = unless_lost(data, view, config, found)
    return serve_or_wait(config, found, data.batch.shape[0], missed=(config != planned) & ~lost)


@dataclass(frozen=True)
class FixedPlan:
    """Uses the same configuration for every stage, the smallest or the largest, and waits until it fits."""

    name: str
    largest: bool = False

    @property
    def program(self) -> PlanProgram:
        """One program for all plans."""
        return PROGRAM

    def bind(self, bank: Bank) -> PlanData:
        """Return the plan of a bank."""
        tables = platform_tables(bank)
        grid = tables.scenario.grid
        config = grid.index(1, grid.vcpus[-1], grid.vgpus[-1]) if self.largest else 0
        return plan_data(tables, np.full((1, len(tables.function)), config, np.int32), strict=True)

    def adapt(self, worlds: World, data: PlanData) -> World:
        """Return the worlds unchanged."""
        return worlds


def plan_data(
    tables: PlatformTables, plan: Ints, strict: bool = False, gives_up: bool = False, delay_ms: float = 0.0
) -> PlanData:
    """Make the program's data: `plan` [V, Q], how strictly it is followed, and tables of the platform."""
    grid = tables.scenario.grid
    columns: dict[str, Any] = {
        "plan": plan,
        "batch": grid.batch,
        "vcpu": grid.vcpu,
        "vgpu": grid.vgpu,
        "remaining": fastest_ticks(tables.scenario),
        "cheap": tables.cheap(),
        "strict": np.bool_(strict),
        "gives_up": np.bool_(gives_up),
        "delay": np.int32(np.rint(delay_ms * TICKS_PER_MS)),
    }
    return PlanData(**{name: jnp.asarray(column) for name, column in columns.items()})
