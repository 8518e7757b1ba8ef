"""The learned index of the training cluster as an objective of evolution strategies: mean JCT of whole episodes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import cached_property, partial
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from ...envs.cluster.bank import Bank, make_bank, pick
from ...envs.cluster.episode import FIRST_SLOTS, SLOT_STEP, THREADS, Program, begin, go_on, shrink
from ...envs.cluster.state import NEVER, State
from ...envs.cluster.world import bucket
from ...policies.cluster.index_net import HIDDEN, LearnedIndex, untrained
from ...policies.cluster.list_policy import ListPolicy
from ...policies.cluster.list_program import ListData
from ...scenarios.cluster.source import ClusterSynthetic
from ...scenarios.seeds import TRAIN, VALIDATION
from ..recipes.es import EsOptions, Floats, Weights, train_seeds
from .index_parts import mask_without

TAIL_SLOTS = (64, 24, 8)
"""Numbers of slots to shrink to, once all jobs have arrived and no more than this many are left."""


@dataclass(frozen=True)
class IndexObjective:
    """Fitness is log(mean JCT / the expert's on the same world), averaged over worlds."""

    source: ClusterSynthetic
    expert: ListPolicy
    hidden: int = HIDDEN
    validation_worlds: int = 64
    frozen: tuple[str, ...] = ()
    """Parts of the network that stay at zero (see `index_parts`)."""

    def start(self, seed: int) -> Weights:
        """Return an untrained network, which behaves as the expert."""
        return untrained(seed, self.hidden)

    @cached_property
    def mask(self) -> Weights:
        """0 where a weight stays at zero. Raises `InputError` for an unknown part."""
        return mask_without(self.frozen, self.hidden)

    def fitness(self, generation: int, population: Sequence[Weights], options: EsOptions) -> Floats:
        """Return the fitness of every member on fresh train worlds."""
        return self._against_expert(self._bank(train_seeds(options, generation)), population).mean(axis=1)

    def validate(self, weights: Weights) -> Mapping[str, float]:
        """Return the geometric mean of the ratios to the expert and its standard error, on validation worlds."""
        logs = self._against_expert(self._validation, [weights])[0]
        error = logs.std(ddof=1) / np.sqrt(len(logs)) if len(logs) > 1 else np.nan
        return {"ratio": float(np.exp(logs.mean())), "log_ratio_se": float(error)}

    @cached_property
    def _validation(self) -> Bank:
        return self._bank(range(VALIDATION.first, VALIDATION.first + self.validation_worlds))

    @cached_property
    def _policy(self) -> LearnedIndex:
        return LearnedIndex(self.expert, untrained(0, self.hidden))

    @cached_property
    def _data(self) -> ListData:
        # A policy's data depend only on the history, which is the same for every bank of a source.
        return self._policy.bind(self._bank([TRAIN.first]))

    @cached_property
    def _history(self) -> Any:
        return self.source.history()

    def _bank(self, seeds: Sequence[int]) -> Bank:
        return make_bank([self.source.build(seed) for seed in seeds], self._history, self.source.bins)

    def _against_expert(self, bank: Bank, population: Sequence[Weights]) -> Floats:
        """Return log(mean JCT / the expert's) [P, M]."""
        members = [self._policy.weights, *population]
        data = [LearnedIndex.rebind(self._data, weights) for weights in members]
        logs = np.log(flows(bank, self._policy.program, data))
        return logs[1:] - logs[:1]


def flows(bank: Bank, program: Program, data: Sequence[Any]) -> Floats:
    """Return the tracked jobs' total time in the system [P, M] in s, for every member's data on every world."""
    slots = bucket(min(bank.worlds.demand.shape[1] - 1, FIRST_SLOTS), SLOT_STEP)
    pairs = [(member, world) for world in range(len(bank)) for member in range(len(data))]

    def run(pair: tuple[int, int]) -> float:
        member, world = pair
        return _flow_with(program, slots, bank, jnp.int32(world), data[member])

    with ThreadPoolExecutor(THREADS) as pool:
        values = list(pool.map(run, pairs))
    return np.array(values, np.float64).reshape(len(bank), len(data)).T


def _flow_with(program: Program, slots: int, bank: Bank, world: jax.Array, data: Any) -> float:
    """Return the episode's flow, with as many slots as it needs."""
    flow, overflow = _episode(program, slots, bank.worlds, world, data)
    return _flow_with(program, 2 * slots, bank, world, data) if bool(overflow) else float(flow)


@partial(jax.jit, static_argnums=(0, 1))
def _episode(program: Program, slots: int, worlds: Any, world: jax.Array, data: Any) -> tuple[jax.Array, jax.Array]:
    """Return flow and overflow. Slots shrink near the end: most rounds have few jobs, and slots determine the cost."""
    carry, here = begin(program, slots, worlds, world, data), pick(worlds, world)
    for fewer in (size for size in TAIL_SLOTS if size < slots):

        def few_are_left(state: State, fewer: int = fewer) -> jax.Array:
            return (here.arrival_round[state.next_job] == NEVER) & (state.count <= fewer)

        carry = go_on(program, carry, worlds, world, data, jnp.bool_(False), jax.random.key(0), few_are_left)
        carry = shrink(program, fewer, carry)
    carry = go_on(program, carry, worlds, world, data, jnp.bool_(False), jax.random.key(0))
    return carry.state.flow[0], carry.state.overflow
