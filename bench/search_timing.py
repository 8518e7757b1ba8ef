"""What ESG's path search costs: prefixes kept and milliseconds, by space, stages, K and pruning blades."""

from __future__ import annotations

from dataclasses import dataclass
from statistics import median

import numpy as np

from ..envs.serverless.bank import make_bank
from ..policies.serverless.paths import PathSpace
from ..policies.serverless.search import Search
from ..policies.serverless.tables import PlatformTables, platform_tables
from ..scenarios.catalog import HELD_OUT, find_serverless
from .timing import Reading

WORLDS = {
    "S100": "moderate-normal:warmup_s=0:measured_s=1",
    "S256": "moderate-normal:grid=S256:vgpu=8:warmup_s=0:measured_s=1",
}
"""Spaces by name: a world whose profiles are searched."""
WORKFLOW = "expanded-image-classification"
"""Its first stages are the group."""
STAGES, PATHS = (1, 2, 3, 4, 5), (1, 5)
LENGTH = 16
"""Jobs that wait."""
SLACK = 0.85
"""T* over the latency of the group at minimum configurations."""
REPEATS = 3
QUICK_STAGES = 3
"""Longest group that is searched in a quick run."""


@dataclass(frozen=True)
class SearchCase:
    """One search."""

    space: str
    stages: int
    k: int
    time_blade: bool = True
    cost_blade: bool = True

    @property
    def name(self) -> str:
        """As in the names of readings."""
        blades = {(True, True): "", (False, True): ".no_time_blade", (True, False): ".no_cost_blade"}
        return f"{self.space}.stages_{self.stages}.k_{self.k}{blades[self.time_blade, self.cost_blade]}"


CASES = (
    *(SearchCase(space, stages, k) for space in WORLDS for stages in STAGES for k in PATHS),
    SearchCase("S100", 3, 5, time_blade=False),
    SearchCase("S100", 3, 5, cost_blade=False),
)


def search_readings(quick: bool) -> list[Reading]:
    """`esg.search_ms.*` and `esg.search_kept.*`; in a `quick` run without the longest groups."""
    tables = {space: _tables(world) for space, world in WORLDS.items()}
    readings = []
    for case in CASES:
        if not quick or case.stages <= QUICK_STAGES:
            kept, ms = time_search(tables[case.space], case)
            readings.append(Reading(f"esg.search_ms.{case.name}", ms, "ms"))
            readings.append(Reading(f"esg.search_kept.{case.name}", kept, "nodes"))
    return readings


def time_search(tables: PlatformTables, case: SearchCase) -> tuple[int, float]:
    """(prefixes kept, median ms) of a search for the first stages of the workflow."""
    workflow = next(w for w in tables.scenario.workflows if w.name == WORKFLOW)
    group, grid = list(workflow.functions[: case.stages]), tables.scenario.grid
    search = Search(PathSpace(tables.time[group], tables.cost[group], grid.batch))
    target = int(SLACK * np.sum(tables.time[group, 0]))
    found = [search.paths(target, LENGTH, case.k, case.time_blade, case.cost_blade) for _ in range(REPEATS)]
    return found[0].kept, median(run.ms for run in found)


def _tables(world: str) -> PlatformTables:
    return platform_tables(make_bank([find_serverless(world).build(HELD_OUT.first)]))
