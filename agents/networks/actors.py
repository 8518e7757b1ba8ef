"""Networks as schedulers: whole episodes of an environment's process, one XLA program per shape.

At every step the most likely legal action is taken. Weights and worlds are arguments, so that all weights of one shape
share one compilation. What comes out is what an expert's episode gives, and is measured alike.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from functools import partial
from threading import Lock
from typing import Any, TypeVar

import jax
import jax.numpy as jnp

from ...envs.cluster import episode as cluster
from ...envs.cluster.bank import Bank, make_bank
from ...envs.cluster.mdp.base import Base
from ...envs.cluster.mdp.env import ClusterProcess
from ...envs.cluster.mdp.kind import ClusterKind
from ...envs.cluster.mdp.options import EnvOptions
from ...envs.core import loop_until, pytree
from ...envs.kind import Kind
from ...envs.process import Arrays, Process
from ...envs.serverless import episode as serverless
from ...envs.serverless.bank import Bank as ServerlessBank
from ...envs.serverless.mdp.base import Base as ServerlessBase
from ...envs.serverless.mdp.kind import ServerlessKind
from ...envs.serverless.mdp.options import ServerlessOptions
from ...policies.information import Information
from ...scenarios.errors import InputError
from .jax_networks import CONFIGS, SLOTS, Network, best_legal

T = TypeVar("T")
ALL = 2**31 - 1
"""As many decisions as an episode takes."""


@pytree
class Run:
    """An episode under way."""

    state: Arrays
    decisions: jax.Array  # [] int32


def play(
    process: Process,
    network: Network,
    worlds: Arrays,
    index: jax.Array,
    data: Arrays,
    weights: Mapping[str, jax.Array],
    key: jax.Array,
    most: jax.Array,
) -> Run:
    """World `index` under a network until it is over, or after `most` [] int32 decisions (pure)."""
    world = jax.tree.map(lambda leaf: leaf[index], worlds)
    prepared = network.prepare(weights)

    def step(run: Run) -> Run:
        parts, mask = process.observe(world, data, run.state)
        action = best_legal(network.logits(prepared, parts, mask))
        return Run(process.step(world, data, run.state, action, mask)[0], run.decisions + 1)

    def done(run: Run) -> jax.Array:
        return process.is_over(world, run.state) | (run.decisions >= most)

    return loop_until(done, step, Run(process.reset(world, data, key), jnp.int32(0)))


_COMPILING = Lock()
"""Held where a program may be new, so that threads do not compile the same one at the same time."""
_play = jax.jit(play, static_argnums=(0, 1))


def _timed(process: Process, network: Network, kind: Kind, weights: Any, world: int, seed: int) -> tuple[Run, float]:
    """An episode, and its wall time without compilation: one of no decisions compiles it first, where it is new."""
    key = jax.random.key_data(jax.random.key(seed))
    run = partial(_play, process, network, kind.bank.worlds, jnp.int32(world), kind.data, weights, key)
    with _COMPILING:
        jax.block_until_ready(run(jnp.int32(0)))
    start = time.perf_counter()
    ended = jax.block_until_ready(run(jnp.int32(ALL)))
    return ended, time.perf_counter() - start


def _in_threads(play_one: Callable[[int, int], T], seeds: Sequence[int], threads: int) -> list[T]:
    """One result per world, `seeds` in their order; the main thread stays free to hear an interrupt."""
    pool = ThreadPoolExecutor(threads)
    try:
        return list(pool.map(play_one, range(len(seeds)), seeds))
    finally:
        pool.shutdown(wait=False, cancel_futures=True)


@dataclass(frozen=True, eq=False)
class ClusterActor:
    """A network of `networks.SlotScorer`'s form as a policy of the training cluster."""

    name: str
    weights: Mapping[str, Any]
    base: Base
    options: EnvOptions
    classes: int
    bins: int
    """Bins per class that its spaces have room for."""

    @property
    def information(self) -> Information:
        """What it sees, or the base policy that completes its plans."""
        sees = self.options.clairvoyant or self.base.clairvoyant
        return Information.CLAIRVOYANT if sees else Information.NON_CLAIRVOYANT

    def episodes(self, bank: Bank, seeds: Sequence[int], slots: int = 0) -> list[cluster.Outcome]:
        """One episode per world of the bank; `slots` is room for active jobs. Raises `InputError` for other spaces."""
        found = len(bank.scenarios[0].classes)
        if found != self.classes:
            raise InputError(
                f"{bank.scenarios[0].name} has {found} app classes; {self.name} was made for {self.classes}"
            )
        if bank.worlds.profile.value.shape[2] != self.bins:
            bank = make_bank(bank.scenarios, bank.history, self.bins)
        kind = ClusterKind(bank, self.base, replace(self.options, slots=slots or self.options.slots))
        weights = jax.tree.map(jnp.asarray, dict(self.weights))
        return _in_threads(partial(self._episode, kind, kind.process, weights), seeds, cluster.THREADS)

    def _episode(
        self, kind: ClusterKind, process: ClusterProcess, weights: Any, world: int, seed: int
    ) -> cluster.Outcome:
        run, _ = _timed(process, SLOTS, kind, weights, world, seed)
        state = run.state.settled.cluster
        if bool(state.overflow):
            return self._episode(kind, replace(process, slots=2 * process.slots), weights, world, seed)
        return cluster.outcome_of(state, len(kind.bank.scenarios[world].jobs), int(run.decisions))


@dataclass(frozen=True, eq=False)
class ServerlessActor:
    """A network of `networks.ConfigScorer`'s form as a scheduler of the serverless platform."""

    name: str
    weights: Mapping[str, Any]
    base: ServerlessBase
    options: ServerlessOptions
    vgpus: int
    """vGPUs of the largest configuration."""

    def episodes(self, bank: ServerlessBank, seeds: Sequence[int]) -> list[serverless.Outcome]:
        """One episode per world of the bank. Raises `InputError` for other spaces."""
        found = max(bank.scenarios[0].grid.vgpus)
        if found != self.vgpus:
            name = bank.scenarios[0].name
            raise InputError(f"{name} has configurations of up to {found} vGPUs; {self.name} was made for {self.vgpus}")
        kind = ServerlessKind(bank, self.base, replace(self.options, log=True))
        process = replace(kind.process, places=min(kind.process.places, serverless.FIRST_PLACES))
        weights = jax.tree.map(jnp.asarray, dict(self.weights))
        return _in_threads(partial(self._episode, kind, process, weights), seeds, serverless.THREADS)

    def _episode(self, kind: ServerlessKind, process: Any, weights: Any, world: int, seed: int) -> serverless.Outcome:
        run, seconds = _timed(process, CONFIGS, kind, weights, world, seed)
        if bool(run.state.overflow):
            wider = replace(process, places=serverless.MORE_PLACES * process.places)
            return self._episode(kind, wider, weights, world, seed)
        return serverless.outcome_of(run.state, misses=0, seconds=seconds)
