"""What a cluster scheduling policy is: a name, what it may know, a host-side `bind` and a pure program."""

from __future__ import annotations

from typing import Any, Protocol

from ...envs.cluster.bank import Bank
from ...envs.cluster.episode import Program
from ..information import Information


class Policy(Protocol):
    """A scheduler. Policies that share a `program` share its compilation; their data are its arguments."""

    @property
    def name(self) -> str:
        """What the rows of a result call it."""
        ...

    @property
    def information(self) -> Information:
        """What the view must show it."""
        ...

    @property
    def program(self) -> Program:
        """Pure JAX: start and act."""
        ...

    def bind(self, bank: Bank) -> Any:
        """Host side, once per bank: a pytree of arrays that the program gets as `data`."""
        ...
