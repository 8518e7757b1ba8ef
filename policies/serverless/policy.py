"""What a serverless scheduler is: a name, a host-side `bind`, a pure program, and how it wants its worlds."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Protocol

import jax
import jax.numpy as jnp

from ...envs.serverless.bank import Bank
from ...envs.serverless.episode import Program
from ...envs.serverless.state import World
from ...envs.serverless.view import Decision, View


class Scheduler(Protocol):
    """A serverless scheduler. Those that share a `program` share its compilation; their data are its arguments."""

    @property
    def name(self) -> str:
        """What the rows of a result call it."""
        ...

    @property
    def program(self) -> Program:
        """Pure JAX: start and act."""
        ...

    def bind(self, bank: Bank) -> Any:
        """Host side, once per bank: a pytree of arrays that the program gets as `data`."""
        ...

    def adapt(self, worlds: World, data: Any) -> World:
        """The worlds under the scheduler's own terms: planning time, dispatch without locality."""
        ...


@dataclass(frozen=True)
class SchedulerProgram:
    """A scheduler without memory or lots. `scores` [X]: its preference per configuration, -inf where it has none."""

    act_now: Callable[[Any, View], Decision]
    scores: Callable[[Any, View], jax.Array]

    def start(self, data: Any, key: jax.Array) -> tuple[()]:
        """Nothing to remember."""
        return ()

    def act(self, data: Any, view: View, memory: tuple[()], key: jax.Array) -> tuple[Decision, tuple[()]]:
        """The decision for the queue at the cursor."""
        return self.act_now(data, view), memory


NONE = 2**31 - 1
"""Rank of a configuration that is not a candidate."""


def best_of(rank: jax.Array, candidate: jax.Array) -> tuple[jax.Array, jax.Array]:
    """(configuration of the smallest rank [X] among the candidates, whether there is one); ties by number."""
    worst = jnp.asarray(NONE if rank.dtype == jnp.int32 else jnp.inf, rank.dtype)
    key = jnp.where(candidate, rank, worst)
    number = jnp.arange(rank.shape[0], dtype=jnp.int32)
    best = jnp.min(folded(jnp.where(candidate & (key == jnp.min(folded(key))), number, NONE)))
    return best, best < NONE


def folded(x: jax.Array) -> jax.Array:
    """The same numbers in rows of at most 32: on a CPU longer ones are reduced in two steps, which costs more."""
    row = max(size for size in range(1, 33) if x.size % size == 0)
    return x.reshape(-1, row)


class LostData(Protocol):
    """What a scheduler needs to know of requests that are lost."""

    @property
    def gives_up(self) -> jax.Array:
        """Whether to spend as little as possible on them [] bool."""
        ...

    @property
    def remaining(self) -> jax.Array:
        """Fewest ticks to the end of the workflow [Q]."""
        ...

    @property
    def cheap(self) -> jax.Array:
        """Rank of configurations by cost per job [Q, X]."""
        ...


def unless_lost(
    data: LostData, view: View, config: jax.Array, found: jax.Array
) -> tuple[jax.Array, jax.Array, jax.Array]:
    """(configuration, whether there is one, whether the request is lost): for a lost one the cheapest that can run."""
    lost = data.gives_up & (view.slack < data.remaining[view.queue])
    cheap, can = best_of(data.cheap[view.queue], view.legal)
    return jnp.where(lost, cheap, config), jnp.where(lost, can, found), lost


def serve_or_wait(config: jax.Array, found: jax.Array, configs: int, missed: jax.Array | None = None) -> Decision:
    """The configuration where one was found, else WAIT."""
    no = jnp.bool_(False)
    return Decision(jnp.where(found, config, configs), no if missed is None else missed & found)
