"""The serverless platform as a learning task."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from ...envs.faces.gym import SchedulingEnv
from ...envs.kind import Kind
from ...envs.serverless.bank import make_bank
from ...envs.serverless.mdp.faces import ServerlessGpuEnv
from ...scenarios.errors import InputError
from ...scenarios.serverless.source import windowed
from ..steps import Follow, MicroStep, obey
from ..task import LearningTask
from .demonstrations import demonstrate_visits


@dataclass(frozen=True)
class ServerlessTask(LearningTask):
    """The teacher is a scheduler; `base` is the one whose opinion is shown; `options` are `ServerlessOptions`."""

    window_s: float | None = None
    """Length of an episode; None: the scenario's own."""

    choice: ClassVar[int] = 4
    """WAIT and DROP are always legal."""
    stage: ClassVar[int] = 64
    """At 64 decisions each, half a window."""

    def __post_init__(self) -> None:
        if not hasattr(self.teacher, "adapt"):
            name = getattr(self.teacher, "name", self.teacher)
            raise InputError(f"teacher '{name}'; legal for a serverless platform: a scheduler, such as esg")
        if self.window_s is not None:
            object.__setattr__(self, "source", windowed(self.source, self.window_s))

    @property
    def own_facts(self) -> dict[str, Any]:
        """The window."""
        return {"window_s": self.window_s}

    def env(self, seeds: Sequence[int]) -> ServerlessGpuEnv:
        """One environment over the worlds of these seeds."""
        return ServerlessGpuEnv(make_bank([self.source.build(seed) for seed in seeds]), self.base, self.options)

    def show(self, env: SchedulingEnv[Any], world: int, seed: int, follow: Follow = obey) -> Iterator[MicroStep]:
        """The decisions of the teacher, visit by visit."""
        return demonstrate_visits(env, self.teacher, seed, world, follow)  # type: ignore[arg-type]

    def units(self, kind: Kind) -> NDArray[np.float64]:
        """The requests that count, so that serving all of them in time sums to +1, less their price."""
        return np.array([float(scenario.requests.counted.sum()) for scenario in kind.bank.scenarios])

    def paced(self, lanes: Any) -> Any:
        """Rewards less what the time that passed is worth: decisions are not evenly spaced."""
        from ..recipes.time_baseline import TimeBaseline

        return TimeBaseline(lanes)
