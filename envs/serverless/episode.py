"""Whole episodes under a scheduler: one XLA program per shape and scheduler program."""

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
"""Places per queue at first."""
MORE_PLACES = 8
"""Times as many where more jobs wait; each step is a compilation, and a policy that starves queues takes several."""
THREADS = 2
"""Episodes in flight at once; each is one single-threaded XLA program."""


class Program(Protocol):
    """A scheduler as pure functions; compared by identity, so that one program is compiled once per shape."""

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
    """An episode under way."""

    state: State
    memory: Any
    misses: jax.Array  # [] int32 decisions that were not as planned


@dataclass(frozen=True)
class Outcome:
    """Raw results of one episode."""

    log: NDArray[np.int32]
    """A row per task or shed request: start, end, billed ticks, cold, queue, invoker, config, batch, members."""
    end: int
    """Tick at which the episode was over."""
    truncated: bool
    visits: int
    misses: int
    seconds: float
    """Wall time of the compiled episode, compilation left out."""


def run_episodes(bank: Bank, program: Program, data: Any, seeds: Sequence[int], worlds: World) -> list[Outcome]:
    """One episode per world of the bank (`worlds`: its worlds as the scheduler wants them); `seeds` [M] feed lots."""
    run = partial(_run_one, bank, program, data, worlds)
    pool = ThreadPoolExecutor(THREADS)
    try:
        return list(pool.map(run, range(len(bank)), seeds))
    finally:
        pool.shutdown(wait=False, cancel_futures=True)


def begin(
    program: Program, places: int, logged: int, worlds: World, index: jax.Array, data: Any, key: jax.Array
) -> Carry:
    """World `index` at its first decision."""
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
    """The same moment with `places` places per queue."""
    world = rows(worlds, index)
    queues = enlarge(carry.state.queues, places, most_jobs(world))
    return replace(carry, state=settle(world, replace(carry.state, queues=queues, overflow=jnp.bool_(False))))


_COMPILING = Lock()
"""Held where a program may be new, so that threads do not compile the same one at the same time."""
_begin = jax.jit(begin, static_argnums=(0, 1, 2))
_go_on = jax.jit(go_on, static_argnums=0)
_widen = jax.jit(widen, static_argnums=0)


def log_rows(bank: Bank) -> int:
    """Most tasks that an episode of any world can have: one per job."""
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
    """What the log of `state` says."""
    return Outcome(
        log=np.asarray(state.log.row)[: int(state.log.count)],
        end=int(state.now),
        truncated=bool(state.truncated),
        visits=int(state.visits),
        misses=misses,
        seconds=seconds,
    )


def _timed(program: Program, carry: Carry, **rest: Any) -> tuple[Carry, float]:
    """`go_on`, and its wall time without compilation: an episode that is over compiles it first, where it is new."""
    over = replace(carry, state=replace(carry.state, cursor=jnp.int32(-1)))
    with _COMPILING:
        jax.block_until_ready(_go_on(program, over, **rest))
    start = time.perf_counter()
    carry = jax.block_until_ready(_go_on(program, carry, **rest))
    return carry, time.perf_counter() - start
