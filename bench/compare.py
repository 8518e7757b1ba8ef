"""`compare`: scenarios x policies x seeds from Python."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from ..policies.catalog import find_policy
from ..policies.types import Policy
from ..scenarios.catalog import HELD_OUT
from ..scenarios.source import Source
from ..scenarios.types import ClusterScenario
from .experiment import Grid, Results, run_grid
from .simulate import as_source


def compare(
    scenarios: str | Sequence[str | Source | ClusterScenario],
    policies: Sequence[str | Policy],
    seeds: int = 10,
    seed_start: int = HELD_OUT.first,
    baseline: str = "fifo+packed+sticky",
    out: Path | None = None,
) -> Results:
    """Run every policy on the same worlds; `show_results(results)` prints the tables.

    With `out`, rows go to `out/rows.csv` as they finish and a later call continues there. Raises `InputError`.
    """
    given = [scenarios] if isinstance(scenarios, str) else scenarios
    grid = Grid(
        sources=tuple(as_source(scenario) for scenario in given),
        policies=tuple(find_policy(policy) if isinstance(policy, str) else policy for policy in policies),
        seeds=tuple(range(seed_start, seed_start + seeds)),
        baseline=baseline,
    )
    return run_grid(grid, out)
