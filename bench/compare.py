"""`compare`: scenarios x policies x seeds from Python."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from ..scenarios.errors import InputError
from ..scenarios.seeds import HELD_OUT, VALIDATION
from .grid.experiment import Grid, Results, run_grid, usual_baseline
from .grid.world_kinds import find_policy_of, kind_of
from .simulate import as_source

MOST_SEEDS = VALIDATION.first - 1
"""A larger number is probably the seed of a bank, given by mistake as the number of seeds."""


def compare(
    scenarios: str | Sequence[Any],
    policies: str | Sequence[Any],
    seeds: int = 10,
    seed_start: int = HELD_OUT.first,
    baseline: str | None = None,
    out: Path | str | None = None,
) -> Results:
    """Run every policy on the same worlds; `show_results(results)` prints the tables.

    `scenarios` (names, sources or scenarios of your own) are all of one kind of world; `policies` are
    names of their catalog or policy objects. `seeds` is how *many* seeds are run, from `seed_start` on: `seeds=3` runs
    200000, 200001 and 200002 (`simulate` takes the seeds themselves). `baseline` is what ratios are taken to, one of
    the policies: by default `fifo+packed+sticky` or `esg`, or the first policy where that is not run.
    With `out`, rows go to `out/rows.csv` as they finish and a later call continues there. Raises `InputError`.
    """
    given = [scenarios] if isinstance(scenarios, str) else scenarios
    deciders = [policies] if isinstance(policies, str) else policies
    if not isinstance(seeds, int) or isinstance(seeds, bool) or not 1 <= seeds <= MOST_SEEDS:
        raise InputError(f"seeds = {seeds!r}; legal: how many, 1 to {MOST_SEEDS} (seed_start says where they begin)")
    sources = tuple(as_source(scenario) for scenario in given)
    if not sources:
        raise InputError("no scenario to run; at least one is needed")
    kind = kind_of(sources[0])
    chosen = tuple(find_policy_of(kind, policy) for policy in deciders)
    grid = Grid(
        sources=sources,
        policies=chosen,
        seeds=tuple(range(seed_start, seed_start + seeds)),
        baseline=baseline or usual_baseline(kind, chosen, kind.usual_baseline),
    )
    if baseline:
        grid.check_baseline()
    return run_grid(grid, Path(out) if out is not None else None)
