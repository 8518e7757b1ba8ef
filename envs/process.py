"""What a world must provide to get every face: single, batched, Stable-Baselines3, snapshots, masks.

A new world `envs/<world>/` brings two things.

1. A `Process`: frozen, hashable, pure JAX. Its methods take *one* world (a pytree of arrays), data that all worlds of a
   bank share (a pytree, `()` for none) and a state (a pytree). Everything static sits in its fields; one program is
   compiled per value and shape. The faces never look inside a state.
2. A `Kind` (see `kind`): the same world on the host, with its bank, words for actions, records and metrics.

`Lanes` steps the process, `SchedulingEnv` and `SchedulingVectorEnv` present the kind; a world's own classes only build
its kind from its own arguments. Where some actions let no time pass, as when a plan is built step by step, `instant`
says which, and `split` names the small part of the state that they change: such steps then run a far smaller program.
A world without them inherits from `EveryActionTakesTime`.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Protocol

import jax

from .core import pytree

Arrays = Any
"""A pytree of arrays, of whatever structure the process likes."""


@pytree
class Step:
    """What an action led to."""

    reward: jax.Array  # [] raw
    terminated: jax.Array  # [] bool
    truncated: jax.Array  # [] bool
    illegal: jax.Array  # [] bool, the action was not legal and counted as another
    extra: tuple[jax.Array, ...]  # [] each, in the sequence of `Process.columns`


@dataclass(frozen=True)
class Column:
    """A figure that a step reports beside its reward; `info` shows it."""

    name: str
    kind: type[int] | type[float] = float
    term: bool = False
    """One of the terms of the reward: stands in `info["reward_terms"]`."""


class Process(Protocol):
    """The static part of an environment, and its pure functions."""

    def __hash__(self) -> int: ...

    @property
    def actions(self) -> int:
        """How many there are."""
        ...

    @property
    def sizes(self) -> dict[str, int]:
        """Length of every flat part of an observation, the mask left out; parts of length 0 are not shown."""
        ...

    @property
    def columns(self) -> tuple[Column, ...]:
        """What a step reports beside its reward."""
        ...

    @property
    def instant(self) -> int:
        """Legal actions below this number let no time pass, earn nothing and end nothing."""
        ...

    def reset(self, world: Arrays, data: Arrays, key: jax.Array) -> Arrays:
        """The state in which `world` waits for its first action; `key` [2] uint32 feeds whoever draws lots."""
        ...

    def step(
        self, world: Arrays, data: Arrays, state: Arrays, action: jax.Array, mask: jax.Array
    ) -> tuple[Arrays, Step]:
        """Take `action` [] int32, any number; `mask` is what `observe` showed. An illegal action is reported."""
        ...

    def build(self, world: Arrays, data: Arrays, state: Arrays, action: jax.Array) -> Arrays:
        """`step` for a legal action below `instant`; changes the draft alone."""
        ...

    def observe(self, world: Arrays, data: Arrays, state: Arrays) -> tuple[dict[str, jax.Array], jax.Array]:
        """(flat float32 parts of the lengths in `sizes`, mask of legal actions [actions] bool)."""
        ...

    def clock(self, world: Arrays, state: Arrays) -> tuple[jax.Array, jax.Array]:
        """(seconds since the world began [], whether it ran out of room [] bool: the faces then refuse to go on)."""
        ...

    def is_over(self, world: Arrays, state: Arrays) -> jax.Array:
        """Whether the episode has ended or run out of room [] bool."""
        ...

    def split(self, state: Arrays) -> tuple[Arrays, Arrays]:
        """(what instant actions leave as it is, the draft: what they change)."""
        ...

    def join(self, settled: Arrays, draft: Arrays) -> Arrays:
        """The state of both parts."""
        ...


class EveryActionTakesTime:
    """The part of a `Process` that is the same wherever no action is instant."""

    @property
    def instant(self) -> int:
        """No action is."""
        return 0

    def build(self, world: Arrays, data: Arrays, state: Arrays, action: jax.Array) -> Arrays:
        """Never asked for."""
        raise NotImplementedError

    def split(self, state: Arrays) -> tuple[Arrays, Arrays]:
        """There is no draft."""
        return state, ()

    def join(self, settled: Arrays, draft: Arrays) -> Arrays:
        """There is no draft."""
        return settled
