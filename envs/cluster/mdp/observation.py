"""What a learner sees: the window, its cells and the cluster, as flat arrays scaled to about [-1, 1].

An observation reveals neither true scores nor future jobs, and it shows remaining work only under the option
`clairvoyant`.
"""

from __future__ import annotations

from dataclasses import dataclass

import jax
import jax.numpy as jnp

from ..state import FREE, State, World
from .action import ActionMode, ActionSpace, Plan, Window, free_gpus
from .cells import rows_of

SLOT_FEATURES = (
    "present",
    "log attained rounds",
    "log attained GPU-rounds",
    "log demand",
    "log age in rounds",
    "log rounds since last scheduled",
    "running",
    "gang intact",
    "fits",
    "cumulative demand in base order",
    "base policy would run it",
    "log remaining rounds (clairvoyant)",
)
"""Features of each window slot; the one-hot app class follows them."""
CLUSTER_FEATURES = ("free share", "log queue length", "log total demand", "share of the window in use")
"""Features of the cluster; the share of free GPUs per class and bin follows them."""
LOG_ROUNDS, LOG_QUEUE = 10.0, 6.0
MOST_LOAD = 4.0
"""Cumulative demand is clipped at this many times the cluster's GPUs."""


@dataclass(frozen=True)
class Layout:
    """Sizes of the parts of an observation: W slots, V bins, C classes."""

    space: ActionSpace
    classes: int

    @property
    def sizes(self) -> dict[str, int]:
        """Length of every flat part."""
        return {
            "jobs": self.space.window * (len(SLOT_FEATURES) + self.classes),
            "cells": self.space.window * 2 * self.space.bins if self.space.mode is ActionMode.CELL else 0,
            "cluster": len(CLUSTER_FEATURES) + self.classes * self.space.bins,
        }


def observation(
    layout: Layout,
    world: World,
    state: State,
    plan: Plan,
    window: Window,
    mask: jax.Array,
    picked: jax.Array,
    clairvoyant: bool,
) -> dict[str, jax.Array]:
    """Return flat float32 arrays `jobs`, `cells` (under `cell`), `cluster`. `picked` [W]: jobs the base would run."""
    parts = {
        "jobs": _jobs(layout, world, state, plan, window, picked, clairvoyant).ravel(),
        "cluster": _cluster(state, plan, window),
    }
    if layout.space.mode is ActionMode.CELL:
        parts["cells"] = _cells(layout.space, world, state, window, mask).ravel()
    return {name: part.astype(jnp.float32) for name, part in sorted(parts.items())}


def _jobs(
    layout: Layout, world: World, state: State, plan: Plan, window: Window, picked: jax.Array, clairvoyant: bool
) -> jax.Array:
    slots = state.slots
    here = jnp.minimum(window.slot, slots.job.shape[0] - 1)
    present = window.demand > 0
    gpus = plan.owner.size
    attained = slots.attained[here]
    # Computed in seconds first: a product of whole numbers is exact, even if a compiler fuses it with the difference.
    age = (state.round.astype(world.round_s.dtype) * world.round_s - world.arrival_s[slots.job[here]]) / world.round_s
    left = slots.iter_s[here] * (slots.iterations[here] - slots.done[here]) / world.round_s
    load = jnp.cumsum(window.demand, dtype=jnp.int32).astype(jnp.float32) / gpus
    columns = [
        present,
        _log(attained) / LOG_ROUNDS,
        _log(attained * window.demand) / (LOG_ROUNDS + jnp.log(gpus)),
        _log(window.demand) / jnp.log(gpus + 1.0),
        _log(age) / LOG_ROUNDS,
        _log(slots.waited[here]) / LOG_ROUNDS,
        slots.running[here],
        window.keeps,
        window.demand <= free_gpus(state, plan),
        jnp.minimum(load, MOST_LOAD) / MOST_LOAD,
        picked,
        _log(left) / LOG_ROUNDS if clairvoyant else jnp.zeros_like(load),
        *(window.app_class == c for c in range(layout.classes)),
    ]
    return jnp.where(present[:, None], jnp.stack([c.astype(load.dtype) for c in columns], axis=1), 0.0)


def _cells(space: ActionSpace, world: World, state: State, window: Window, mask: jax.Array) -> jax.Array:
    """Return the log slowdown of every legal cell [W, 2V]; 0 for cells that are not legal."""
    value = jnp.log(state.profile.value.astype(jnp.float32))
    penalty = jnp.log(world.locality_penalty.astype(jnp.float32))[:, None]
    slowdown = rows_of(jnp.concatenate([value, value + penalty], axis=1), window.app_class)
    legal = mask[: space.rest].reshape(space.window, space.per_slot)[:, : space.keep]
    return jnp.where(legal, slowdown, 0.0)


def _cluster(state: State, plan: Plan, window: Window) -> jax.Array:
    gpus = plan.owner.size
    free = plan.owner == FREE
    bins = state.profile.value.shape[1]
    in_bin = state.profile.level[:, None] == jnp.arange(bins, dtype=jnp.int32)[None, :, None, None]
    per_bin = jnp.sum(in_bin & free[None, None], axis=(2, 3), dtype=jnp.int32) / gpus
    head = jnp.stack(
        [
            free_gpus(state, plan) / gpus,
            _log(state.count) / LOG_QUEUE,
            _log(jnp.sum(state.slots.demand, dtype=jnp.int32) / gpus) / LOG_QUEUE,
            jnp.mean(window.demand > 0),
        ]
    )
    return jnp.concatenate([head, per_bin.ravel()])


def _log(x: jax.Array) -> jax.Array:
    return jnp.log1p(jnp.maximum(x, 0).astype(jnp.float32))
