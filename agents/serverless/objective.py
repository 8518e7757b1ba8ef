"""The objective of a search over ESG's levers: hits and cost in windows of several settings, against ESG's own."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, dataclass, replace
from functools import cached_property, partial
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from numpy.typing import NDArray

from ...envs.serverless.bank import Bank, make_bank, padded
from ...envs.serverless.episode import FIRST_PLACES, MORE_PLACES, THREADS, Program, begin, go_on
from ...policies.serverless.esg.learned import HIDDEN, LearnedData, LearnedEsg, untrained
from ...policies.serverless.esg.levers import Lever
from ...policies.serverless.esg.replanning import Esg
from ...scenarios.errors import InputError
from ...scenarios.seeds import TRAIN, VALIDATION
from ...scenarios.serverless.scenario import ServerlessScenario
from ...scenarios.serverless.source import ServerlessSynthetic
from ..recipes.es import EsOptions, Floats, Weights, train_seeds

POINTS = 100.0
COST_PRICE, CREDIT = 4.5, 4.0
"""One per cent of cost per served request is worth `COST_PRICE` points of hit rate. Savings count for at most `CREDIT`
points per point gained, so that settings without possible gains do not trade hits for savings.
"""
FLOOR, FLOOR_PRICE = 0.5, 3.0
"""A setting may lose `FLOOR` points; every further point lost counts as `FLOOR_PRICE` additional points."""
CONTENDED, BUDGET, OVER_PRICE = 94.0, -0.5, 4.0
"""Settings in which ESG hits less than `CONTENDED` per cent allow gains, and share a budget: their mean cost per served
request may be `BUDGET` per cent over ESG's. (Windows make a policy look half a per cent cheaper than whole episodes.)
Every per cent above the budget costs each of these settings `OVER_PRICE` additional points.
"""
START = {Lever.LATE: 0.15, Lever.HOLD: 0.75}
"""Initial outputs for levers that have no effect at 0 and below, because a search could not notice them there."""
PRICED_BY = 0.5
"""Share of the search during which prices rise from 0 to their full values.

A hit costs more than a miss, which is served cheaply when time no longer matters. So a full price from the start would
keep the search from finding possible hits.
"""


@dataclass(frozen=True)
class Tally:
    """Figures of episodes over their counted requests; arrays [P, M] by member and world."""

    hit: Floats
    """Hit rate in per cent."""
    usd: Floats
    """Cost per served request."""


@dataclass(frozen=True)
class Against:
    """Members compared with ESG; arrays [P, M] by member and world."""

    gain: Floats
    """Hit rate minus ESG's, in points."""
    cost: Floats
    """Log of (cost per served request / ESG's)."""
    esg: Floats
    """ESG's own hit rate [M], in per cent."""

    def part(self, at: Sequence[int]) -> Against:
        """Return some of the worlds."""
        return Against(self.gain[:, at], self.cost[:, at], self.esg[at])


@dataclass(frozen=True)
class Windows:
    """Lengths of the search's episodes, which replace those of the settings."""

    warmup_s: float = 20.0
    measured_s: float = 30.0
    """A whole number of cycles of `burst`."""
    drain_s: float = 20.0
    """ESG serves lost requests cheaply and last; with a shorter drain it would look more expensive than it is."""


@dataclass(frozen=True)
class EsgObjective:
    """Fitness is minus the `worth` of a policy, averaged over settings. Raises `InputError` where there is none."""

    sources: tuple[ServerlessSynthetic, ...]
    expert: Esg
    hidden: int = HIDDEN
    validation_worlds: int = 4
    """Number of validation worlds per setting."""
    windows: Windows = Windows()

    def __post_init__(self) -> None:
        if not self.sources:
            raise InputError("sources is empty; legal: at least one setting")

    def start(self, seed: int) -> Weights:
        """Return an untrained network but for `START`: ESG that drops very late requests and waits for a second one."""
        weights = untrained(seed, self.hidden)
        for lever, value in START.items():
            weights["b2"][lever] = value
        return weights

    def fitness(self, generation: int, population: Sequence[Weights], options: EsOptions) -> Floats:
        """Return the fitness of every member on fresh train worlds; settings take turns."""
        first = generation * options.worlds
        settings = [(first + number) % len(self.sources) for number in range(options.worlds)]
        found = self._against_expert(settings, train_seeds(options, generation), population)
        priced = min(generation / (PRICED_BY * options.generations), 1)
        return -total_worth([found.part(at) for at in _places(settings).values()], priced)

    def validate(self, weights: Weights) -> Mapping[str, float]:
        """Return the gain in points and the cost relative to ESG's by setting, on validation worlds."""
        count = self.validation_worlds
        settings = [setting for setting in range(len(self.sources)) for _ in range(count)]
        seeds = [VALIDATION.first + number for _ in self.sources for number in range(count)]
        found = self._against_expert(settings, seeds, [weights])
        parts = {self.sources[setting].name: found.part(at) for setting, at in _places(settings).items()}
        figures = {"worth": float(total_worth(list(parts.values()))[0])}
        for name, part in parts.items():
            figures[f"gain/{name}"] = float(part.gain.mean())
            figures[f"cost/{name}"] = float(np.exp(part.cost.mean()))
        return figures

    def _against_expert(self, settings: Sequence[int], seeds: Sequence[int], population: Sequence[Weights]) -> Against:
        """Evaluate the members against ESG on worlds of these settings."""
        members = [untrained(0, self.hidden), *population]
        hit, usd = (np.zeros((len(members), len(settings))) for _ in range(2))
        for platform in dict.fromkeys(self._platform):
            at = [number for number, setting in enumerate(settings) if self._platform[setting] == platform]
            if not at:
                continue
            bank = padded(make_bank([self.windowed[settings[n]].build(seeds[n]) for n in at]))
            data = [LearnedEsg.rebind(self._data[platform], weights) for weights in members]
            tally = tallies(bank, self._policy.program, data)
            hit[:, at], usd[:, at] = tally.hit, tally.usd
        return Against(hit[1:] - hit[:1], np.log(usd[1:] / usd[:1]), hit[0])

    @cached_property
    def windowed(self) -> list[ServerlessSynthetic]:
        """The settings with shorter episodes."""
        part = asdict(self.windows)
        return [replace(source, arrivals=replace(source.arrivals, **part)) for source in self.sources]  # type: ignore[type-var]

    @cached_property
    def _policy(self) -> LearnedEsg:
        return LearnedEsg(self.expert, untrained(0, self.hidden))

    @cached_property
    def _platform(self) -> list[int]:
        """Number of each setting's platform, which is the first setting with an equal platform."""
        worlds = [window.build(TRAIN.first) for window in self.windowed]
        return [next(n for n, other in enumerate(worlds) if _alike(world, other)) for world in worlds]

    @cached_property
    def _data(self) -> dict[int, LearnedData]:
        """The policy's bound data by platform; they do not depend on requests, but on the SLOs of the settings."""
        banks: dict[int, list[ServerlessScenario]] = {}
        for platform, window in zip(self._platform, self.windowed, strict=True):
            banks.setdefault(platform, []).append(window.build(TRAIN.first))
        return {platform: self._policy.bind(make_bank(worlds)) for platform, worlds in banks.items()}


