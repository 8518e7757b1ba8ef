"""The interface of a cluster scheduling policy: a name, the information it uses, a host-side `bind`, a pure program."""

from __future__ import annotations

from typing import Any, Protocol

from ...envs.cluster.bank import Bank
from ...envs.cluster.episode import Program
from ..information import Information


class Policy(Protocol):
    """A scheduler. Policies with the same `program` share its compilation; their data are its arguments."""

    @property
    def name(self) -> str:
        """Name of the policy in the rows of a result."""
        ...

    @property
    def information(self) -> Information:
        """The information that the view must show to the policy."""
        ...

    @property
    def program(self) -> Program:
        """The pure JAX functions of the policy, such as start and act."""
        ...

    def bind(self, bank: Bank) -> Any:
        """Return a pytree of arrays that the program gets as `data`; called on the host, once per bank."""
        ...
