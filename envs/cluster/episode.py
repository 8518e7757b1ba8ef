"""Whole episodes under a policy: one XLA program per shape and policy program."""

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
"""Most slots an episode is first given; doubled where more jobs are active at once."""
THREADS = 2
"""Episodes in flight at once; each is one single-threaded XLA program."""


class Program(Protocol):
    """A policy as pure functions; compared by identity, so that one program is compiled once per shape."""

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
        """(memory, slots A) -> the memory for more slots; the present jobs keep theirs."""
        ...


@pytree
class Carry:
    """An episode under way."""

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
    contended_gpu_rounds: NDArray[np.int32]
    """From the job's first round to its finish, or to the end of the episode."""
    slots: int
    """Room that the episode needed for active jobs."""
    stream_ended: bool
    """All jobs had arrived before the episode was over."""


def run_episodes(
    bank: Bank, program: Program, data: Any, clairvoyant: bool, seeds: Sequence[int], slots: int = 0
) -> list[Outcome]:
    """One episode per world of the bank; `seeds` [M] feed policies that draw lots.

    `slots` is how many active jobs to make room for at first; more are made where they are needed.
    """
    slots = slots or bucket(min(bank.worlds.demand.shape[1] - 1, FIRST_SLOTS), SLOT_STEP)
    run = partial(_run_one, bank, program, data, clairvoyant)
    pool = ThreadPoolExecutor(THREADS)
    try:
        # Even a single episode runs in a thread: the main one stays free to hear an interrupt.
        first = pool.submit(run, slots, 0, seeds[0]).result()  # compiles
        return [first, *pool.map(partial(run, first.slots), range(1, len(bank)), seeds[1:])]
    finally:
        pool.shutdown(wait=False, cancel_futures=True)


def begin(program: Program, slots: int, worlds: World, index: jax.Array, data: Any) -> Carry:
    """World `index` at round 0, before the first plan."""
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
    """Plan and advance until the episode is over or needs more slots, or it is `enough` (pure)."""
    world = pick(worlds, index)

    def step(carry: Carry) -> Carry:
        state = carry.state
        lot = jax.random.fold_in(key, state.round)
        owner, memory = program.act(data, observe(world, state, clairvoyant), carry.memory, lot)
        return Carry(advance(world, apply_plan(world, state, owner)), memory, carry.rounds + 1)

    return loop_until(lambda carry: is_over(world, carry.state) | enough(carry.state), step, carry)


def enlarge(program: Program, slots: int, carry: Carry, worlds: World, index: jax.Array) -> Carry:
    """The same moment of the episode with room for `slots` active jobs."""
    return Carry(grow(pick(worlds, index), carry.state, slots), program.grow(carry.memory, slots), carry.rounds)


def shrink(program: Program, slots: int, carry: Carry) -> Carry:
    """The same moment with room for `slots` active jobs, no more of which there are, just after one has ended."""
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
            f"{bank.scenarios[index].name}, seed {seed}: the policy's plan before {time_s:,.0f} s is none; "
            "a gang must have exactly as many GPUs as its job demands, all of them free"
        )
    return outcome_of(carry.state, len(bank.scenarios[index].jobs), int(carry.rounds))


def outcome_of(state: State, jobs: int, rounds: int) -> Outcome:
    """What `state` says of its first `jobs` jobs after `rounds` planning rounds."""
    ledger = state.ledger
    slots, count = state.slots, int(state.count)
    so_far = contended_gpu_rounds(state.contention, state.round) - slots.contended_gpu_rounds
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
        rounds=rounds,
        busy_gpu_rounds=int(state.busy_gpu_rounds),
        contended_gpu_rounds=column(ledger.contended_gpu_rounds, so_far),
        slots=slots.job.shape[0],
        stream_ended=int(state.next_job) >= jobs,
    )
