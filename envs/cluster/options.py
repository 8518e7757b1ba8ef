"""Options of the cluster environments, and the process they stand for."""

from __future__ import annotations

import math
from dataclasses import dataclass
from enum import Enum, StrEnum
from typing import Any, TypeVar

from ...scenarios.errors import InputError
from .action import ActionMode, ActionSpace
from .bank import Bank
from .base import Base
from .env import ClusterProcess
from .observation import Layout
from .reward import RewardKind
from .world import bucket

E = TypeVar("E", bound=Enum)

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
            object.__setattr__(self, name, member(name, getattr(self, name), kind))
        for name, least, most in (("window", 1, 1024), ("decide_every", 0, 10**6), ("slots", 1, 10**5)):
            value = getattr(self, name)
            if name == "slots" and value is None:
                continue
            if isinstance(value, bool) or not isinstance(value, int) or not least <= value <= most:
                raise InputError(f"{name} = {value!r}; legal: a whole number, {least} to {most}")
        if not isinstance(self.clairvoyant, bool):
            raise InputError(f"clairvoyant = {self.clairvoyant!r}; legal: True or False")
        scale = 1.0 if self.reward_scale is None else self.reward_scale
        for name, value, legal in (
            ("reward_scale", scale, _is_real(scale) and scale > 0),
            ("illegal_penalty", self.illegal_penalty, _is_real(self.illegal_penalty) and self.illegal_penalty >= 0),
        ):
            if not legal:
                raise InputError(f"{name} = {value!r}; legal: a finite number {'>' if name[0] == 'r' else '>='} 0")

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


def _is_real(value: object) -> bool:
    return isinstance(value, float | int) and not isinstance(value, bool) and math.isfinite(value)


def member(name: str, value: Any, kind: type[E]) -> E:
    """The member of `kind` that `value` names. Raises `InputError`."""
    try:
        return kind(value)
    except ValueError:
        raise InputError(f"{name} = '{value}'; legal: {', '.join(str(m.value) for m in kind)}") from None
