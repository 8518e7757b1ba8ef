"""Measures how fast environments step: one at a time, in a batch from Python, and (cluster only) fully compiled.

Actions are drawn uniformly from the legal ones, every step builds observation and mask, and ended episodes restart.
REST and COMMIT cost most in the cluster, so their share is reported with every rate.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor
from functools import partial
from multiprocessing import get_context
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from gymnasium.vector import AutoresetMode

from ...envs.cluster.bank import Bank, pick
from ...envs.cluster.mdp.base import Base
from ...envs.cluster.mdp.env import ClusterProcess, EnvState
from ...envs.cluster.mdp.faces import GpuClusterEnv, GpuClusterVectorEnv
from ...envs.cluster.mdp.options import EnvOptions
from ...envs.cluster.state import World
from ...envs.faces.gym import SchedulingEnv
from ...envs.faces.vector import SchedulingVectorEnv
from ...settings import configure

LANES, THREADS = 64, 2
COMPILED_STEPS = 200
Rate = tuple[float, float]
"""(decisions per second, share of passive ones among them: REST and COMMIT, or WAIT and DROP)"""


def cluster_rates(bank: Bank, base: Base, seconds: float) -> dict[str, Rate]:
    """Return the rates of the cluster's interfaces, and of its process without them."""
    single, batch = GpuClusterEnv(bank, base), GpuClusterVectorEnv(bank, base, LANES, None, AutoresetMode.SAME_STEP)
    rest = single.kind.process.space.rest
    return {
        "single": in_own_process(single_rate, single, rest, seconds),
        "batched": compiled_rate(bank, base, seconds),
        "host_stepped": host_stepped_rate(batch, rest, seconds),
    }


def in_own_process(measure: Callable[..., Rate], *arguments: Any) -> Rate:
    """Run `measure(*arguments)` in a process whose JAX is set up for single environments, unlike this one's."""
    settings = (jnp.zeros(0, float).dtype == jnp.float64, True)
    with ProcessPoolExecutor(1, get_context("spawn"), configure, settings) as pool:
        return pool.submit(measure, *arguments).result()


def single_rate(env: SchedulingEnv[Any], passive: int, seconds: float) -> Rate:
    """Measure `env.step` of one environment; actions from the number `passive` on count as passive."""
    lots = np.random.default_rng(0)

    def decide() -> int:
        return int(lots.choice(np.flatnonzero(env.action_masks())))

    def episode(until: float) -> tuple[int, int, float]:
        taken = passing = 0
        spent, over = 0.0, False
        env.reset(seed=0)
        while not over and time.perf_counter() < until:
            action = decide()
            start = time.perf_counter()
            _, _, terminated, truncated, _ = env.step(action)
            spent += time.perf_counter() - start
            taken, passing, over = taken + 1, passing + (action >= passive), terminated or truncated
        return taken, passing, spent

    episode(time.perf_counter() + 60)  # compiles
    until, total = time.perf_counter() + seconds, np.zeros(3)
    while time.perf_counter() < until:
        total += episode(until)
    return float(total[0] / total[2]), float(total[1] / total[0])


def host_stepped_rate(env: SchedulingVectorEnv[Any], passive: int, seconds: float) -> Rate:
    """Measure a native batch, stepped from Python with actions drawn on the host; `passive` as in `single_rate`."""
    lots = np.random.default_rng(0)
    env.reset(seed=0)

    def one_step() -> tuple[int, bool]:
        masks = env.action_masks()
        actions = (masks * lots.random(masks.shape, np.float32)).argmax(axis=1)
        _, _, terminated, truncated, _ = env.step(actions)
        return int((actions >= passive).sum()), bool((terminated | truncated).any())

    while not one_step()[1]:  # compiles the programs of a step and of an episode's end
        pass
    start, taken, passing = time.perf_counter(), 0, 0
    while time.perf_counter() - start < seconds:
        passing += one_step()[0]
        taken += env.num_envs
    return taken / (time.perf_counter() - start), passing / taken


def compiled_rate(bank: Bank, base: Base, seconds: float) -> Rate:
    """Measure 64 lanes whose actions are drawn and taken inside one program per thread."""
    process, data = EnvOptions().process(bank, base), base.bind(bank)
    run = jax.jit(partial(_lanes, process))
    keys = [jax.random.split(jax.random.key(i), LANES // THREADS) for i in range(THREADS)]

    def batch(pool: ThreadPoolExecutor) -> tuple[int, int]:
        passing = list(pool.map(lambda key: int(run(bank.worlds, data, key).sum()), keys))
        return LANES * COMPILED_STEPS, sum(passing)

    with ThreadPoolExecutor(THREADS) as pool:
        batch(pool)  # compiles
        start, taken, passing = time.perf_counter(), 0, 0
        while time.perf_counter() - start < seconds:
            more, passed = batch(pool)
            taken, passing = taken + more, passing + passed
        return taken / (time.perf_counter() - start), passing / taken


def _lanes(process: ClusterProcess, worlds: World, data: Any, keys: jax.Array) -> jax.Array:
    """Count the REST and COMMIT actions of each lane [b] over `COMPILED_STEPS` decisions."""
    return jax.lax.map(partial(_one_lane, process, worlds, data), keys)


def _draw(key: jax.Array, mask: jax.Array) -> jax.Array:
    """Draw a legal action; a hash spreads one random word over all actions, far cheaper than a draw for each."""
    word = jax.random.bits(key)
    hashed = (jnp.arange(mask.shape[0], dtype=jnp.uint32) ^ word) * jnp.uint32(0x9E3779B1)
    mixed = (hashed ^ (hashed >> 15)) * jnp.uint32(0x85EBCA77)
    return jnp.argmax(jnp.where(mask, (mixed >> 8) + 1, 0)).astype(jnp.int32)


def _one_lane(process: ClusterProcess, worlds: World, data: Any, key: jax.Array) -> jax.Array:
    number = worlds.demand.shape[0]

    def begin(key: jax.Array) -> tuple[jax.Array, EnvState]:
        index = jax.random.randint(key, (), 0, number)
        return index, process.reset(pick(worlds, index), data, jax.random.key_data(key))

    def once(i: jax.Array, carry: Any) -> Any:
        index, state, mask, passing, _ = carry
        lot = jax.random.fold_in(key, i)
        action = _draw(lot, mask)
        state, done = process.step(pick(worlds, index), data, state, action, mask)
        index, state = jax.lax.cond(done.terminated | done.truncated, lambda: begin(lot), lambda: (index, state))
        parts, mask = process.observe(pick(worlds, index), data, state)
        seen = sum(jnp.sum(part) for part in parts.values())  # so that the compiler drops no part as unused
        return index, state, mask, passing + (action >= process.space.rest), jnp.asarray(seen)

    index, state = begin(key)
    _, mask = process.observe(pick(worlds, index), data, state)
    start = (index, state, mask, jnp.int32(0), jnp.float32(0))
    end = jax.lax.fori_loop(0, COMPILED_STEPS, once, start)
    return end[3] + jnp.where(jnp.isnan(end[4]), 1, 0)
