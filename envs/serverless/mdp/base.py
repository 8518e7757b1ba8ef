"""What an environment needs from its base scheduler, whose preferences the observation shows."""

from __future__ import annotations

from typing import Any, Protocol

import jax

from ..bank import Bank
from ..view import Decision, View


class BaseProgram(Protocol):
    """A scheduler without memory that can also score each configuration."""

    def act_now(self, data: Any, view: View) -> Decision:
        """Return the decision that the scheduler would take."""
        ...

    def scores(self, data: Any, view: View) -> jax.Array:
        """Return the scheduler's score of each configuration [X], -inf where it has none."""
        ...


class Base(Protocol):
    """A scheduler that can serve as the base of an environment."""

    @property
    def name(self) -> str:
        """Name of the scheduler."""
        ...

    @property
    def program(self) -> BaseProgram:
        """The scheduler's program, in pure JAX."""
        ...

    def bind(self, bank: Bank) -> Any:
        """Return the scheduler's data for a bank."""
        ...
