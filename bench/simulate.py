"""`simulate`: runs a policy on a scenario for given seeds, and returns typed records."""

from __future__ import annotations

from collections.abc import Sequence
from numbers import Integral
from pathlib import Path
from typing import Any

import numpy as np

from ..scenarios.catalog import find_source
from ..scenarios.cluster.source import ClusterFiles
from ..scenarios.errors import InputError
from .grid.preparation import build_worlds
from .grid.world_kinds import KINDS, find_policy_of, kind_of_world


def simulate(scenario: Any, policy: Any, seeds: int | Sequence[int] = 0) -> list[Any]:
    """Return one record per seed: `Record` of `envs.cluster.record` or of `envs.serverless.record`.

    `seeds` are the seeds themselves: `seeds=3` runs one episode with seed 3, `seeds=range(3)` runs seeds 0, 1 and 2
    (`compare` takes the number of seeds instead).
    `scenario` is a catalog name (`sia-64`, `strict-heavy:warm=2`), a source, the path of a cluster's trace, or a
    scenario of your own, which is the same for every seed; `policy` is a name of that kind's catalog or an object.
    Raises `InputError` for illegal names and values.
    """
    source, given = as_source(scenario), as_seeds(seeds)
    worlds = build_worlds(source, given)
    return run_policy(source, find_policy_of(kind_of_world(worlds[0]), policy), given, worlds)


def run_policy(source: Any, policy: Any, seeds: Sequence[int], worlds: Sequence[Any]) -> list[Any]:
    """Return the records of a policy on given worlds, one per seed."""
    kind = kind_of_world(worlds[0])
    return kind.run(source, policy, seeds, kind.bank(source, worlds))


class Fixed:
    """A source that always gives the same scenario."""

    def __init__(self, scenario: Any) -> None:
        """Wrap `scenario`."""
        self.scenario = scenario
        self.name = scenario.name

    def build(self, seed: int) -> Any:
        """Return the scenario for any seed."""
        return self.scenario

    def history(self) -> None:
        """Return None: there is no job history."""
        return


def as_source(scenario: Any) -> Any:
    """Convert a name, path, scenario or source to a source. Raises `InputError` for anything else."""
    if isinstance(scenario, str):
        return find_source(scenario)
    if isinstance(scenario, Path):
        return ClusterFiles(scenario)
    if isinstance(scenario, tuple(kind.scenario for kind in KINDS.values())):
        return Fixed(scenario)
    if not hasattr(scenario, "build"):
        legal = ", ".join(kind.scenario.__name__ for kind in KINDS.values())
        raise InputError(f"scenario = {scenario!r}; legal: a name, a path, a source, {legal}")
    return scenario


def as_seeds(seeds: int | Sequence[int]) -> list[int]:
    """Convert one seed or a sequence to a list of ints. Raises `InputError` for anything else."""
    many = isinstance(seeds, Sequence | np.ndarray) and not isinstance(seeds, str | bytes)
    given: list[object] = list(seeds) if many else [seeds]  # type: ignore[arg-type]
    whole = [int(s) for s in given if isinstance(s, Integral) and not isinstance(s, bool)]
    if not whole or len(whole) < len(given):
        raise InputError(f"seeds = {seeds!r}; legal: a seed, or a sequence of at least one (3: seed 3 alone)")
    return whole
