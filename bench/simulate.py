"""`simulate`: a scenario, a policy and seeds in, typed records out."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from math import ceil
from pathlib import Path

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
    source = as_source(scenario)
    decider = find_policy(policy) if isinstance(policy, str) else policy
    seeds = [seeds] if isinstance(seeds, int) else list(seeds)
    if not seeds:
        raise InputError("seeds is empty; at least one is needed")
    return run_policy(source, decider, seeds, build_worlds(source, seeds))


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
    """A source from whatever the caller has."""
    if isinstance(scenario, str):
        return find_scenario(scenario)
    if isinstance(scenario, Path):
        return FromFiles(scenario)
    return Fixed(scenario) if isinstance(scenario, ClusterScenario) else scenario
