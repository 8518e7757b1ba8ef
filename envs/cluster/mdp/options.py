"""Options of the cluster environments, and the decision process that they define."""

from __future__ import annotations

from dataclasses import dataclass

from ....scenarios.checks import as_member, as_whole, check_flag, check_number
from ...options import LEAST_SCALE, MOST, IllegalAction
from ..bank import Bank
from ..world import bucket
from .action import ActionMode, ActionSpace
from .base import Base
from .env import ClusterProcess
from .observation import Layout
from .reward import RewardKind

MOST_SLOTS = 256
"""The most slots for active jobs, unless the option `slots` asks for more."""


@dataclass(frozen=True)
class EnvOptions:
    """How a cluster world is presented to a learner. Raises `InputError` for illegal values."""

    action_mode: ActionMode = ActionMode.CELL
    """`cell`: the learner chooses each gang's cell; `select`: it chooses the jobs, and PAL places them."""
    window: int = 32
    """Number of jobs shown at once: the first unplaced jobs in the base order."""
    decide_every: int = 10
    """Most rounds between two decisions. 1: decide every round; 0: only when a job arrives or finishes."""
    clairvoyant: bool = False
    """Show true remaining work."""
    illegal_action: IllegalAction = IllegalAction.NOOP
    """An illegal action counts as REST under `noop` and `penalty`."""
    illegal_penalty: float = 1.0
    """Subtracted from the scaled reward of an illegal action under `penalty`."""
    reward: RewardKind = RewardKind.JCT
    reward_scale: float | None = None
    """Rewards are divided by this. Default: the cost of the bank's first world if no job ever waited."""
    slots: int | None = None
    """Slots for jobs that are in the system at the same time. Default: as many as the scenario has jobs, up to 256."""

    def __post_init__(self) -> None:
        for name, kind in (("action_mode", ActionMode), ("illegal_action", IllegalAction), ("reward", RewardKind)):
            object.__setattr__(self, name, as_member(name, getattr(self, name), kind))
        for name, least, most in (("window", 1, 1024), ("decide_every", 0, 10**6), ("slots", 1, 10**5)):
            if getattr(self, name) is not None or name != "slots":
                object.__setattr__(self, name, as_whole(name, getattr(self, name), least, most))
        check_flag("clairvoyant", self.clairvoyant)
        check_number("illegal_penalty", self.illegal_penalty, 0, MOST)
        if self.reward_scale is not None:
            check_number("reward_scale", self.reward_scale, LEAST_SCALE, MOST)

    def process(self, bank: Bank, base: Base) -> ClusterProcess:
        """Return the decision process on the worlds of `bank`; `base` completes the plans."""
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
