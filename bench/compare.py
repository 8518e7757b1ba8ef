"""`compare`: scenarios x policies x seeds from Python."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from ..policies.types import Policy
from ..scenarios.catalog import HELD_OUT
from ..scenarios.errors import InputError
from ..scenarios.source import Source
from ..scenarios.types import ClusterScenario
from .experiment import Grid, Results, run_grid, usual_baseline
from .simulate import as_policy, as_source

USUAL = "fifo+packed+sticky"
"""The baseline of PAL's evaluation."""


def compare(
    scenarios: str | Sequence[str | Source | ClusterScenario],
    policies: str | Sequence[str | Policy],
    seeds: int = 10,
    seed_start: int = HELD_OUT.first,
    baseline: str | None = None,
    out: Path | str | None = None,
) -> Results:
    """Run every policy on the same worlds; `show_results(results)` prints the tables.

    `baseline` is what ratios are taken to: by default `fifo+packed+sticky`, or the first policy where that is not run.
    With `out`, rows go to `out/rows.csv` as they finish and a later call continues there. Raises `InputError`.
    """
    given = [scenarios] if isinstance(scenarios, str) else scenarios
    deciders = [policies] if isinstance(policies, str) else policies
    if not isinstance(seeds, int) or isinstance(seeds, bool) or seeds < 1:
        raise InputError(f"seeds = {seeds!r}; legal: how many, at least 1 (seed_start says where they begin)")
    chosen = tuple(as_policy(policy) for policy in deciders)
    grid = Grid(
        sources=tuple(as_source(scenario) for scenario in given),
        policies=chosen,
        seeds=tuple(range(seed_start, seed_start + seeds)),
        baseline=baseline or usual_baseline(chosen, USUAL),
    )
    return run_grid(grid, Path(out) if out is not None else None)
