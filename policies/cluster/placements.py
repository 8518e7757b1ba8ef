"""Placements: which GPUs a job gets. Each maps (one job, free GPUs) to a gang; the rules are in envs.cluster."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import jax
import jax.numpy as jnp

from ...envs.cluster import allocation
from ...envs.cluster.state import Profile
from ..traced import check_rule

Place = Callable[[Profile, jax.Array, jax.Array, jax.Array, jax.Array], jax.Array]
"""(profile, app_class [], free [N, P] bool, demand [], key) -> gang [N, P] bool of exactly `demand` free GPUs."""


@dataclass(frozen=True)
class Placement:
    """A catalog entry: the rule, the order in which it places jobs, and its source."""

    name: str
    place: Place
    source: str
    class_first: bool = False
    """Admitted jobs are placed class A first, and in order within a class; otherwise in order."""
    random: bool = False
    """The rule uses its random key, so that the same jobs get new gangs every round."""


def packed(profile: Profile, app_class: jax.Array, free: jax.Array, demand: jax.Array, key: jax.Array) -> jax.Array:
    """Use as few nodes as possible."""
    return allocation.packed(free, demand)


def pm_first(profile: Profile, app_class: jax.Array, free: jax.Array, demand: jax.Array, key: jax.Array) -> jax.Array:
    """Use the GPUs of the fastest bins, on any node."""
    return allocation.pm_first(profile, app_class, free, demand)


def pal(profile: Profile, app_class: jax.Array, free: jax.Array, demand: jax.Array, key: jax.Array) -> jax.Array:
    """Use the cheapest cell of the locality x variability matrix."""
    return allocation.pal(profile, app_class, free, demand)


def random(profile: Profile, app_class: jax.Array, free: jax.Array, demand: jax.Array, key: jax.Array) -> jax.Array:
    """Use a uniform random sample of the free GPUs."""
    lot = jax.random.bits(key, (free.size,)) >> 2
    gpus = allocation.take_first(free.reshape(-1, 1), lot.astype(jnp.int32), demand)
    return gpus.reshape(free.shape)


def check_placement(entry: Placement) -> None:
    """Trace the rule on a small cluster. Raises `InputError` where it fails or does not give a mask bool [N, P]."""
    nodes, places, classes, bins = 3, 4, 2, 4
    whole = jax.ShapeDtypeStruct((), jnp.int32)
    steps = jax.ShapeDtypeStruct((classes, bins), jnp.int32)
    profile = Profile(
        level=jax.ShapeDtypeStruct((classes, nodes, places), jnp.int32),  # type: ignore[arg-type]
        value=jax.ShapeDtypeStruct((classes, bins), jnp.zeros(0).dtype),  # type: ignore[arg-type]
        within_rank=steps,  # type: ignore[arg-type]
        across_rank=steps,  # type: ignore[arg-type]
    )
    free = jax.ShapeDtypeStruct((nodes, places), bool)
    arguments = (profile, whole, free, whole, jax.random.key(0))
    check_rule("placement", entry.name, entry.place, arguments, f"bool {free.shape}")
