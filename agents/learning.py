"""The kinds of world that learners know, by name."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Protocol

from ..scenarios.registry import Registry
from .cluster.learning import ClusterLearning
from .recipes.es import EsOptions
from .recipes.es_run import Run
from .serverless.learning import ServerlessLearning
from .task import LearningTask


class LearningKind(Protocol):
    """From sources and experts to what the recipes take."""

    @property
    def name(self) -> str:
        """That of the world."""
        ...

    @property
    def scorer(self) -> str:
        """Kind of network that scores the actions of its environment (`checkpoints.network_kinds`)."""
        ...

    @property
    def base(self) -> str:
        """The usual base of its environment; empty: the teacher."""
        ...

    @property
    def options(self) -> type:
        """Class of the options of its environment."""
        ...

    @property
    def es_options(self) -> EsOptions:
        """How evolution strategies search it unless told otherwise."""
        ...

    @property
    def improved(self) -> type[Any]:
        """Class of the policies that evolution strategies make of it."""
        ...

    def task(self, source: Any, teacher: Any, base: Any, options: Mapping[str, Any], window_s: float) -> LearningTask:
        """What cloning, DAgger and PPO learn from; `base` None: the teacher. Raises `InputError`."""
        ...

    def search(self, sources: Sequence[Any], teacher: Any, options: EsOptions, **asked: Any) -> Run:
        """A run of evolution strategies; `asked`: `init`, `hidden`, `validation_worlds`. Raises `InputError`."""
        ...


LEARNING: Registry[LearningKind] = Registry.of("world that learners know", ClusterLearning(), ServerlessLearning())
