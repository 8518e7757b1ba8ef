"""What the learned index sees of each job: features of the view, scaled to about [-1, 1].

Sizes are given only as ratios to the cluster's size, so that weights learned on 64 GPUs mean the same on 256.
"""

from __future__ import annotations

import jax
import jax.numpy as jnp

from ...envs.cluster.state import FREE
from ...envs.cluster.view import View
from ...envs.loops import most, put, sequence_of
from .gittins import GRID, MIN_FINISHED, History, cell_of

NAMES = (
    "attained rounds, log",
    "attained GPU-rounds, log",
    "demand as a share of the GPUs, log",
    "wider than a node",
    "class A",
    "class B",
    "class C",
    "class D",
    "rounds waited, log",
    "running",
    "place in arrival order",
    "place in the expert's order",
    "demand ahead as a share of the GPUs, log",
    "fits behind those ahead",
    "GPUs left behind those ahead and this job",
    "demand of all jobs as a share of the GPUs, log",
    "expert's key, log",
    "expert's key against that of the last job that fits, log",
    "mean rounds left of such jobs, log",
    "share of such jobs that end within a step",
    "share of such jobs that end within four steps",
    "slowdown of its gang by the profile, log",
    "slowdown of its gang against the best there is, log",
    "seconds that a move to the best could save, against a restart, log",
    "restart cost in rounds",
    "one",
)
FEATURES = len(NAMES)
"""F, the number of features."""
ONE_HOT = 4
"""Number of app classes that have their own feature."""
AHEAD = 4
"""Steps of the service histogram that the features look ahead."""


def index_features(view: View, history: History, key: jax.Array) -> jax.Array:
    """Return the features [A, F] float32 of every slot, 0 for empty ones; `key` [A] is the expert's, lower is first."""
    slot = jnp.arange(view.demand.shape[0], dtype=jnp.int32)
    active = slot < view.count
    gpus, count = jnp.float32(view.owner.size), jnp.maximum(view.count, 1).astype(jnp.float32)
    attained, demand = view.attained.astype(jnp.float32), view.demand.astype(jnp.float32)
    log_key = jnp.where(active, log_of_key(key), jnp.inf)
    sequence = sequence_of(jnp.zeros_like(slot), log_key)
    before = jnp.cumsum(demand[sequence]) - demand[sequence]
    ahead, place = put((demand, demand), sequence, (before, slot.astype(jnp.float32)))
    fits = active & (ahead + demand <= gpus)
    last = jnp.max(jnp.where(fits, log_key, -jnp.inf))
    left, soon, sooner_or_later = outlook(view, history)
    now, best = gang_slowdown(view), best_slowdown(view)
    saved_s = jnp.maximum(now / best - 1, 0) * left * view.round_s
    columns = (
        jnp.log1p(attained) / 6,
        jnp.log1p(attained * demand) / 8,
        jnp.log(jnp.maximum(demand, 1.0) / gpus) / 4,
        view.demand > view.owner.shape[1],
        *(view.app_class == c for c in range(ONE_HOT)),
        jnp.log1p(view.waited.astype(jnp.float32)) / 5,
        view.running,
        2 * slot / count - 1,
        2 * place / count - 1,
        jnp.log1p(ahead / gpus),
        fits,
        jnp.clip(1 - (ahead + demand) / gpus, -1, 1),
        jnp.full_like(demand, jnp.log1p(jnp.sum(demand) / gpus) / 2),
        log_key / 8,
        jnp.clip((log_key - jnp.where(jnp.isfinite(last), last, 0.0)) / 4, -1, 1),
        jnp.log1p(left) / 6,
        soon,
        sooner_or_later,
        jnp.log(now),
        jnp.log(now / best),
        jnp.where(view.running, jnp.clip(jnp.log((saved_s + 1) / (view.restart_s + 1)) / 4, -1, 1), 0),
        jnp.full_like(demand, jnp.clip(view.restart_s / view.round_s, 0, 2)),
        jnp.ones_like(demand),
    )
    table = jnp.stack([column.astype(jnp.float32) for column in columns], axis=1)
    return jnp.where(active[:, None], table, 0.0)


