"""Where an expert shows what it does: environments over train or validation worlds of a source, of either kind."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from enum import Enum
from typing import Any

from ..envs.cluster.bank import make_bank as stack_clusters
from ..envs.cluster.mdp.faces import GpuClusterEnv
from ..envs.cluster.mdp.options import EnvOptions
from ..envs.faces.gym import SchedulingEnv
from ..envs.kind import Kind
from ..envs.serverless.bank import make_bank as stack_platforms
from ..envs.serverless.mdp.faces import ServerlessGpuEnv
from ..envs.serverless.mdp.options import ServerlessOptions
from ..policies.cluster.list_policy import ListPolicy
from ..scenarios.errors import InputError
from ..scenarios.serverless.source import windowed
from .cluster.demonstrations import demonstrate
from .data.steps import Follow, MicroStep, obey
from .serverless.demonstrations import demonstrate_visits

REAL_CHOICE = 4
"""Legal actions from which on a serverless state is a choice: WAIT and DROP always are."""


@dataclass(frozen=True)
class Classroom:
    """An expert, its worlds, and the environment that a learner sees them in. Raises `InputError`."""

    source: Any
    teacher: Any
    """A `ListPolicy`, or a scheduler of the serverless platform."""
    base: Any
    """Policy that orders and completes plans in a cluster; whose opinion is shown on the serverless platform."""
    options: EnvOptions | ServerlessOptions
    window_s: float | None = None
    """Length of a serverless episode; None: the scenario's own."""

    def __post_init__(self) -> None:
        if self.is_cluster != isinstance(self.teacher, ListPolicy):
            kind = "an ORDER+PLACEMENT policy" if self.is_cluster else "a scheduler of the serverless platform"
            raise InputError(f"teacher '{getattr(self.teacher, 'name', self.teacher)}'; legal here: {kind}")
        if not self.is_cluster and self.window_s is not None:
            object.__setattr__(self, "source", windowed(self.source, self.window_s))

    @property
    def is_cluster(self) -> bool:
        """Whether it is a training cluster."""
        return isinstance(self.options, EnvOptions)

    @property
    def choice(self) -> int:
        """Legal actions from which on a state has a real choice."""
        return 2 if self.is_cluster else REAL_CHOICE

    @property
    def facts(self) -> dict[str, Any]:
        """All of it, in words."""
        kept = {name: value.value if isinstance(value, Enum) else value for name, value in asdict(self.options).items()}
        window = {} if self.is_cluster else {"window_s": self.window_s}
        names = {"scenario": self.source.name, "teacher": self.teacher.name, "base": self.base.name}
        return {**names, **window, **{f"env.{name}": value for name, value in kept.items()}}

    def env(self, seeds: Sequence[int]) -> SchedulingEnv[Any]:
        """One environment over the worlds of these seeds, the world of `seeds[i]` being world i."""
        worlds = [self.source.build(seed) for seed in seeds]
        if isinstance(self.options, EnvOptions):
            bank = stack_clusters(worlds, self.source.history(), getattr(self.source, "bins", None))
            return GpuClusterEnv(bank, self.base, self.options)
        return ServerlessGpuEnv(stack_platforms(worlds), self.base, self.options)

    def kind(self, seeds: Sequence[int]) -> Kind:
        """The worlds of these seeds as faces know them."""
        return self.env(seeds).kind

    def show(self, env: SchedulingEnv[Any], world: int, seed: int, follow: Follow = obey) -> Iterator[MicroStep]:
        """An episode in world `world` of `env`; the expert says what it would do, `follow` what is done."""
        if self.is_cluster:
            return demonstrate(env, self.teacher, seed, world, follow)  # type: ignore[arg-type]
        return demonstrate_visits(env, self.teacher, seed, world, follow)  # type: ignore[arg-type]
