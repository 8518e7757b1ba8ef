"""A kind of world as the faces know it, on the host: what is generic asks here for what is not."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Protocol

from .options import IllegalAction
from .process import Arrays, Process


class Bank(Protocol):
    """M prepared worlds of one shape."""

    @property
    def scenarios(self) -> Sequence[Any]:
        """What they were made from, each with a `data_hash`."""
        ...

    @property
    def worlds(self) -> Arrays:
        """A pytree whose leaves have a leading axis M."""
        ...

    def __len__(self) -> int: ...


class Presentation(Protocol):
    """Options that every kind has: how rewards and illegal actions are presented."""

    @property
    def illegal_action(self) -> IllegalAction:
        """What an illegal action does."""
        ...

    @property
    def illegal_penalty(self) -> float:
        """What it costs under `penalty`."""
        ...


class Kind(Protocol):
    """Frozen and picklable. `record` is of a type of the kind's own; `metrics` reads it."""

    @property
    def bank(self) -> Bank:
        """Its worlds."""
        ...

    @property
    def process(self) -> Process:
        """Its dynamics."""
        ...

    @property
    def data(self) -> Arrays:
        """What the process needs beside a world; the same for all of them."""
        ...

    @property
    def options(self) -> Presentation:
        """The options it was made with."""
        ...

    @property
    def reward_scale(self) -> float:
        """Raw rewards are divided by this."""
        ...

    @property
    def fingerprint(self) -> str:
        """What shapes a state beside worlds and data, in words: the kind, its options but for their presentation."""
        ...

    @property
    def advice(self) -> str:
        """What to say when a world ran out of room."""
        ...

    @property
    def idle(self) -> str:
        """Name of the action that an illegal one counts as."""
        ...

    def describe(self, action: int) -> str:
        """A legal number of an action in words."""
        ...

    def record(self, state: Arrays, world: int, seed: int) -> Any:
        """Results of an episode in world `world` as far as `state` has come."""
        ...

    def metrics(self, record: Any) -> dict[str, float]:
        """Metrics of a record."""
        ...

    def render(self, state: Arrays, world: int) -> str:
        """The state in characters."""
        ...
