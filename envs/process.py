"""What a world must provide to get every interface: single, batched, Stable-Baselines3, snapshots, masks.

A new world `envs/<world>/` provides two things.

1. A `Process`: frozen, hashable, pure JAX. Its methods take *one* world (a pytree of arrays), data that all worlds of a
   bank share (a pytree, `()` for none) and a state (a pytree). Its fields hold everything static; one program is
   compiled per value and shape. The interfaces never look inside a state.
2. A `Kind` (see `kind`): the same world on the host, with its bank, descriptions of actions, records and metrics.

`Lanes` steps the process; `SchedulingEnv` and `SchedulingVectorEnv` wrap the kind. A world's own environment classes
only build its kind from their arguments. If some actions let no time pass, as when a plan is built step by step,
`instant` says which, and `split` separates the small part of the state that they change: their program is far smaller.
A world without them inherits from `EveryActionTakesTime`.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Protocol

import jax

from .core import pytree

Arrays = Any
"""A pytree of arrays; the process chooses its structure."""


@pytree
class Step:
    """The result of an action."""

    reward: jax.Array  # [] raw
    terminated: jax.Array  # [] bool
    truncated: jax.Array  # [] bool
    illegal: jax.Array  # [] bool, the action was illegal and counted as another one
    extra: tuple[jax.Array, ...]  # [] each, in the order of `Process.columns`


@dataclass(frozen=True)
class Column:
    """A figure that a step reports in `info`, in addition to its reward."""

    name: str
    kind: type[int] | type[float] = float
    term: bool = False
    """Whether it is a term of the reward, shown in `info["reward_terms"]`."""


class Process(Protocol):
    """The static part of an environment, and its pure functions."""

    def __hash__(self) -> int: ...

    @property
    def actions(self) -> int:
        """Number of actions."""
        ...

    @property
    def sizes(self) -> dict[str, int]:
        """Length of every flat part of an observation without the mask; parts of length 0 are not shown."""
        ...

    @property
    def columns(self) -> tuple[Column, ...]:
        """Figures that a step reports in addition to its reward."""
        ...

    @property
    def instant(self) -> int:
        """Legal actions below this number let no time pass, give no reward and never end the episode."""
        ...

    def reset(self, world: Arrays, data: Arrays, key: jax.Array) -> Arrays:
        """Return the state of `world` before its first action; `key` [2] uint32 is the source of randomness."""
        ...

    def step(
        self, world: Arrays, data: Arrays, state: Arrays, action: jax.Array, mask: jax.Array
    ) -> tuple[Arrays, Step]:
        """Take `action` [] int32, any number; `mask` comes from `observe`. An illegal action is reported."""
        ...

    def build(self, world: Arrays, data: Arrays, state: Arrays, action: jax.Array) -> Arrays:
        """Do what `step` does, for a legal action below `instant`; only the draft changes."""
        ...

    def observe(self, world: Arrays, data: Arrays, state: Arrays) -> tuple[dict[str, jax.Array], jax.Array]:
        """Return (flat float32 parts of the lengths in `sizes`, mask of legal actions [actions] bool)."""
        ...

    def clock(self, world: Arrays, state: Arrays) -> tuple[jax.Array, jax.Array]:
        """Return (seconds since the world began [], whether it ran out of room [] bool, which stops the episode)."""
        ...

    def is_over(self, world: Arrays, state: Arrays) -> jax.Array:
        """Whether the episode has ended or run out of room [] bool."""
        ...

    def split(self, state: Arrays) -> tuple[Arrays, Arrays]:
        """Split a state into (the part that instant actions keep, the draft: the part that they change)."""
        ...

    def join(self, settled: Arrays, draft: Arrays) -> Arrays:
        """Join both parts into a state."""
        ...


class EveryActionTakesTime:
    """The part of a `Process` that is the same for all worlds without instant actions."""

    @property
    def instant(self) -> int:
        """No action is instant."""
        return 0

    def build(self, world: Arrays, data: Arrays, state: Arrays, action: jax.Array) -> Arrays:
        """Never called, since no action is instant."""
        raise NotImplementedError

    def split(self, state: Arrays) -> tuple[Arrays, Arrays]:
        """Return the state and an empty draft."""
        return state, ()

    def join(self, settled: Arrays, draft: Arrays) -> Arrays:
        """Return the state; the draft is empty."""
        return settled
