"""Options of the cluster environments, and the process they stand for."""

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
"""Room for active jobs unless `slots` asks for more."""


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
    illegal_action: IllegalAction = IllegalAction.NOOP
    """An illegal action counts as REST under `noop` and `penalty`."""
    illegal_penalty: float = 1.0
    """Taken off the scaled reward of an illegal action under `penalty`."""
    reward: RewardKind = RewardKind.JCT
    reward_scale: float | None = None
    """Rewards are divided by this. Default: what the bank's first world would cost if no job ever waited."""
    slots: int | None = None
    """Room for jobs that are in the system at once. Default: all of the scenario's, up to 256."""

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
        """The decision process on the worlds of `bank`, completed by `base`."""
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
