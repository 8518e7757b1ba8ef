"""Whole episodes under a policy: one XLA program per shape and policy program."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import partial
from typing import Any, Generic, NamedTuple, TypeVar

import jax
import jax.numpy as jnp
import numpy as np
from numpy.typing import NDArray

from ..core import Act, loop_until, pytree
from .bank import Bank, pick
from .dynamics import advance, apply_plan, initial_state, is_over
from .state import State, World
from .view import View, observe
from .world import bucket

Data = TypeVar("Data")
Memory = TypeVar("Memory")

SLOT_STEP = 32
FIRST_SLOTS = 256
"""Most slots an episode is first given; doubled where more jobs are active at once."""
THREADS = 2
"""Episodes in flight at once; each is one single-threaded XLA program."""


class Program(NamedTuple, Generic[Data, Memory]):
    """A policy as pure functions; compared by identity, so that one program is compiled once per shape."""

    start: Callable[[Data, int], Memory]
    """(data, slots A) -> memory before the first round."""
    act: Act[Data, View, Memory, jax.Array]
    """(data, view, memory, key) -> (owner [N, P] int32 slot or FREE, memory)."""


@pytree
class _Carry:
    state: State
    memory: Any
    rounds: jax.Array  # [] int32 planning rounds executed


@dataclass(frozen=True)
class Outcome:
    """Raw results of one episode, per job [J] of the scenario; rounds, not seconds."""

    start_round: NDArray[np.int32]
    finish_round: NDArray[np.int32]
    """NEVER where the episode ended first."""
    service: NDArray[np.int32]
    slowdown_sum: NDArray[np.float64]
    preemptions: NDArray[np.int32]
    last_round: int
    """Round at which the episode ended."""
    rounds: int
    """Planning rounds executed; empty stretches are skipped."""
    busy_gpu_rounds: int
    stream_ended: bool
    """All jobs had arrived before the episode was over."""


def run_episodes(
    bank: Bank, program: Program[Any, Any], data: Any, clairvoyant: bool, seeds: Sequence[int]
) -> list[Outcome]:
    """One episode per world of the bank; `seeds` [M] feed policies that draw lots."""
    slots = bucket(min(bank.worlds.demand.shape[1] - 1, FIRST_SLOTS), SLOT_STEP)
    run = partial(_run_one, bank, program, data, clairvoyant, slots)
    if len(bank) == 1:
        return [run(0, seeds[0])]
    first = run(0, seeds[0])  # compiles
    with ThreadPoolExecutor(THREADS) as pool:
        return [first, *pool.map(run, range(1, len(bank)), seeds[1:])]


def episode(
    program: Program[Any, Any],
    slots: int,
    worlds: World,
    index: jax.Array,
    data: Any,
    clairvoyant: jax.Array,
    key: jax.Array,
) -> _Carry:
    """World `index` from round 0 until it is over (pure)."""
    world = pick(worlds, index)

    def step(carry: _Carry) -> _Carry:
        state = carry.state
        lot = jax.random.fold_in(key, state.round)
        owner, memory = program.act(data, observe(world, state, clairvoyant), carry.memory, lot)
        return _Carry(advance(world, apply_plan(world, state, owner)), memory, carry.rounds + 1)

    start = _Carry(initial_state(world, slots), program.start(data, slots), jnp.int32(0))
    return loop_until(lambda carry: is_over(world, carry.state), step, start)


_compiled = jax.jit(episode, static_argnums=(0, 1))


def _run_one(
    bank: Bank, program: Program[Any, Any], data: Any, clairvoyant: bool, slots: int, index: int, seed: int
) -> Outcome:
    key = jax.random.key(seed)
    while True:
        end = _compiled(program, slots, bank.worlds, jnp.int32(index), data, jnp.bool_(clairvoyant), key)
        if not bool(end.state.overflow):
            return _outcome(end, len(bank.scenarios[index].jobs))
        slots *= 2


def _outcome(end: _Carry, jobs: int) -> Outcome:
    state, ledger = end.state, end.state.ledger
    slots, count = state.slots, int(state.count)
    # Jobs that still run at the horizon have a start and preemptions too.
    open_jobs = np.asarray(slots.job)[:count]

    def column(ledger_leaf: jax.Array, slot_leaf: jax.Array) -> NDArray[Any]:
        values = np.array(ledger_leaf)
        values[open_jobs] = np.asarray(slot_leaf)[:count]
        return values[:jobs]

    return Outcome(
        start_round=column(ledger.start_round, slots.start_round),
        finish_round=np.array(ledger.finish_round)[:jobs],
        service=column(ledger.service, slots.attained),
        slowdown_sum=column(ledger.slowdown_sum, slots.slowdown_sum).astype(np.float64),
        preemptions=column(ledger.preemptions, slots.preemptions),
        last_round=int(state.round),
        rounds=int(end.rounds),
        busy_gpu_rounds=int(state.busy_gpu_rounds),
        stream_ended=int(state.next_job) >= jobs,
    )
