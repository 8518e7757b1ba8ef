"""The functional contract that both environments follow: pure functions over frozen pytrees.

A function takes a state and returns a new one. This module knows no scheduler: policies are passed in as functions.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from functools import wraps
from typing import ParamSpec, Protocol, TypeVar, dataclass_transform

import jax

P = ParamSpec("P")
T = TypeVar("T")
State = TypeVar("State")
View_contra = TypeVar("View_contra", contravariant=True)
Plan_co = TypeVar("Plan_co", covariant=True)
Data_contra = TypeVar("Data_contra", contravariant=True)
Memory = TypeVar("Memory")


@dataclass_transform(frozen_default=True)
def pytree(cls: type[T]) -> type[T]:
    """Class decorator that makes a frozen dataclass of arrays which jit, vmap and while_loop accept."""
    return jax.tree_util.register_dataclass(dataclasses.dataclass(frozen=True)(cls))


def crosses(call: Callable[P, T]) -> Callable[P, T]:
    """Decorator for calls that intentionally transfer values from the host to the device.

    Such calls work even if a user guards JAX's transfers (`JAX_TRANSFER_GUARD=disallow`).
    """

    @wraps(call)
    def run(*args: P.args, **kwargs: P.kwargs) -> T:
        with jax.transfer_guard("allow"):
            return call(*args, **kwargs)

    return run


class Act(Protocol[Data_contra, View_contra, Memory, Plan_co]):
    """A policy at one decision point. It is pure JAX: equal inputs give equal plans."""

    def __call__(self, data: Data_contra, view: View_contra, memory: Memory, key: jax.Array) -> tuple[Plan_co, Memory]:
        """Return the plan for this decision point and the memory for the next one."""
        ...


def loop_until(done: Callable[[State], jax.Array], step: Callable[[State], State], start: State) -> State:
    """Apply `step` until `done` in one XLA while loop, so that a whole episode is one program."""
    return jax.lax.while_loop(lambda state: ~done(state), step, start)