def worth(gain: Floats, cost: Floats, priced: float = 1) -> Floats:
    """Return the worth [P] in points of a setting's worlds [P, M]: gains plus savings, minus a price on deep losses.

    `priced` is the fraction of the prices that counts.
    """
    mean, price = gain.mean(axis=1), COST_PRICE * POINTS * cost.mean(axis=1)
    saved = np.minimum(-price, CREDIT * np.maximum(mean, 0))
    return np.asarray(mean + priced * (saved - FLOOR_PRICE * np.maximum(-FLOOR - mean, 0)))


def total_worth(settings: Sequence[Against], priced: float = 1) -> Floats:
    """Return the mean worth [P] of settings in points, minus the price for contended ones over their budget."""
    mean = np.mean([worth(one.gain, one.cost, priced) for one in settings], axis=0)
    contended = [one.cost.mean(axis=1) for one in settings if one.esg.mean() < CONTENDED]
    if not contended:
        return np.asarray(mean)
    over = np.maximum(POINTS * np.mean(contended, axis=0) - BUDGET, 0)
    return np.asarray(mean - priced * OVER_PRICE * over * len(contended) / len(settings))


def _places(settings: Sequence[int]) -> dict[int, list[int]]:
    """Return the indices of each setting's worlds."""
    return {s: [n for n, other in enumerate(settings) if other == s] for s in dict.fromkeys(settings)}


def _alike(one: ServerlessScenario, other: ServerlessScenario) -> bool:
    """Whether both scenarios can be worlds of one bank."""
    try:
        make_bank([one, other])
    except InputError:
        return False
    return True


def tallies(bank: Bank, program: Program, data: Sequence[Any]) -> Tally:
    """Return the figures of every member's data on every world."""
    pairs = [(member, world) for world in range(len(bank)) for member in range(len(data))]

    def run(pair: tuple[int, int]) -> tuple[float, ...]:
        member, world = pair
        return _tally_with(program, FIRST_PLACES, bank, jnp.int32(world), data[member])

    first = run(pairs[0])  # alone, so that threads do not compile the same program at the same time
    with ThreadPoolExecutor(THREADS) as pool:
        found: NDArray[np.float64] = np.array([first, *pool.map(run, pairs[1:])], np.float64)
    hits, served, usd = found.reshape(len(bank), len(data), 3).transpose(2, 1, 0)
    counted = np.array([scenario.requests.counted.sum() for scenario in bank.scenarios])
    return Tally(POINTS * hits / counted, np.maximum(usd, 1e-12) / np.maximum(served, 1))


def _tally_with(program: Program, places: int, bank: Bank, world: jax.Array, data: Any) -> tuple[float, ...]:
    """Return hits, served requests and USD of an episode, with as many places per queue as it needs."""
    *sums, overflow = _episode(program, places, bank.worlds, world, data)
    if bool(overflow):
        return _tally_with(program, places * MORE_PLACES, bank, world, data)
    return tuple(float(value) for value in sums)


@partial(jax.jit, static_argnums=(0, 1))
def _episode(program: Program, places: int, worlds: Any, world: jax.Array, data: Any) -> tuple[jax.Array, ...]:
    """Return hits, served requests, USD and overflow."""
    key = jax.random.key(0)
    carry = go_on(program, begin(program, places, 0, worlds, world, data, key), worlds, world, data, key)
    tally = carry.state.tally
    return tally.hits, tally.served, tally.usd, carry.state.overflow
