"""Measures the cost of ESG's path search: prefixes kept and milliseconds, by space, stages, K and pruning blades."""

from __future__ import annotations

from dataclasses import dataclass
from statistics import median

import numpy as np

from ....envs.serverless.bank import make_bank
from ....policies.serverless.esg.search import Search
from ....policies.serverless.paths import PathSpace
from ....policies.serverless.tables import PlatformTables, platform_tables
from ....scenarios.catalog import find_source
from ....scenarios.seeds import HELD_OUT
from ..timing import Reading

WORLDS = {
    "S100": "moderate-normal:warmup_s=0:measured_s=1",
    "S256": "moderate-normal:grid=S256:vgpu=8:warmup_s=0:measured_s=1",
}
"""Configuration spaces by name, each with the world whose profiles are searched."""
WORKFLOW = "expanded-image-classification"
"""The workflow whose first stages form the group."""
STAGES, PATHS = {"S100": (1, 2, 3, 4, 5), "S256": (1, 2, 3)}, (1, 5)
"""Group sizes to search; with S256 one more stage takes 10 s, and two more take minutes."""
ALL_STAGES = (1, 2, 3, 4, 5)
LENGTH = 16
"""Number of waiting jobs."""
SLACK = 0.85
"""T* divided by the latency of the group at minimum configurations."""
REPEATS, LONG_MS = 3, 500.0
"""Number of timed searches; a search longer than this many milliseconds is timed once."""
QUICK_STAGES = 3
"""Stages of the longest group that a quick run searches."""


@dataclass(frozen=True)
class SearchCase:
    """The parameters of one search."""

    space: str
    stages: int
    k: int
    time_blade: bool = True
    cost_blade: bool = True
    pareto: bool = False
    """Leave out configurations that another one equals or beats in time and cost; exact for K = 1."""

    @property
    def name(self) -> str:
        """Name of the case in the names of readings."""
        marks = [
            (not self.time_blade, "no_time_blade"),
            (not self.cost_blade, "no_cost_blade"),
            (self.pareto, "pareto"),
        ]
        parts = [self.space, f"stages_{self.stages}", f"k_{self.k}", *(mark for given, mark in marks if given)]
        return ".".join(parts)


CASES = (
    *(SearchCase(space, stages, k) for space in WORLDS for stages in STAGES[space] for k in PATHS),
    SearchCase("S100", 3, 5, time_blade=False),
    SearchCase("S100", 3, 5, cost_blade=False),
    *(SearchCase(space, stages, 1, pareto=True) for space in WORLDS for stages in ALL_STAGES),
)


def search_readings(quick: bool) -> list[Reading]:
    """Return `esg.search_ms.*` and `esg.search_kept.*`; a `quick` run omits the longest groups."""
    tables = {space: _tables(world) for space, world in WORLDS.items()}
    readings = []
    for case in CASES:
        if not quick or case.stages <= QUICK_STAGES:
            kept, ms = time_search(tables[case.space], case)
            readings.append(Reading(f"esg.search_ms.{case.name}", ms, "ms"))
            readings.append(Reading(f"esg.search_kept.{case.name}", kept, "nodes"))
    return readings


def time_search(tables: PlatformTables, case: SearchCase) -> tuple[int, float]:
    """Return (prefixes kept, median ms) of a search for the first stages of the workflow."""
    workflow = next(w for w in tables.scenario.workflows if w.name == WORKFLOW)
    group, grid = list(workflow.functions[: case.stages]), tables.scenario.grid
    search = Search(PathSpace(tables.time[group], tables.cost[group], grid.batch, pareto=case.pareto))
    target = int(SLACK * np.sum(tables.time[group, 0]))
    found = [search.paths(target, LENGTH, case.k, case.time_blade, case.cost_blade)]
    while len(found) < REPEATS and found[0].ms < LONG_MS:
        found.append(search.paths(target, LENGTH, case.k, case.time_blade, case.cost_blade))
    return found[0].kept, median(run.ms for run in found)


def _tables(world: str) -> PlatformTables:
    return platform_tables(make_bank([find_source(world).build(HELD_OUT.first)]))
