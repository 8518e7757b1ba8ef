"""Options of the cluster environments, and the process they stand for."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import Any

from ...scenarios.errors import InputError
from .action import ActionMode, ActionSpace
from .bank import Bank
from .base import Base
from .env import ClusterProcess
from .observation import Layout
from .reward import RewardKind
from .world import bucket

MOST_SLOTS = 256
"""Room for active jobs unless `slots` asks for more."""


class IllegalAction(StrEnum):
    """What an illegal action does."""

    ERROR = "error"
    """Raises `InputError`; the state stays as it is."""
    PENALTY = "penalty"
    """Counts as REST and costs `illegal_penalty`."""
    NOOP = "noop"
    """Counts as REST."""


@dataclass(frozen=True)
class EnvOptions:
    """How a cluster world is presented to a learner. Raises `InputError` for values that are not legal."""

    action_mode: ActionMode = ActionMode.CELL
    """`cell`: choose each gang's cell; `select`: choose the jobs, PAL places them."""
    window: int = 32
    """Jobs shown at once: the first unplaced ones in the base order."""
    decide_every: int = 10
    """Most rounds between two decisions; 1: every round; 0: only when a job arrives or finishes."""
    clairvoyant: bool = False
    """Show true remaining work."""
    illegal_action: IllegalAction = IllegalAction.ERROR
    illegal_penalty: float = 1.0
    """Taken off the scaled reward of an illegal action under `penalty`."""
    reward: RewardKind = RewardKind.JCT
    reward_scale: float | None = None
    """Rewards are divided by this. Default: what the bank's first world would cost if no job ever waited."""
    slots: int | None = None
    """Room for jobs that are in the system at once. Default: all of the scenario's, up to 256."""

    def __post_init__(self) -> None:
        for name, kind in (("action_mode", ActionMode), ("illegal_action", IllegalAction), ("reward", RewardKind)):
            object.__setattr__(self, name, _member(name, getattr(self, name), kind))
        for name, least, most in (("window", 1, 1024), ("decide_every", 0, 10**6)):
            value = getattr(self, name)
            if not isinstance(value, int) or not least <= value <= most:
                raise InputError(f"{name} = {value}; legal: a whole number, {least} to {most}")
        if self.reward_scale is not None and not 0 < self.reward_scale < float("inf"):
            raise InputError(f"reward_scale = {self.reward_scale}; legal: a finite number > 0")
        if self.slots is not None and self.slots < 1:
            raise InputError(f"slots = {self.slots}; legal: at least 1")

    def process(self, bank: Bank, base: Base) -> ClusterProcess:
        """The decision process on the worlds of `bank`, completed by `base`. Raises `InputError`."""
        if base.clairvoyant and not self.clairvoyant:
            raise InputError(f"base policy {base.name} is clairvoyant; it needs clairvoyant=True")
        jobs = max(len(scenario.jobs) for scenario in bank.scenarios)
        space = ActionSpace(self.action_mode, self.window, bank.worlds.profile.value.shape[2])
        return ClusterProcess(
            layout=Layout(space, len(bank.scenarios[0].classes)),
            base=base.program,
            decide_every=self.decide_every,
            clairvoyant=self.clairvoyant,
            reward=self.reward,
            slots=bucket(self.slots or min(jobs, MOST_SLOTS), 32),
        )


def _member(name: str, value: Any, kind: type[StrEnum]) -> StrEnum:
    try:
        return kind(value)
    except ValueError:
        raise InputError(f"{name} = '{value}'; legal: {', '.join(kind)}") from None
