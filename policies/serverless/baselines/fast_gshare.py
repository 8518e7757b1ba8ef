"""FaST-GShare (Gu et al., ICPP 2023), adapted to tasks: most throughput per GPU share, leftovers on the least share.

Its public code runs replicas of the most efficient partition, and serves the remaining load by the smallest partition
that suffices. Our version starts a task of the configuration with the largest batch / (time x vGPU) within the
function's SLO. If fewer requests wait than that batch, it uses the fewest vGPUs that serve them in time. vCPUs are
fixed, and dispatch ignores where inputs are.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from ....envs.core import pytree
from ....envs.serverless.bank import Bank
from ....envs.serverless.state import World
from ....envs.serverless.view import Decision, View
from ....envs.serverless.world import fastest_ticks, without_locality
from ....scenarios.checks import check_flag, check_number, check_whole
from ..policy import SchedulerProgram, best_of, serve_or_wait, unless_lost
from ..tables import by_queue, platform_tables


@pytree
class GShareData:
    """Data of a bank. Q queues, X configurations."""

    time: jax.Array  # [Q, X] int32 ticks
    batch: jax.Array  # [X] int32
    vgpu: jax.Array  # [X] int32
    own: jax.Array  # [X] bool, has the fixed vCPUs
    quota: jax.Array  # [Q] float32 share of the workflow's SLO, times the margin
    remaining: jax.Array  # [Q] int32
    cheap: jax.Array  # [Q, X] int32
    gives_up: jax.Array  # [] bool


@dataclass(frozen=True)
class FastGShare:
    """The FaST-GShare scheduler, adapted to tasks."""

    name: str
    vcpus: int = 2
    """vCPUs of every task; rounded to the nearest value of the grid."""
    margin: float = 1.0
    """Fraction of each function's SLO that the scheduler plans with."""
    give_up: bool = False
    """Spend as little as possible on requests that can no longer meet their SLO."""

    def __post_init__(self) -> None:
        check_whole("vcpus", self.vcpus, 1, 1024)
        check_number("margin", self.margin, 0, 10, above=True)
        check_flag("give_up", self.give_up)

    @property
    def program(self) -> SchedulerProgram:
        """The scheduler's program, in pure JAX."""
        return PROGRAM

    def bind(self, bank: Bank) -> GShareData:
        """Return the profiles and SLO shares of a bank."""
        tables = platform_tables(bank)
        grid = tables.scenario.grid
        fixed = min(grid.vcpus, key=lambda vcpus: (abs(vcpus - self.vcpus), vcpus))
        quota = self.margin * by_queue(tables.shares(1, minimum_only=True), "quota")
        columns: dict[str, Any] = {
            "time": tables.time[tables.function],
            "batch": grid.batch,
            "vgpu": grid.vgpu,
            "own": grid.vcpu == fixed,
            "quota": quota.astype(np.float32),
            "remaining": fastest_ticks(tables.scenario),
            "cheap": tables.cheap(),
            "gives_up": np.bool_(self.give_up),
        }
        return GShareData(**{name: jnp.asarray(column) for name, column in columns.items()})

    def adapt(self, worlds: World, data: Any) -> World:
        """Return the worlds without locality: dispatch is a best fit on free vGPUs, wherever the inputs are."""
        return without_locality(worlds)


def efficiency(data: GShareData, view: View) -> jax.Array:
    """Return the throughput per vGPU [X] within the function's SLO; 0: not a candidate."""
    time = data.time[view.queue].astype(jnp.float32)
    in_time = time <= data.quota[view.queue] * (view.slack + view.waited).astype(jnp.float32)
    batch, vgpu = data.batch.astype(jnp.float32), data.vgpu.astype(jnp.float32)
    return jnp.where(in_time & data.own, batch / (time * vgpu), 0.0)


def choose(data: GShareData, view: View) -> Decision:
    """Choose the most efficient configuration, or for a short queue the smallest that serves it in time."""
    gain = efficiency(data, view)
    best, found = best_of(-gain, gain > 0)
    full = found & (data.batch[jnp.minimum(best, gain.shape[0] - 1)] <= view.length)
    most = jnp.max(jnp.where((gain > 0) & (data.batch <= view.length), data.batch, 0))
    residue = (gain > 0) & (data.batch == most)
    smallest = jnp.min(jnp.where(residue, data.vgpu, 2**30))
    rest, can_rest = best_of(-gain, residue & (data.vgpu == smallest))
    config, planned = jnp.where(full, best, rest), full | can_rest
    # If no configuration is in time, use the fastest with batch 1 and the fixed vCPUs.
    fastest, can_fastest = best_of(data.time[view.queue], data.own & (data.batch == 1) & view.legal)
    config = jnp.where(planned, config, fastest)
    ready = jnp.where(planned, view.legal[jnp.minimum(config, gain.shape[0] - 1)], can_fastest)

    config, ready, _ = unless_lost(data, view, config, ready)
    return serve_or_wait(config, ready, gain.shape[0])


def scores(data: GShareData, view: View) -> jax.Array:
    """Return the log throughput per vGPU of the legal configurations [X], -inf for the others."""
    gain = efficiency(data, view)
    return jnp.where(view.legal & (gain > 0), jnp.log(jnp.maximum(gain, 1e-30)), -jnp.inf)


PROGRAM = SchedulerProgram(choose, scores)
