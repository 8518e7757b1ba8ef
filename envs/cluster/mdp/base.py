"""What an environment needs from its base policy, which can complete a plan that a learner has begun."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Protocol

import jax

from ...core import Act
from ..bank import Bank
from ..view import View


@dataclass(frozen=True)
class BaseProgram:
    """A program (see `episode.Program`) whose order and plan completion can be used separately."""

    start: Callable[[Any, int], Any]
    """(data, slots A) -> memory before the first round."""
    act: Act[Any, View, Any, jax.Array]
    """(data, view, memory, key) -> (owner [N, P], memory)."""
    grow: Callable[[Any, int], Any]
    """(memory, slots A) -> the memory for more slots."""
    order: Callable[[Any, View, Any], Any]
    """(data, view, memory) -> memory whose `sequence` [A] holds the slots in scheduling order."""
    complete: Callable[[Any, View, Any, jax.Array, jax.Array], jax.Array]
    """(data, view, ordered memory, key, plan [N, P]) -> the plan with all gangs that the policy would add."""
    picks: Callable[[Any, jax.Array, jax.Array], jax.Array]
    """(data, demand [W] in base order, free GPUs []) -> jobs [W] bool that it would run, judged by GPU counts only."""


class Base(Protocol):
    """A policy that can serve as the base of an environment."""

    @property
    def name(self) -> str:
        """Name of the policy."""
        ...

    @property
    def clairvoyant(self) -> bool:
        """Whether the policy uses true remaining work."""
        ...

    @property
    def program(self) -> BaseProgram:
        """The policy's program, in pure JAX."""
        ...

    def bind(self, bank: Bank) -> Any:
        """Return the policy's data for a bank."""
        ...
