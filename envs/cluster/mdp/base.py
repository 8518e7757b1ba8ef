"""What an environment needs of a policy that can finish a plan which somebody else began."""

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
    """A program (see `episode.Program`) whose order and completion can be used apart."""

    start: Callable[[Any, int], Any]
    """(data, slots A) -> memory before the first round."""
    act: Act[Any, View, Any, jax.Array]
    """(data, view, memory, key) -> (owner [N, P], memory)."""
    grow: Callable[[Any, int], Any]
    """(memory, slots A) -> the memory for more slots."""
    order: Callable[[Any, View, Any], Any]
    """(data, view, memory) -> memory whose `sequence` [A] holds the slots in scheduling order."""
    complete: Callable[[Any, View, Any, jax.Array, jax.Array], jax.Array]
    """(data, view, ordered memory, key, plan [N, P]) -> the plan with everything added that the policy would add."""
    picks: Callable[[Any, jax.Array, jax.Array], jax.Array]
    """(data, demand [W] in base order, free GPUs []) -> the jobs [W] bool that it would run, by counts alone."""


class Base(Protocol):
    """A policy that can be the base of an environment."""

    @property
    def name(self) -> str:
        """Its name."""
        ...

    @property
    def clairvoyant(self) -> bool:
        """Whether it uses true remaining work."""
        ...

    @property
    def program(self) -> BaseProgram:
        """Pure JAX."""
        ...

    def bind(self, bank: Bank) -> Any:
        """Its data for a bank."""
        ...
