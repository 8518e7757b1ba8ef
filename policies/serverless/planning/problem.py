"""The input of an offline planner: one workflow, its profile, its SLO, and the prices of resources.

A static plan is one configuration per stage, fixed before requests arrive. Its planned latency is execution time only:
no queueing, no transfer, no cold start, as in Orion's and Aquatope's released planners (spec e.4, e.5).
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from ....scenarios.checks import as_array, check_each, check_whole
from ....scenarios.errors import InputError
from ....scenarios.serverless.configs import ConfigGrid
from ....scenarios.serverless.noise import Noise
from ....scenarios.serverless.scenario import Prices
from ....scenarios.serverless.workflows import MOST_STAGES
from ....scenarios.types import Ints
from ..costs import UnitCosts, in_units, job_cost_usd

TICKS_PER_S = 100_000
TICKS_PER_MS = 100
PERCENTILE = 0.95
"""Share of requests that a plan should serve within the SLO (Orion's default target)."""

Configs = tuple[int, ...]
"""Configuration number per stage [S]."""


@dataclass(frozen=True, eq=False)
class PlanProblem:
    """One workflow to plan. S stages, in topological order with one entry and one exit; X configurations."""

    latency_ticks: Ints
    """Mean latency of a whole batch [S, X]."""
    grid: ConfigGrid
    edges: tuple[tuple[int, int], ...]
    slo_ticks: int
    """Target latency; for a safety margin, pass less than the SLO."""
    prices: Prices = Prices()
    noise: Noise = Noise()
    """How run times vary around the profile."""

    def __post_init__(self) -> None:
        latency = as_array("latency_ticks", self.latency_ticks, np.int32, 2)
        object.__setattr__(self, "latency_ticks", latency)
        check_whole("number of stages", len(latency), 1, MOST_STAGES)
        check_each("latency_ticks", latency, latency >= 1, "at least 1 tick")
        check_whole("slo_ticks", self.slo_ticks, 1, 2**31 - 1)
        if latency.shape[1] != self.grid.size:
            raise InputError(
                f"latency_ticks has {latency.shape[1]} configurations; legal: {self.grid.size}, as the grid"
            )
        for edge in self.edges:
            if not 0 <= edge[0] < edge[1] < self.stages:
                raise InputError(f"edge {edge}; legal: (stage, higher stage) of {self.stages} stages")

    @property
    def stages(self) -> int:
        """S, the number of stages."""
        return len(self.latency_ticks)

    @property
    def axes(self) -> tuple[int, int, int]:
        """Number of values on each axis of the grid: batch, vCPU, vGPU."""
        return len(self.grid.batches), len(self.grid.vcpus), len(self.grid.vgpus)

    @cached_property
    def costs(self) -> UnitCosts:
        """Cost of one job [S, X]: the cost of a task divided by its batch."""
        grid, prices = self.grid, self.prices
        seconds = self.latency_ticks / TICKS_PER_S
        shares = (grid.batch, grid.vcpu, grid.vgpu)
        return in_units(job_cost_usd(seconds, *shares, prices.usd_per_vcpu_h, prices.usd_per_vgpu_h), self.stages)

    def cost(self, configs: Sequence[int]) -> int:
        """Return the cost of a request under a plan in cost units, at mean latencies."""
        return int(self.costs.cost[np.arange(self.stages), configs].sum())

    def cost_usd(self, configs: Sequence[int]) -> float:
        """Return the cost of a request under a plan in USD, at mean latencies."""
        return self.cost(configs) * self.costs.unit_usd

    @property
    def digest(self) -> str:
        """SHA-256 over all parts of the problem that determine a plan."""
        parts = (self.grid, self.edges, self.slo_ticks, self.prices, self.noise, self.latency_ticks.shape)
        return hashlib.sha256(repr(parts).encode() + self.latency_ticks.astype("<i4").tobytes()).hexdigest()
