"""What every scheduler knows about a platform: mean run times, costs, and the SLO shares of each workflow, by queue."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ...envs.serverless.bank import Bank
from ...envs.serverless.world import latency_ticks, to_ticks
from ...scenarios.serverless.scenario import ServerlessScenario
from ...scenarios.types import Floats, Ints
from .costs import in_units, job_cost_usd
from .slo import SloShares, share_slo

SECONDS_PER_TICK = 1e-5


@dataclass(frozen=True)
class PlatformTables:
    """Tables of a platform. Q queues, X configurations; times in ticks, costs per job in whole units."""

    scenario: ServerlessScenario
    time: Ints  # [F, X]
    cost: Ints  # [F, X]
    function: Ints  # [Q]
    most_slo: Ints
    """Longest SLO in the bank by workflow [A], in ticks."""

    @property
    def workflow(self) -> Ints:
        """Workflow of each queue [Q]."""
        return np.array([w for w, _ in self.scenario.queues], np.int32)

    def shares(self, most: int, minimum_only: bool = False) -> list[SloShares]:
        """Return each workflow's SLO shares for groups of at most `most` stages, by all or minimum configurations."""
        time = self.time[:, :1] if minimum_only else self.time
        return [share_slo(time[list(w.functions)], w.edges, most) for w in self.scenario.workflows]

    def cheap(self) -> Ints:
        """Return the rank of each configuration by cost per job [Q, X], ties by number."""
        order = np.argsort(self.cost[self.function], axis=1, kind="stable")
        return np.asarray(np.argsort(order, axis=1, kind="stable"), np.int32)


def platform_tables(bank: Bank) -> PlatformTables:
    """Return the tables of a bank's platform."""
    scenario = bank.scenarios[0]
    time, grid, prices = latency_ticks(scenario), scenario.grid, scenario.prices
    usd = job_cost_usd(
        time * SECONDS_PER_TICK, grid.batch, grid.vcpu, grid.vgpu, prices.usd_per_vcpu_h, prices.usd_per_vgpu_h
    )
    slo = [to_ticks(np.array([w.slo_ms for w in s.workflows])) for s in bank.scenarios]
    function = [scenario.workflows[w].functions[stage] for w, stage in scenario.queues]
    return PlatformTables(
        scenario, time, in_units(usd, scenario.stages).cost, np.array(function, np.int32), np.max(slo, axis=0)
    )


def by_queue(shares: list[SloShares], name: str) -> Floats:
    """Return a column of the shares by queue [Q]."""
    return np.concatenate([getattr(share, name) for share in shares])
