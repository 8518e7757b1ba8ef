"""The training cluster as a learning task."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ...envs.cluster.bank import make_bank
from ...envs.cluster.episode import run_episodes
from ...envs.cluster.mdp.faces import GpuClusterEnv
from ...envs.cluster.mdp.reward import RewardKind
from ...envs.cluster.record import make_record
from ...envs.faces.gym import SchedulingEnv
from ...envs.kind import Kind
from ...policies.cluster.list_policy import ListPolicy
from ...scenarios.errors import InputError
from ..steps import Follow, MicroStep, obey
from ..task import LearningTask
from .demonstrations import demonstrate


class ClusterTask(LearningTask):
    """The teacher is a `ListPolicy`; `base` orders the window and completes plans; `options` are `EnvOptions`."""

    def __post_init__(self) -> None:
        if not isinstance(self.teacher, ListPolicy):
            name = getattr(self.teacher, "name", self.teacher)
            raise InputError(f"teacher '{name}'; legal for a training cluster: an ORDER+PLACEMENT policy")

    def env(self, seeds: Sequence[int]) -> GpuClusterEnv:
        """One environment over the worlds of these seeds."""
        worlds = [self.source.build(seed) for seed in seeds]
        bank = make_bank(worlds, self.source.history(), getattr(self.source, "bins", None))
        return GpuClusterEnv(bank, self.base, self.options)

    def show(self, env: SchedulingEnv[Any], world: int, seed: int, follow: Follow = obey) -> Iterator[MicroStep]:
        """The plans of the teacher, action by action."""
        return demonstrate(env, self.teacher, seed, world, follow)  # type: ignore[arg-type]

    def units(self, kind: Kind) -> NDArray[np.float64]:
        """The sum of JCTs under the teacher. Raises `InputError` for rewards other than JCT."""
        if (reward := getattr(kind.options, "reward", None)) is not RewardKind.JCT:
            raise InputError(f"reward = '{reward}'; legal for ppo: jct")
        teacher, bank = self.teacher, kind.bank
        seeds = list(range(len(bank)))
        outcomes = run_episodes(bank, teacher.program, teacher.bind(bank), teacher.clairvoyant, seeds)  # type: ignore[arg-type]
        records = [make_record(w, teacher.name, s, o) for w, s, o in zip(bank.scenarios, seeds, outcomes, strict=True)]
        return np.array([float(record.jobs.jct_s.sum()) for record in records])
