"""A lower bound on a request's cost: the oracle, which has no queues, no noise and no transfers."""

from __future__ import annotations

import numpy as np

from ...envs.serverless.world import latency_ticks, to_ticks
from ...scenarios.serverless.scenario import ServerlessScenario
from ...scenarios.types import Floats
from .costs import NO_PATH, in_units, job_cost_usd
from .frontier import path_costs, suffix_tables
from .paths import LaterBatch
from .tables import SECONDS_PER_TICK


def oracle_usd(scenario: ServerlessScenario) -> Floats:
    """Return the least cost in USD of a request of each workflow [A] that meets its SLO (spec e.6); NaN if none can.

    For a pipeline: the cheapest path of all stages within the SLO, any batch allowed (ESG's search with K = 1 over
    the whole chain). For other workflows, less tight: the sum of each stage's cheapest configuration within the SLO.
    """
    time, grid, prices = latency_ticks(scenario), scenario.grid, scenario.prices
    shares = (grid.batch, grid.vcpu, grid.vgpu)
    usd = job_cost_usd(time * SECONDS_PER_TICK, *shares, prices.usd_per_vcpu_h, prices.usd_per_vgpu_h)
    units = in_units(usd, scenario.stages)
    slo = to_ticks(np.array([workflow.slo_ms for workflow in scenario.workflows]))
    least = np.full(len(scenario.workflows), np.nan)
    for number, workflow in enumerate(scenario.workflows):
        functions = workflow.functions
        if len(workflow.edges) == workflow.stages - 1 and all(len(after) <= 1 for after in workflow.successors):
            tables = suffix_tables([functions], time, units.cost, grid.batch, 1, LaterBatch.FREE, int(slo[number]))
            cost = int(path_costs(tables, 0, int(slo[number]), max(grid.batches)).min())
        else:
            cost = sum(int(np.where(time[f] <= slo[number], units.cost[f], NO_PATH).min()) for f in functions)
        if cost < NO_PATH:
            least[number] = cost * units.unit_usd
    return least


def oracle_usd_per_request(scenario: ServerlessScenario) -> float:
    """Average `oracle_usd` over the counted requests of a scenario."""
    requests = scenario.requests
    return float(oracle_usd(scenario)[requests.workflow[requests.counted]].mean())