def log_of_key(key: jax.Array) -> jax.Array:
    """Return an expert's key on a log scale [A] float32: log(cost + 1), or -log(index) for a negated index."""
    size = jnp.where(key < 0, -key, key + 1).astype(jnp.float32)
    log = jnp.log(jnp.maximum(size, 1e-12))
    return jnp.where(key < 0, -log, log)


def outlook(view: View, history: History) -> tuple[jax.Array, jax.Array, jax.Array]:
    """Predict from finished jobs of the same class and demand that reached at least each slot's age [A].

    Return the mean rounds that they still needed, and the shares that ended within the next step, and within the next
    `AHEAD` steps, of the service histogram. If too few are known: the job's age in rounds + 1, and 0.
    """
    cell, last = cell_of(history, view.app_class, view.demand), len(GRID) - 1
    step = jnp.searchsorted(jnp.asarray(GRID), view.attained, side="right")  # the first edge beyond its age

    def before(table: jax.Array, edge: jax.Array) -> jax.Array:
        return jnp.where(edge > 0, table[cell, jnp.clip(edge - 1, 0, last)], 0.0).astype(jnp.float32)

    gone, total = before(history.finished, step), history.finished[cell, last].astype(jnp.float32)
    alive = total - gone
    known = (total >= MIN_FINISHED) & (alive > 0)
    share = 1 / jnp.maximum(alive, 1)
    age = view.attained.astype(jnp.float32)
    spent = history.service[cell, last].astype(jnp.float32) - before(history.service, step)
    left = jnp.where(known, jnp.maximum(spent * share - age, 0.5), age + 1)
    soon, later = (before(history.finished, step + n) - gone for n in (1, AHEAD))
    return left, jnp.where(known, soon * share, 0.0), jnp.where(known, later * share, 0.0)


def gang_slowdown(view: View) -> jax.Array:
    """Return each running gang's slowdown [A] by the profile, with the locality penalty; 1 if a job does not run."""
    slots, (nodes, places) = view.demand.shape[0], view.owner.shape
    holder = jnp.where(view.owner == FREE, slots, view.owner)
    app_class = view.app_class.at[holder].get(mode="fill", fill_value=0)
    at = (jnp.arange(nodes, dtype=jnp.int32)[:, None], jnp.arange(places, dtype=jnp.int32)[None, :])
    value = view.profile.value[app_class, view.profile.level[app_class, *at]]
    seat, node = holder.ravel(), jnp.repeat(jnp.arange(nodes, dtype=jnp.int32), places)
    worst = most(jnp.ones(slots, value.dtype), seat, value.ravel())
    none = jnp.zeros(slots, jnp.int32)
    first, final = nodes - most(none, seat, nodes - node), most(none - 1, seat, node)
    return jnp.where(first < final, worst * view.locality_penalty[view.app_class], worst)


def best_slowdown(view: View) -> jax.Array:
    """Return the least slowdown [A] by the profile that each job could have on an empty cluster, ignoring distance.

    A gang wider than a node always pays the penalty; for a narrower gang it is that of the fastest GPUs anywhere.
    """
    value = view.profile.value  # [C, V]
    steps = jnp.arange(value.shape[1], dtype=jnp.int32)
    within = view.profile.level.reshape(value.shape[0], 1, -1) <= steps[None, :, None]
    up_to = jnp.sum(within, axis=2, dtype=jnp.int32)[view.app_class]  # [A, V] GPUs of that bin or a faster one
    bottleneck = jnp.minimum(jnp.sum(up_to < view.demand[:, None], axis=1, dtype=jnp.int32), len(steps) - 1)
    wide = view.demand > view.owner.shape[1]
    return value[view.app_class, bottleneck] * jnp.where(wide, view.locality_penalty[view.app_class], 1.0)
