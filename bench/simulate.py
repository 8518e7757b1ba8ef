"""`simulate`: a scenario, a policy and seeds in, typed records out."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from math import ceil
from numbers import Integral
from pathlib import Path

import numpy as np

from ..envs.cluster.bank import make_bank
from ..envs.cluster.episode import run_episodes
from ..envs.cluster.record import Record, make_record
from ..envs.cluster.world import horizon_round
from ..policies.catalog import find_policy
from ..policies.types import Information, Policy
from ..scenarios.catalog import find_scenario
from ..scenarios.errors import InputError
from ..scenarios.source import FromFiles, Source, check_seed
from ..scenarios.traces.sia import STREAM_PER_H
from ..scenarios.types import ClusterScenario, Jobs


def simulate(
    scenario: str | Source | ClusterScenario | Path, policy: str | Policy, seeds: int | Sequence[int] = 0
) -> list[Record]:
    """One record per seed.

    `scenario` is a catalog name (`sia-64`, `sia-64:restart_s=90`), a source, or a scenario of your own, which is the
    same for every seed; `policy` is a catalog name or a policy object. Raises `InputError` for names and values that
    are not legal.
    """
    source, decider = as_source(scenario), as_policy(policy)
    given = as_seeds(seeds)
    return run_policy(source, decider, given, build_worlds(source, given))


def build_worlds(source: Source, seeds: Sequence[int]) -> list[ClusterScenario]:
    """The worlds of the seeds. Raises `InputError` for a seed outside the range of the seed table."""
    for seed in seeds:
        check_seed(seed)
    return [source.build(seed) for seed in seeds]


def run_policy(
    source: Source, policy: Policy, seeds: Sequence[int], worlds: Sequence[ClusterScenario], slots: int = 0
) -> list[Record]:
    """Records of a policy on prepared worlds, one per seed; a stream that was too short is lengthened."""
    bank = make_bank(worlds, source.history())
    clairvoyant = policy.information is Information.CLAIRVOYANT
    outcomes = run_episodes(bank, policy.program, policy.bind(bank), clairvoyant, seeds, slots)
    too_short = any(o.stream_ended and w.streamed for o, w in zip(outcomes, worlds, strict=True))
    if too_short and isinstance(source, FromFiles):
        # The stream has to last to the horizon; most episodes need far less of it.
        horizon_h = max(horizon_round(world) * world.round_s for world in worlds) / 3600
        longer = replace(source, stream_jobs=2 * source.stream_jobs + ceil(1.1 * STREAM_PER_H * horizon_h))
        return run_policy(longer, policy, seeds, build_worlds(longer, seeds), max(o.slots for o in outcomes))
    return [
        make_record(world, policy.name, seed, outcome)
        for world, seed, outcome in zip(worlds, seeds, outcomes, strict=True)
    ]


class Fixed:
    """A source of one given scenario."""

    def __init__(self, scenario: ClusterScenario) -> None:
        """Wrap `scenario`."""
        self.scenario = scenario
        self.name = scenario.name

    def build(self, seed: int) -> ClusterScenario:
        """The scenario, whatever the seed."""
        return self.scenario

    def history(self) -> Jobs | None:
        """None: nothing is known beforehand."""
        return None


def as_source(scenario: str | Source | ClusterScenario | Path) -> Source:
    """A source from whatever the caller has. Raises `InputError`."""
    if isinstance(scenario, str):
        return find_scenario(scenario)
    if isinstance(scenario, Path):
        return FromFiles(scenario)
    if isinstance(scenario, ClusterScenario):
        return Fixed(scenario)
    if not hasattr(scenario, "build"):
        raise InputError(f"scenario = {scenario!r}; legal: a name, a path, a source or a ClusterScenario")
    return scenario


def as_policy(policy: str | Policy) -> Policy:
    """A policy from its name, or the object itself. Raises `InputError`."""
    if isinstance(policy, str):
        return find_policy(policy)
    if not hasattr(policy, "bind"):
        raise InputError(f"policy = {policy!r}; legal: a name or a policy object")
    return policy


def as_seeds(seeds: int | Sequence[int]) -> list[int]:
    """A list of whole numbers. Raises `InputError`."""
    many = isinstance(seeds, Sequence | np.ndarray) and not isinstance(seeds, str | bytes)
    given: list[object] = list(seeds) if many else [seeds]  # type: ignore[arg-type]
    whole = [int(s) for s in given if isinstance(s, Integral) and not isinstance(s, bool)]
    if not whole or len(whole) < len(given):
        raise InputError(f"seeds = {seeds!r}; legal: a whole number, or a sequence of at least one")
    return whole
