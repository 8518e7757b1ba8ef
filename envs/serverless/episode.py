"""Runs whole episodes under a scheduler; there is one XLA program per shape and scheduler program."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from functools import partial
from threading import Lock
from typing import Any, Protocol

import jax
import jax.numpy as jnp
import numpy as np
from numpy.typing import NDArray

from ..core import Act, loop_until, pytree
from .bank import Bank, few_shapes
from .decisions import decide
from .dispatch import site_of
from .dynamics import initial_state, settle
from .layout import most_jobs
from .queues import enlarge
from .state import State, World
from .view import Decision, View, observe
from .world import rows

FIRST_PLACES = 128
"""Places per queue at the start."""
MORE_PLACES = 8
"""Factor by which the places grow when more jobs wait. Each growth compiles, and starved queues may need several."""
THREADS = 2
"""Episodes that run at the same time; each is one single-threaded XLA program."""


class Program(Protocol):
    """A scheduler as pure functions. Programs are compared by identity, so each is compiled once per shape."""

    @property
    def start(self) -> Callable[[Any, jax.Array], Any]:
        """(data, key) -> memory before the first decision."""
        ...

    @property
    def act(self) -> Act[Any, View, Any, Decision]:
        """(data, view, memory, key) -> (decision, memory)."""
        ...


@pytree
class Carry:
    """An episode in progress."""

    state: State
    memory: Any
    misses: jax.Array  # [] int32 decisions that differ from the static plan


@dataclass(frozen=True)
class Outcome:
    """Raw results of one episode."""

    log: NDArray[np.int32]
    """A row per task or shed request: start, end, billed ticks, cold, queue, invoker, config, batch, members."""
    end: int
    """Tick at which the episode ended."""
    truncated: bool
    visits: int
    misses: int
    seconds: float
    """Wall time of the episode, without compilation."""


def run_episodes(bank: Bank, program: Program, data: Any, seeds: Sequence[int], worlds: World) -> list[Outcome]:
    """Run one episode per world of the bank; `worlds` are its worlds as adapted by the scheduler, `seeds` are [M]."""
    run = partial(_run_one, bank, program, data, worlds)
    pool = ThreadPoolExecutor(THREADS)
    try:
        return list(pool.map(run, range(len(bank)), seeds))
    finally:
        pool.shutdown(wait=False, cancel_futures=True)


def begin(
    program: Program, places: int, logged: int, worlds: World, index: jax.Array, data: Any, key: jax.Array
) -> Carry:
    """Return world `index` at its first decision."""
    world = rows(worlds, index)
    return Carry(settle(world, initial_state(world, places, logged)), program.start(data, key), jnp.int32(0))


def go_on(program: Program, carry: Carry, worlds: World, index: jax.Array, data: Any, key: jax.Array) -> Carry:
    """Decide until the episode is over or a queue needs more places (pure)."""
    world = rows(worlds, index)

    def step(carry: Carry) -> Carry:
        state = carry.state
        site = site_of(world, state)
        lot = jax.random.fold_in(key, state.visits)
        decision, memory = program.act(data, observe(world, state, site), carry.memory, lot)
        return Carry(settle(world, decide(world, state, site, decision.action)), memory, carry.misses + decision.missed)

    return loop_until(lambda carry: carry.state.cursor < 0, step, carry)


def widen(places: int, carry: Carry, worlds: World, index: jax.Array) -> Carry:
    """Return the same moment with `places` places per queue."""
    world = rows(worlds, index)
    queues = enlarge(carry.state.queues, places, most_jobs(world))
    return replace(carry, state=settle(world, replace(carry.state, queues=queues, overflow=jnp.bool_(False))))


_COMPILING = Lock()
"""Held while a program may be compiled, so that threads do not compile the same program at the same time."""
_begin = jax.jit(begin, static_argnums=(0, 1, 2))
_go_on = jax.jit(go_on, static_argnums=0)
_widen = jax.jit(widen, static_argnums=0)


def log_rows(bank: Bank) -> int:
    """Return room for the most tasks that an episode of any world can have, which is one per job."""
    jobs = max(
        int(np.take([w.stages for w in scenario.workflows], scenario.requests.workflow).sum())
        for scenario in bank.scenarios
    )
    return few_shapes(jobs)


def _run_one(bank: Bank, program: Program, data: Any, worlds: World, index: int, seed: int) -> Outcome:
    key, at, places = jax.random.key(seed), jnp.int32(index), FIRST_PLACES
    run = partial(_timed, program, worlds=worlds, index=at, data=data, key=key)
    with _COMPILING:
        carry = _begin(program, places, log_rows(bank), worlds, at, data, key)
    carry, seconds = run(carry)
    while bool(carry.state.overflow):
        places *= MORE_PLACES
        with _COMPILING:
            carry = _widen(places, carry, worlds, at)
        carry, more = run(carry)
        seconds += more
    return outcome_of(carry.state, int(carry.misses), seconds)


def outcome_of(state: State, misses: int, seconds: float) -> Outcome:
    """Read the results of an episode from `state`."""
    return Outcome(
        log=np.asarray(state.log.row)[: int(state.log.count)],
        end=int(state.now),
        truncated=bool(state.truncated),
        visits=int(state.visits),
        misses=misses,
        seconds=seconds,
    )


def _timed(program: Program, carry: Carry, **rest: Any) -> tuple[Carry, float]:
    """Run `go_on` and time it without compilation: a first call on an episode that is over compiles the program."""
    over = replace(carry, state=replace(carry.state, cursor=jnp.int32(-1)))
    with _COMPILING:
        jax.block_until_ready(_go_on(program, over, **rest))
    start = time.perf_counter()
    carry = jax.block_until_ready(_go_on(program, carry, **rest))
    return carry, time.perf_counter() - start
