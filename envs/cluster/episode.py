"""Runs whole episodes under a policy; there is one XLA program per shape and policy program."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, Protocol

import jax
import jax.numpy as jnp
import numpy as np
from numpy.typing import NDArray

from ...scenarios.errors import InputError
from ..core import Act, loop_until, pytree
from .bank import Bank, pick
from .dynamics import advance, apply_plan, grow, initial_state, is_over
from .fairness import contended_gpu_rounds
from .state import State, World
from .view import View, observe
from .world import bucket

SLOT_STEP = 32
FIRST_SLOTS = 256
"""The most slots that an episode starts with; they are doubled when more jobs are active at once."""
THREADS = 2
"""Episodes that run at the same time; each is one single-threaded XLA program."""


class Program(Protocol):
    """A policy as pure functions. Programs are compared by identity, so each is compiled once per shape."""

    @property
    def start(self) -> Callable[[Any, int], Any]:
        """(data, slots A) -> memory before the first round."""
        ...

    @property
    def act(self) -> Act[Any, View, Any, jax.Array]:
        """(data, view, memory, key) -> (owner [N, P] int32 slot or FREE, memory)."""
        ...

    @property
    def grow(self) -> Callable[[Any, int], Any]:
        """(memory, slots A) -> the memory for more slots; active jobs keep their entries."""
        ...


@pytree
class Carry:
    """An episode in progress."""

    state: State
    memory: Any
    rounds: jax.Array  # [] int32 planning rounds executed


@dataclass(frozen=True)
class Outcome:
    """Raw results of one episode, per job [J] of the scenario; times are in rounds, not seconds."""

    start_round: NDArray[np.int32]
    finish_round: NDArray[np.int32]
    """NEVER for jobs that had not finished when the episode ended."""
    service: NDArray[np.int32]
    slowdown_sum: NDArray[np.float64]
    preemptions: NDArray[np.int32]
    last_round: int
    """Round at which the episode ended."""
    rounds: int
    """Planning rounds executed; rounds without active jobs are skipped."""
    busy_gpu_rounds: int
    contended_gpu_rounds: NDArray[np.int32]
    """Summed from the job's first round to its finish, or to the end of the episode."""
    slots: int
    """Slots for active jobs that the episode needed."""
    stream_ended: bool
    """Whether all jobs had arrived before the episode ended."""


def run_episodes(
    bank: Bank, program: Program, data: Any, clairvoyant: bool, seeds: Sequence[int], slots: int = 0
) -> list[Outcome]:
    """Run one episode per world of the bank; `seeds` [M] are for randomised policies.

    `slots` is the number of slots for active jobs at the start; it grows when an episode needs more.
    """
    slots = slots or bucket(min(bank.worlds.demand.shape[1] - 1, FIRST_SLOTS), SLOT_STEP)
    run = partial(_run_one, bank, program, data, clairvoyant)
    pool = ThreadPoolExecutor(THREADS)
    try:
        # Even a single episode runs in a thread, so that the main thread can react to an interrupt.
        first = pool.submit(run, slots, 0, seeds[0]).result()  # compiles
        return [first, *pool.map(partial(run, first.slots), range(1, len(bank)), seeds[1:])]
    finally:
        pool.shutdown(wait=False, cancel_futures=True)


def begin(program: Program, slots: int, worlds: World, index: jax.Array, data: Any) -> Carry:
    """Return world `index` at round 0, before the first plan."""
    return Carry(initial_state(pick(worlds, index), slots), program.start(data, slots), jnp.int32(0))


def go_on(
    program: Program,
    carry: Carry,
    worlds: World,
    index: jax.Array,
    data: Any,
    clairvoyant: jax.Array,
    key: jax.Array,
    enough: Callable[[State], jax.Array] = lambda state: jnp.bool_(False),
) -> Carry:
    """Plan and advance until the episode is over, needs more slots, or `enough(state)` is true (pure)."""
    world = pick(worlds, index)

    def step(carry: Carry) -> Carry:
        state = carry.state
        lot = jax.random.fold_in(key, state.round)
        owner, memory = program.act(data, observe(world, state, clairvoyant), carry.memory, lot)
        return Carry(advance(world, apply_plan(world, state, owner)), memory, carry.rounds + 1)

    return loop_until(lambda carry: is_over(world, carry.state) | enough(carry.state), step, carry)


def enlarge(program: Program, slots: int, carry: Carry, worlds: World, index: jax.Array) -> Carry:
    """Return the same moment of the episode with room for `slots` active jobs."""
    return Carry(grow(pick(worlds, index), carry.state, slots), program.grow(carry.memory, slots), carry.rounds)


def shrink(program: Program, slots: int, carry: Carry) -> Carry:
    """Return the same moment with only `slots` slots, just after a job has ended and at most `slots` are active."""
    state = replace(carry.state, slots=jax.tree.map(lambda leaf: leaf[:slots], carry.state.slots))
    return Carry(state, program.grow(carry.memory, slots), carry.rounds)


_begin = jax.jit(begin, static_argnums=(0, 1))
_go_on = jax.jit(go_on, static_argnums=0)
_enlarge = jax.jit(enlarge, static_argnums=(0, 1))


def _run_one(bank: Bank, program: Program, data: Any, clairvoyant: bool, slots: int, index: int, seed: int) -> Outcome:
    key, at, sight = jax.random.key(seed), jnp.int32(index), jnp.bool_(clairvoyant)
    carry = _go_on(program, _begin(program, slots, bank.worlds, at, data), bank.worlds, at, data, sight, key)
    while bool(carry.state.overflow):
        slots *= 2
        carry = _go_on(program, _enlarge(program, slots, carry, bank.worlds, at), bank.worlds, at, data, sight, key)
    if bool(carry.state.broken):
        time_s = int(carry.state.round) * bank.scenarios[index].round_s
        raise InputError(
            f"{bank.scenarios[index].name}, seed {seed}: the policy's plan before {time_s:,.0f} s is invalid; "
            "a gang must have exactly as many GPUs as its job demands, all of them free"
        )
    return outcome_of(carry.state, len(bank.scenarios[index].jobs), int(carry.rounds))


def outcome_of(state: State, jobs: int, rounds: int) -> Outcome:
    """Read the results of the first `jobs` jobs from `state` after `rounds` planning rounds."""
    ledger = state.ledger
    slots, count = state.slots, int(state.count)
    so_far = contended_gpu_rounds(state.contention, state.round) - slots.contended_gpu_rounds
    # Jobs that are still active at the end have a start and preemptions too, but their rows are in the slots.
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
        rounds=rounds,
        busy_gpu_rounds=int(state.busy_gpu_rounds),
        contended_gpu_rounds=column(ledger.contended_gpu_rounds, so_far),
        slots=slots.job.shape[0],
        stream_ended=int(state.next_job) >= jobs,
    )
