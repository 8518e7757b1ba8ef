"""Orders: which job is next. Each maps a view to one key per slot [A]; lower goes first, ties by arrival, then id."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import jax
import jax.numpy as jnp
import numpy as np

from ...envs.cluster.bank import make_bank, pick
from ...envs.cluster.dynamics import initial_state
from ...envs.cluster.view import View, observe
from ...scenarios.cluster.tiny import TinyCluster
from ..information import Information
from ..traced import check_rule
from .gittins import History, empty_history, gittins_index

Key = Callable[[View, History], jax.Array]


@dataclass(frozen=True)
class Order:
    """A catalog entry: the key, the information it needs, and its source."""

    name: str
    key: Key
    information: Information
    source: str
    fixed: bool = False
    """The key never changes while a job is active, so that no sorting is needed."""


def fifo(view: View, history: History) -> jax.Array:
    """First in, first out: slots are already in arrival order."""
    return jnp.zeros_like(view.remaining_s)


def las(view: View, history: History) -> jax.Array:
    """Least attained service first, counted in scheduled rounds."""
    return view.attained.astype(view.remaining_s.dtype)


def las_2d(view: View, history: History) -> jax.Array:
    """Least attained service first, counted in GPU-rounds (Tiresias's two-dimensional service)."""
    return (view.attained * view.demand).astype(view.remaining_s.dtype)


def gittins(view: View, history: History) -> jax.Array:
    """Highest Gittins index of attained service first."""
    return -gittins_index(view, history)


def srtf(view: View, history: History) -> jax.Array:
    """Shortest remaining time first."""
    return view.remaining_s


def srsf(view: View, history: History) -> jax.Array:
    """Shortest remaining service (time x GPUs) first."""
    return view.remaining_s * view.demand.astype(view.remaining_s.dtype)


def sqrt(view: View, history: History) -> jax.Array:
    """Shortest remaining time first, weighted by the square root of demand: between SRTF and SRSF."""
    return view.remaining_s * jnp.sqrt(view.demand.astype(view.remaining_s.dtype))


def check_order(entry: Order) -> None:
    """Trace the rule on a small cluster. Raises `InputError` where it fails or does not give a key float [A]."""
    slots, bank = 5, make_bank([TinyCluster("tiny").build(0)])
    history = empty_history(np.zeros((1, 2), np.int32), online=False)

    def keys() -> jax.Array:
        world = pick(bank.worlds, jnp.int32(0))
        return entry.key(observe(world, initial_state(world, slots), jnp.bool_(True)), history)

    check_rule("order", entry.name, keys, (), f"{bank.worlds.round_s.dtype} ({slots},)")
