"""The Gymnasium interfaces of the serverless platform: one episode, and a native batch of episodes."""

from __future__ import annotations

from gymnasium.vector import AutoresetMode

from ...faces.gym import SchedulingEnv
from ...faces.vector import SchedulingVectorEnv
from ..bank import Bank
from .base import Base
from .kind import ServerlessKind
from .options import ServerlessOptions


class ServerlessGpuEnv(SchedulingEnv[ServerlessKind]):
    """One serverless episode at a time; `info` also holds `elapsed_ms`, `shed` and `reward_terms`."""

    def __init__(
        self, bank: Bank, base: Base, options: ServerlessOptions | None = None, render_mode: str | None = None
    ) -> None:
        """Set up the environment on the worlds of `bank`; the observation shows what `base` would do."""
        super().__init__(ServerlessKind(bank, base, options or ServerlessOptions()), render_mode)


class ServerlessGpuVectorEnv(SchedulingVectorEnv[ServerlessKind]):
    """A native batch of serverless episodes."""

    def __init__(
        self,
        bank: Bank,
        base: Base,
        num_envs: int,
        options: ServerlessOptions | None = None,
        autoreset_mode: AutoresetMode | str = AutoresetMode.NEXT_STEP,
        max_episode_steps: int | None = None,
    ) -> None:
        """Set up `num_envs` lanes on the worlds of `bank`."""
        super().__init__(
            ServerlessKind(bank, base, options or ServerlessOptions()), num_envs, autoreset_mode, max_episode_steps
        )
