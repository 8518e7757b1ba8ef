"""Placements: on which GPUs. Each maps (view of one job, free GPUs) to a gang; the rules are in envs.cluster."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import jax
import jax.numpy as jnp

from ...envs.cluster import allocation
from ...envs.cluster.state import Profile

Place = Callable[[Profile, jax.Array, jax.Array, jax.Array, jax.Array], jax.Array]
"""(profile, app_class [], free [N, P] bool, demand [], key) -> gang [N, P] bool of exactly `demand` free GPUs."""


@dataclass(frozen=True)
class Placement:
    """A catalog entry: the rule, how it wants its jobs handed over, and where it comes from."""

    name: str
    place: Place
    source: str
    class_first: bool = False
    """Admitted jobs are placed class A first, then in order; otherwise in order."""
    random: bool = False
    """Uses its key, so that the same jobs get new gangs every round."""


def packed(profile: Profile, app_class: jax.Array, free: jax.Array, demand: jax.Array, key: jax.Array) -> jax.Array:
    """As few nodes as possible."""
    return allocation.packed(free, demand)


def pm_first(profile: Profile, app_class: jax.Array, free: jax.Array, demand: jax.Array, key: jax.Array) -> jax.Array:
    """The fastest bins, wherever they are."""
    return allocation.pm_first(profile, app_class, free, demand)


def pal(profile: Profile, app_class: jax.Array, free: jax.Array, demand: jax.Array, key: jax.Array) -> jax.Array:
    """The cheapest cell of the locality x variability matrix."""
    return allocation.pal(profile, app_class, free, demand)


def random(profile: Profile, app_class: jax.Array, free: jax.Array, demand: jax.Array, key: jax.Array) -> jax.Array:
    """A uniform sample of the free GPUs."""
    lot = jax.random.bits(key, (free.size,)) >> 2
    gpus = allocation.take_first(free.reshape(-1, 1), lot.astype(jnp.int32), demand)
    return gpus.reshape(free.shape)
