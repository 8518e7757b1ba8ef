"""The Gymnasium interfaces of the cluster: one episode, and a native batch of episodes."""

from __future__ import annotations

from gymnasium.vector import AutoresetMode

from ...faces.gym import SchedulingEnv
from ...faces.vector import SchedulingVectorEnv
from ..bank import Bank
from ..record import Record
from .base import Base
from .kind import ClusterKind
from .options import EnvOptions


class GpuClusterEnv(SchedulingEnv[ClusterKind]):
    """One cluster episode at a time; `info` also holds `rounds`, the rounds that the step took."""

    def __init__(
        self, bank: Bank, base: Base, options: EnvOptions | None = None, render_mode: str | None = None
    ) -> None:
        """Set up the environment on the worlds of `bank`; `base` orders the window and completes plans at REST."""
        super().__init__(ClusterKind(bank, base, options or EnvOptions()), render_mode)

    def record(self) -> Record:
        """Return the results of the current episode so far; unfinished jobs count up to now."""
        record: Record = super().record()
        return record


class GpuClusterVectorEnv(SchedulingVectorEnv[ClusterKind]):
    """A native batch of cluster episodes."""

    def __init__(
        self,
        bank: Bank,
        base: Base,
        num_envs: int,
        options: EnvOptions | None = None,
        autoreset_mode: AutoresetMode | str = AutoresetMode.NEXT_STEP,
        max_episode_steps: int | None = None,
    ) -> None:
        """Set up `num_envs` lanes on the worlds of `bank`."""
        super().__init__(ClusterKind(bank, base, options or EnvOptions()), num_envs, autoreset_mode, max_episode_steps)
