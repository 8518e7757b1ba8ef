"""What an environment needs of a scheduler whose opinion its observation shows."""

from __future__ import annotations

from typing import Any, Protocol

import jax

from ..bank import Bank
from ..view import Decision, View


class BaseProgram(Protocol):
    """A scheduler without memory, and how much it likes each configuration."""

    def act_now(self, data: Any, view: View) -> Decision:
        """What it would do."""
        ...

    def scores(self, data: Any, view: View) -> jax.Array:
        """Its preference per configuration [X], -inf where it has none."""
        ...


class Base(Protocol):
    """A scheduler that can be the base of an environment."""

    @property
    def name(self) -> str:
        """Its name."""
        ...

    @property
    def program(self) -> BaseProgram:
        """Pure JAX."""
        ...

    def bind(self, bank: Bank) -> Any:
        """Its data for a bank."""
        ...
