"""`simulate`: a scenario, a policy and seeds in, typed records out."""

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
    """One record per seed: `Record` of `envs.cluster.record` or of `envs.serverless.record`.

    `seeds` are the seeds themselves: `seeds=3` is the one episode of seed 3, `seeds=range(3)` those of 0, 1 and 2
    (`compare` is told how many instead).
    `scenario` is a catalog name (`sia-64`, `strict-heavy:warm=2`), a source, the path of a cluster's trace, or a
    scenario of your own, which is the same for every seed; `policy` is a name of that kind's catalog or an object.
    Raises `InputError` for names and values that are not legal.
    """
    source, given = as_source(scenario), as_seeds(seeds)
    worlds = build_worlds(source, given)
    return run_policy(source, find_policy_of(kind_of_world(worlds[0]), policy), given, worlds)


def run_policy(source: Any, policy: Any, seeds: Sequence[int], worlds: Sequence[Any]) -> list[Any]:
    """Records of a policy on given worlds, one per seed."""
    kind = kind_of_world(worlds[0])
    return kind.run(source, policy, seeds, kind.bank(source, worlds))


class Fixed:
    """A source of one given scenario."""

    def __init__(self, scenario: Any) -> None:
        """Wrap `scenario`."""
        self.scenario = scenario
        self.name = scenario.name

    def build(self, seed: int) -> Any:
        """The scenario, whatever the seed."""
        return self.scenario

    def history(self) -> None:
        """None: nothing is known beforehand."""
        return


def as_source(scenario: Any) -> Any:
    """A source of either kind from whatever the caller has. Raises `InputError`."""
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
    """A list of whole numbers. Raises `InputError`."""
    many = isinstance(seeds, Sequence | np.ndarray) and not isinstance(seeds, str | bytes)
    given: list[object] = list(seeds) if many else [seeds]  # type: ignore[arg-type]
    whole = [int(s) for s in given if isinstance(s, Integral) and not isinstance(s, bool)]
    if not whole or len(whole) < len(given):
        raise InputError(f"seeds = {seeds!r}; legal: a seed, or a sequence of at least one (3: seed 3 alone)")
    return whole
