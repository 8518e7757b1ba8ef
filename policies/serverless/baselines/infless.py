"""INFless (Yang et al., ASPLOS 2022), adapted to tasks: most throughput, on the invoker left with least free.

Its public code considers each configuration whose batch fits half of the function's SLO (the batch may gather for the
other half). It maximises the efficiency CRE = throughput / weighted resources left over on the node. In our version
the weights are prices instead of FLOPs, and the unit is a task instead of an instance. A function's SLO is its share of
the workflow's by minimum run times; slack is not inherited.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from ....envs.core import pytree
from ....envs.serverless.bank import Bank
from ....envs.serverless.state import TICKS_PER_S, World
from ....envs.serverless.view import Decision, View
from ....envs.serverless.world import fastest_ticks
from ....scenarios.checks import check_flag, check_number
from ..policy import SchedulerProgram, best_of, serve_or_wait, unless_lost
from ..tables import by_queue, platform_tables

SPARE = 1.001
"""A constant of the public code that keeps a full node's fragment above 0."""


@pytree
class InflessData:
    """Data of a bank. Q queues, X configurations, I invokers."""

    time: jax.Array  # [Q, X] int32 ticks
    batch: jax.Array  # [X] int32
    vcpu: jax.Array  # [X] int32
    vgpu: jax.Array  # [X] int32
    whole_vcpu: jax.Array  # [I] int32
    whole_vgpu: jax.Array  # [I] int32
    price: jax.Array  # [2] float32 weight of a vCPU and of a vGPU
    begins: jax.Array  # [Q] float32 share of the SLO before the stage
    quota: jax.Array  # [Q] float32 share of the stage, times the margin
    remaining: jax.Array  # [Q] int32
    cheap: jax.Array  # [Q, X] int32
    half: jax.Array  # [] bool
    gives_up: jax.Array  # [] bool


@dataclass(frozen=True)
class Infless:
    """The INFless scheduler, adapted to tasks."""

    name: str
    half: bool = True
    """Batches of more than one must run within half of the function's SLO."""
    margin: float = 1.0
    """Fraction of each function's SLO that the scheduler plans with."""
    give_up: bool = False
    """Spend as little as possible on requests that can no longer meet their SLO."""

    def __post_init__(self) -> None:
        check_number("margin", self.margin, 0, 10, above=True)
        check_flag("half", self.half)
        check_flag("give_up", self.give_up)

    @property
    def program(self) -> SchedulerProgram:
        """The scheduler's program, in pure JAX."""
        return PROGRAM

    def bind(self, bank: Bank) -> InflessData:
        """Return the profiles and SLO shares of a bank."""
        tables = platform_tables(bank)
        scenario, grid = tables.scenario, tables.scenario.grid
        shares = tables.shares(1, minimum_only=True)
        columns: dict[str, Any] = {
            "time": tables.time[tables.function],
            "batch": grid.batch,
            "vcpu": grid.vcpu,
            "vgpu": grid.vgpu,
            "whole_vcpu": scenario.vcpu,
            "whole_vgpu": scenario.vgpu,
            "price": np.array([scenario.prices.usd_per_vcpu_h, scenario.prices.usd_per_vgpu_h], np.float32),
            "begins": by_queue(shares, "start").astype(np.float32),
            "quota": (self.margin * by_queue(shares, "quota")).astype(np.float32),
            "remaining": fastest_ticks(tables.scenario),
            "cheap": tables.cheap(),
            "half": np.bool_(self.half),
            "gives_up": np.bool_(self.give_up),
        }
        return InflessData(**{name: jnp.asarray(column) for name, column in columns.items()})

    def adapt(self, worlds: World, data: Any) -> World:
        """Return the worlds unchanged."""
        return worlds


def efficiency(data: InflessData, view: View) -> jax.Array:
    """Return CRE [X] of each configuration on its best invoker, up to a factor per function; -inf: no candidate."""
    slo = data.quota[view.queue] * (view.slack + view.waited).astype(jnp.float32)
    time = data.time[view.queue].astype(jnp.float32)
    batch = data.batch.astype(jnp.float32)
    most = jnp.where((data.batch > 1) & data.half, slo / 2, slo)
    least_rate = jnp.where(data.batch > 1, batch * TICKS_PER_S / jnp.maximum(slo - time, 1.0), 0.0)
    candidate = (time <= most) & (view.rate_per_s >= least_rate)
    left = _fragment(data, view)  # [I, X]
    return jnp.where(candidate, batch / time, -jnp.inf) / jnp.min(left, axis=0)


def _fragment(data: InflessData, view: View) -> jax.Array:
    """Return the weighted share that a task would leave unused [I, X]; infinite if the task does not fit."""
    vcpu = view.free_vcpu[:, None] - data.vcpu[None]
    vgpu = view.free_vgpu[:, None] - data.vgpu[None]
    weight_c = data.whole_vcpu.astype(jnp.float32) * data.price[0]
    weight_g = data.whole_vgpu.astype(jnp.float32) * data.price[1]
    spare = SPARE - 1.0
    unused = weight_c[:, None] * (spare + vcpu / data.whole_vcpu[:, None]) + weight_g[:, None] * (
        spare + vgpu / data.whole_vgpu[:, None]
    )
    share = unused / (weight_c + weight_g)[:, None]
    return jnp.where((vcpu >= 0) & (vgpu >= 0), share, jnp.inf)


def choose(data: InflessData, view: View) -> Decision:
    """Choose the configuration of the largest CRE; its batch may gather as long as the function's SLO allows."""
    cre = efficiency(data, view)
    config, found = best_of(-cre, cre > 0)
    planned = jnp.minimum(config, cre.shape[0] - 1)
    slo = (view.slack + view.waited).astype(jnp.float32)
    end = (data.begins[view.queue] + data.quota[view.queue]) * slo
    gathers = (data.batch[planned] > view.length) & (
        (view.waited + data.time[view.queue, planned]).astype(jnp.float32) < end
    )
    # Out of time or without a candidate, use the best configuration that can run now.
    now = best_of(-cre, (cre > 0) & view.legal)
    fastest = best_of(data.time[view.queue], view.legal & (data.batch == 1))
    config = jnp.where(now[1], now[0], fastest[0])
    ready = jnp.where(found, now[1] & ~gathers, fastest[1])

    config, ready, _ = unless_lost(data, view, config, ready)
    return serve_or_wait(config, ready, cre.shape[0])


def scores(data: InflessData, view: View) -> jax.Array:
    """Return the log CRE of the legal configurations [X], -inf for the others."""
    cre = efficiency(data, view)
    return jnp.where(view.legal & (cre > 0), jnp.log(jnp.maximum(cre, 1e-30)), -jnp.inf)


PROGRAM = SchedulerProgram(choose, scores)
