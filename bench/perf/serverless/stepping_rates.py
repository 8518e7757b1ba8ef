"""Measures many lanes of the serverless platform: compiled under ESG, and as environments."""

from __future__ import annotations

import time
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import jax
import jax.numpy as jnp
from gymnasium.vector import AutoresetMode

from ....envs.serverless.bank import Bank, make_bank
from ....envs.serverless.decisions import decide
from ....envs.serverless.dispatch import site_of
from ....envs.serverless.dynamics import initial_state, settle
from ....envs.serverless.mdp.faces import ServerlessGpuEnv, ServerlessGpuVectorEnv
from ....envs.serverless.mdp.options import ServerlessOptions
from ....envs.serverless.state import State, World
from ....envs.serverless.view import observe
from ....envs.serverless.world import rows
from ....policies.serverless.catalog import find_scheduler
from ....policies.serverless.policy import Scheduler
from ....scenarios.catalog import find_source
from ....scenarios.seeds import TRAIN
from ....scenarios.serverless.source import windowed
from ..stepping import LANES, THREADS, host_stepped_rate, in_own_process, single_rate
from ..timing import Reading

SETTING, BASE, WINDOW_S, WORLDS = "relaxed-heavy", "esg", 20.0, 8
COMPILED_VISITS, PLACES = 2000, 512


def lane_readings(seconds: float) -> list[Reading]:
    """Decisions per second in 64 compiled lanes, and steps per second of the environments with random legal actions."""
    source = windowed(find_source(SETTING), WINDOW_S)
    bank = make_bank([source.build(TRAIN.first + i) for i in range(WORLDS)])
    base: Any = find_scheduler(BASE)
    wait = ServerlessOptions().process(bank, base).wait
    batch = ServerlessGpuVectorEnv(bank, base, LANES, None, AutoresetMode.SAME_STEP)
    rates = {
        "single": in_own_process(single_rate, ServerlessGpuEnv(bank, base), wait, seconds),
        "batched": host_stepped_rate(batch, wait, seconds),
    }
    return [
        Reading("serverless.decisions_per_s.64_lanes", compiled_lanes_per_s(bank, base, seconds), "1/s"),
        *(Reading(f"serverless.env_steps_per_s.{name}", per_s, "1/s") for name, (per_s, _) in rates.items()),
        *(Reading(f"serverless.env_steps_wait_or_drop.{name}", share, "share") for name, (_, share) in rates.items()),
    ]


def compiled_lanes_per_s(bank: Bank, scheduler: Scheduler, seconds: float) -> float:
    """Return the visits per second of 64 lanes, with one program per thread."""
    data = scheduler.bind(bank)
    run = jax.jit(lambda worlds, data, first: _lanes(scheduler, worlds, data, first))

    def batch(pool: ThreadPoolExecutor) -> int:
        return sum(pool.map(lambda first: int(run(bank.worlds, data, first).sum()), range(THREADS)))

    with ThreadPoolExecutor(THREADS) as pool:
        batch(pool)  # compiles
        start, visits = time.perf_counter(), 0
        while not visits or time.perf_counter() - start < seconds:
            visits += batch(pool)
        return visits / (time.perf_counter() - start)


def _lanes(scheduler: Scheduler, worlds: World, data: Any, first: jax.Array) -> jax.Array:
    """Count the visits of each lane [b]; the windows are long enough for all of them."""

    def lane(index: jax.Array) -> jax.Array:
        world = rows(worlds, index % WORLDS)

        def visit(_: jax.Array, state: State) -> State:
            site = site_of(world, state)
            decision, _ = scheduler.program.act(data, observe(world, state, site), (), jax.random.key(0))
            return settle(world, decide(world, state, site, decision.action))

        start = settle(world, initial_state(world, PLACES, 0))
        end = jax.lax.fori_loop(0, COMPILED_VISITS, visit, start)
        return end.visits + (end.tally.usd < 0)  # the cost as well, so that the compiler drops nothing as unused

    return jax.lax.map(lane, first * (LANES // THREADS) + jnp.arange(LANES // THREADS))
