"""ESG's choice as a table look-up, in pure JAX: first configurations, ranked by their cheapest paths.

It is the JAX version of `frontier.first_configurations` and `frontier.first_of_paths`. A decision within an episode
costs only one comparison per step of a table and one gather.
"""

from __future__ import annotations

import jax
import jax.numpy as jnp

from ....envs.core import pytree
from ....envs.serverless.view import Decision, View
from ..costs import NO_PATH
from ..policy import NONE, best_of, folded, serve_or_wait


@pytree
class EsgData:
    """Tables of a bank. Q queues, X configurations, B levels, M steps, K paths."""

    time: jax.Array  # [Q, X] int32 ticks
    cost: jax.Array  # [Q, X] int32 units
    step_time: jax.Array  # [Q, M, B] int32 ticks
    step_cost: jax.Array  # [Q, B, M+1, K] int32 units
    begins: jax.Array  # [Q] float32 share of the SLO at which the stage should begin
    deadline: jax.Array  # [Q] float32 share by which its group should have ended
    batch: jax.Array  # [X] int32
    allowed: jax.Array  # [X] bool
    fallback: jax.Array  # [Q, X] int32 rank if no path ends in time, smaller first
    fullest: jax.Array  # [] bool the fall-back uses the fullest batch only
    margin: jax.Array  # [] float32 fraction of T* to plan with
    candidates: jax.Array  # [] int32 number of configurations of the list that are tried
    replan: jax.Array  # [] bool
    retries: jax.Array  # [] int32 failed visits before the minimum configuration is forced
    rescue: jax.Array  # [] bool force it also when the slack is shorter than its run time
    least: jax.Array  # [] int32 the minimum configuration


def target(data: EsgData, view: View) -> jax.Array:
    """Return T*, the ticks that the group may still take times the safety margin; without re-planning, of its share."""
    slo = (view.slack + view.waited).astype(jnp.float32)
    end, begin = data.deadline[view.queue], data.begins[view.queue]
    left = jnp.where(data.replan, end * slo - view.waited.astype(jnp.float32), (end - begin) * slo)
    return jnp.floor(data.margin * left).astype(jnp.int32)


def path_costs(data: EsgData, view: View) -> jax.Array:
    """Return the costs [X, K] of the cheapest paths within T* by first configuration; `NO_PATH` or more: none."""
    return costs_within(data, view, target(data, view))


def costs_within(data: EsgData, view: View, goal: jax.Array) -> jax.Array:
    """Return the same for paths within `goal` ticks [] int32."""
    queue = view.queue
    left = goal - data.time[queue]
    step_time = data.step_time[queue]  # [M, B]
    by_level = left.reshape(step_time.shape[1], -1)  # batches are the slowest axis of a configuration's number
    at = jnp.sum(step_time[:, :, None] <= by_level[None], axis=0, dtype=jnp.int32)
    level = jnp.arange(step_time.shape[1], dtype=jnp.int32)[:, None]
    rest = data.step_cost[queue][level, at].reshape(left.shape[0], -1)
    enough = data.allowed & (data.batch <= view.length)
    return jnp.where(enough[:, None], data.cost[queue][:, None] + rest, NO_PATH)


def choose(data: EsgData, view: View) -> Decision:
    """Choose the first configuration of ESG's list that can run now; else, by option, the minimum one; else WAIT."""
    return pick(data, view, path_costs(data, view), data.candidates)


def pick(data: EsgData, view: View, cost: jax.Array, candidates: jax.Array) -> Decision:
    """Decide from the costs of paths `cost` [X, K], trying the `candidates` [] cheapest first configurations."""
    best, number = cost[:, 0], jnp.arange(cost.shape[0], dtype=jnp.int32)
    lost = jnp.min(folded(best)) >= NO_PATH
    order, able = _order(data, view, best, lost)
    config, found = best_of(order, able)
    cheapest = order[jnp.minimum(config, order.shape[0] - 1)]
    before = (cost < cheapest) | ((cost == cheapest) & (number < config)[:, None])
    found &= lost | (jnp.sum(folded(before), dtype=jnp.int32) < candidates)

    short = data.rescue & (view.slack < data.time[view.queue, data.least])
    forced = ((view.fails + 1 > data.retries) | short) & view.legal[data.least] & ~found
    return serve_or_wait(jnp.where(forced, data.least, config), found | forced, cost.shape[0])


def _order(data: EsgData, view: View, best: jax.Array, lost: jax.Array) -> tuple[jax.Array, jax.Array]:
    """Return (rank [X], can run now [X]): by the cheapest path, or by the fall-back if no path ends in time."""
    most = jnp.max(jnp.where(data.allowed & (data.batch <= view.length), data.batch, 0))
    last = data.fallback[view.queue]
    fits_last = data.allowed & (last < NONE) & (~data.fullest | (data.batch == most))
    return jnp.where(lost, last, best), view.legal & jnp.where(lost, fits_last, best < NO_PATH)


def scores(data: EsgData, view: View) -> jax.Array:
    """Return minus the cost of each legal configuration's cheapest path [X], relative to the cheapest of all."""
    best = path_costs(data, view)[:, 0]
    rank, known = _order(data, view, best, jnp.min(folded(best)) >= NO_PATH)
    least = jnp.min(folded(jnp.where(known, rank, NONE))).astype(jnp.float32)
    return jnp.where(known, -(rank.astype(jnp.float32) - least) / jnp.maximum(least, 1.0), -jnp.inf)
