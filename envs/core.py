"""The functional contract that both environments keep: pure functions over frozen pytrees.

State in, state out. Nothing here knows a scheduler; policies are handed in as functions.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from typing import Protocol, TypeVar, dataclass_transform

import jax

T = TypeVar("T")
State = TypeVar("State")
View_contra = TypeVar("View_contra", contravariant=True)
Plan_co = TypeVar("Plan_co", covariant=True)
Data_contra = TypeVar("Data_contra", contravariant=True)
Memory = TypeVar("Memory")


@dataclass_transform(frozen_default=True)
def pytree(cls: type[T]) -> type[T]:
    """Class decorator: a frozen dataclass of arrays that jit, vmap and while_loop can carry."""
    return jax.tree_util.register_dataclass(dataclasses.dataclass(frozen=True)(cls))


class Act(Protocol[Data_contra, View_contra, Memory, Plan_co]):
    """A policy at one decision point: pure JAX, equal inputs give equal plans."""

    def __call__(self, data: Data_contra, view: View_contra, memory: Memory, key: jax.Array) -> tuple[Plan_co, Memory]:
        """Return the plan for this decision point and what to remember for the next one."""
        ...


def loop_until(done: Callable[[State], jax.Array], step: Callable[[State], State], start: State) -> State:
    """Apply `step` until `done`; one XLA while loop, so a whole episode is one program."""
    return jax.lax.while_loop(lambda state: ~done(state), step, start)
