"""The interface of a serverless scheduler: a name, a host-side `bind`, a pure program, and `adapt` for its worlds."""

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
    """A serverless scheduler. Those with the same `program` share its compilation; their data are its arguments."""

    @property
    def name(self) -> str:
        """Name of the scheduler in the rows of a result."""
        ...

    @property
    def program(self) -> Program:
        """The pure JAX functions start and act."""
        ...

    def bind(self, bank: Bank) -> Any:
        """Return a pytree of arrays that the program gets as `data`; called on the host, once per bank."""
        ...

    def adapt(self, worlds: World, data: Any) -> World:
        """Adapt the worlds to the scheduler, for example by a planning time or dispatch without locality."""
        ...


@dataclass(frozen=True)
class SchedulerProgram:
    """A deterministic scheduler without memory. `scores` [X] rates each configuration, -inf where it has no score."""

    act_now: Callable[[Any, View], Decision]
    scores: Callable[[Any, View], jax.Array]

    def start(self, data: Any, key: jax.Array) -> tuple[()]:
        """Return an empty memory."""
        return ()

    def act(self, data: Any, view: View, memory: tuple[()], key: jax.Array) -> tuple[Decision, tuple[()]]:
        """Return the decision for the queue at the cursor."""
        return self.act_now(data, view), memory


NONE = 2**31 - 1
"""Rank of a configuration that is not a candidate."""


def best_of(rank: jax.Array, candidate: jax.Array) -> tuple[jax.Array, jax.Array]:
    """Return (configuration of the smallest rank [X] among the candidates, whether there is one); ties by number."""
    worst = jnp.asarray(NONE if rank.dtype == jnp.int32 else jnp.inf, rank.dtype)
    key = jnp.where(candidate, rank, worst)
    number = jnp.arange(rank.shape[0], dtype=jnp.int32)
    best = jnp.min(folded(jnp.where(candidate & (key == jnp.min(folded(key))), number, NONE)))
    return best, best < NONE


def folded(x: jax.Array) -> jax.Array:
    """Reshape to rows of at most 32 numbers: a CPU reduces longer rows in two steps, which is slower."""
    row = max(size for size in range(1, 33) if x.size % size == 0)
    return x.reshape(-1, row)


class LostData(Protocol):
    """What a scheduler needs to know about requests that can no longer meet their SLO."""

    @property
    def gives_up(self) -> jax.Array:
        """Whether to spend as little as possible on lost requests [] bool."""
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
    """Return (configuration, whether there is one, whether the request is lost); a lost one gets the cheapest legal."""
    lost = data.gives_up & (view.slack < data.remaining[view.queue])
    cheap, can = best_of(data.cheap[view.queue], view.legal)
    return jnp.where(lost, cheap, config), jnp.where(lost, can, found), lost


def serve_or_wait(config: jax.Array, found: jax.Array, configs: int, missed: jax.Array | None = None) -> Decision:
    """Return the configuration if one was found, else WAIT."""
    no = jnp.bool_(False)
    return Decision(jnp.where(found, config, configs), no if missed is None else missed & found)
