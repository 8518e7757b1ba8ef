"""A learning task: an expert, its worlds, and the environment in which a learner sees them."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from enum import Enum
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from ..envs.faces.gym import SchedulingEnv
from ..envs.kind import Kind
from .steps import Follow, MicroStep, obey


@dataclass(frozen=True)
class LearningTask(ABC):
    """What a recipe learns from; each kind of world has a subclass. Raises `InputError` for what does not fit."""

    source: Any
    teacher: Any
    """The expert that is copied or improved on."""
    base: Any
    """The policy that the environment is made with."""
    options: Any
    """Options of the environment, a dataclass."""

    choice: ClassVar[int] = 2
    """Legal actions from which on a state has a real choice."""
    stage: ClassVar[int] = 16
    """Updates of proximal policy optimisation between two states on disk."""

    @property
    def facts(self) -> dict[str, Any]:
        """All of it, in words."""
        kept = {name: value.value if isinstance(value, Enum) else value for name, value in asdict(self.options).items()}
        names = {"scenario": self.source.name, "teacher": self.teacher.name, "base": self.base.name}
        return {**names, **self.own_facts, **{f"env.{name}": value for name, value in kept.items()}}

    @property
    def own_facts(self) -> dict[str, Any]:
        """What this kind of task has beside the others."""
        return {}

    @abstractmethod
    def env(self, seeds: Sequence[int]) -> SchedulingEnv[Any]:
        """One environment over the worlds of these seeds, the world of `seeds[i]` being world i."""

    def kind(self, seeds: Sequence[int]) -> Kind:
        """The worlds of these seeds as faces know them."""
        return self.env(seeds).kind

    @abstractmethod
    def show(self, env: SchedulingEnv[Any], world: int, seed: int, follow: Follow = obey) -> Iterator[MicroStep]:
        """An episode in world `world` of `env`; the expert says what it would do, `follow` what is done."""

    @abstractmethod
    def units(self, kind: Kind) -> NDArray[np.float64]:
        """What rewards of every world [M] of `kind` are divided by, so that easy and hard worlds weigh the same."""

    def paced(self, lanes: Any) -> Any:
        """The lanes of an SB3 learner, wrapped where decisions of this kind of world are not evenly spaced in time."""
        return lanes
