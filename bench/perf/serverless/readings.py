"""Measures the serverless platform's speed: whole compiled episodes under ESG, and ESG's look-up alone."""

from __future__ import annotations

import time
from typing import Any

import jax
import jax.numpy as jnp

from ....envs.core import pytree
from ....envs.serverless.bank import Bank, make_bank
from ....envs.serverless.dispatch import site_of
from ....envs.serverless.dynamics import initial_state, point
from ....envs.serverless.episode import begin, go_on, run_episodes
from ....envs.serverless.state import World
from ....envs.serverless.view import Decision, View, observe
from ....envs.serverless.world import rows
from ....policies.serverless.catalog import find_scheduler
from ....policies.serverless.esg.scoring import EsgData, choose
from ....scenarios.catalog import find_source
from ....scenarios.seeds import HELD_OUT
from ..timing import Reading, rate

SETTING, POLICY = "relaxed-heavy", "esg"
PLACES = 128
"""Places per queue of a recorded episode, which stops if they do not suffice."""
VIEWS = 4096
"""Number of views on which the look-up is timed."""


def serverless_readings(seconds: float) -> list[Reading]:
    """Decisions per second of one episode, and microseconds of a look-up."""
    bank = make_bank([find_source(SETTING).build(HELD_OUT.first)])
    scheduler = find_scheduler(POLICY)
    data = scheduler.bind(bank)
    return [
        Reading("serverless.decisions_per_s", _decisions_per_s(bank, scheduler.program, data, seconds), "1/s"),
        Reading("esg.frontier_us", 1e6 / _look_ups_per_s(record_views(bank, data), data, seconds), "us"),
    ]


def _decisions_per_s(bank: Bank, program: Any, data: Any, seconds: float) -> float:
    """Measure over whole episodes for `seconds`, at least one episode, after compilation."""
    visits, spent = 0, 0.0
    run_episodes(bank, program, data, [0], bank.worlds)
    start = time.perf_counter()
    while not visits or time.perf_counter() - start < seconds:
        (outcome,) = run_episodes(bank, program, data, [0], bank.worlds)
        visits, spent = visits + outcome.visits, spent + outcome.seconds
    return visits / spent


@pytree
class Recording:
    """A circular buffer of the last views of an episode."""

    views: View  # leaves [VIEWS, ...]
    count: jax.Array  # [] int32


class Recorder:
    """ESG's program that also records its views."""

    def __init__(self, worlds: World) -> None:
        """Prepare to record views of these worlds."""
        self.shapes = jax.eval_shape(_first_view, worlds)

    def start(self, data: EsgData, key: jax.Array) -> Recording:
        """Return an empty recording."""
        views = jax.tree.map(lambda leaf: jnp.zeros((VIEWS, *leaf.shape), leaf.dtype), self.shapes)
        return Recording(views, jnp.int32(0))

    def act(self, data: EsgData, view: View, memory: Recording, key: jax.Array) -> tuple[Decision, Recording]:
        """Return ESG's decision, and record the view."""
        at = memory.count % VIEWS
        views = jax.tree.map(lambda table, leaf: table.at[at].set(leaf), memory.views, view)
        return choose(data, view), Recording(views, memory.count + 1)


def record_views(bank: Bank, data: EsgData) -> View:
    """Record the views of an episode of the bank's first world under ESG; leaves are [VIEWS, ...]."""
    recorder, first, key = Recorder(bank.worlds), jnp.int32(0), jax.random.key(0)

    @jax.jit
    def run(worlds: World, data: EsgData) -> View:
        carry = begin(recorder, PLACES, 0, worlds, first, data, key)
        return go_on(recorder, carry, worlds, first, data, key).memory.views

    return run(bank.worlds, data)


def _look_ups_per_s(views: View, data: EsgData, seconds: float) -> float:
    """Return ESG's decisions per second, made one after the other in a compiled loop."""

    @jax.jit
    def run(views: View, data: EsgData) -> jax.Array:
        def step(i: jax.Array, total: jax.Array) -> jax.Array:
            # The index depends on earlier decisions, as in an episode, but its value is always i.
            view = jax.tree.map(lambda leaf: leaf[jnp.maximum(i, total - VIEWS * 1000)], views)
            return total + choose(data, view).action

        return jax.lax.fori_loop(0, VIEWS, step, jnp.int32(0))

    def batch() -> int:
        run(views, data).block_until_ready()
        return VIEWS

    batch()
    return rate(batch, seconds)


def _first_view(worlds: World) -> View:
    world = rows(worlds, jnp.int32(0))
    state = initial_state(world, 1, 0)
    return observe(world, state, site_of(world, point(world, state, jnp.int32(0))))
