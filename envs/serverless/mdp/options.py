"""Options of the serverless environments, and the decision process that they define."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from ....scenarios.checks import as_member, check_flag, check_number
from ...options import LEAST_SCALE, MOST, IllegalAction
from ..bank import Bank
from ..episode import log_rows
from .base import Base
from .env import ServerlessProcess
from .observation import Layout


@dataclass(frozen=True)
class ServerlessOptions:
    """How a serverless world is presented to a learner. Raises `InputError` for illegal values."""

    choose_invoker: bool = False
    """Actions choose the invoker too; otherwise the dispatch rule does."""
    drop: bool = True
    """DROP is legal; otherwise no request is ever dropped."""
    price_weight: float = 0.2
    """Reward subtracted for the cost of a request at minimum configuration, averaged over the workflows."""
    illegal_action: IllegalAction = IllegalAction.NOOP
    """An illegal action counts as WAIT under `noop` and `penalty`."""
    illegal_penalty: float = 1.0
    """Subtracted from the scaled reward of an illegal action under `penalty`."""
    reward_scale: float = 1.0
    """Rewards are divided by this."""
    log: bool = False
    """Keep a log of all tasks, so that `record()` has requests and tasks; it makes steps slower."""

    def __post_init__(self) -> None:
        object.__setattr__(self, "illegal_action", as_member("illegal_action", self.illegal_action, IllegalAction))
        for name in ("choose_invoker", "drop", "log"):
            check_flag(name, getattr(self, name))
        check_number("price_weight", self.price_weight, 0, MOST)
        check_number("illegal_penalty", self.illegal_penalty, 0, MOST)
        check_number("reward_scale", self.reward_scale, LEAST_SCALE, MOST)

    def process(self, bank: Bank, base: Base) -> ServerlessProcess:
        """Return the decision process on the worlds of `bank`; the observation shows the preferences of `base`."""
        first = bank.scenarios[0]
        most = max(_most_at_once(scenario) for scenario in bank.scenarios)
        return ServerlessProcess(
            layout=Layout(
                first.grid.size, first.invokers, len(first.queues), max(first.grid.vgpus), self.choose_invoker
            ),
            base=base.program,
            choose_invoker=self.choose_invoker,
            drop=self.drop,
            usd_weight=self.price_weight / reference_usd(bank),
            places=2 ** math.ceil(math.log2(most + 2 * max(first.grid.batches))),
            logged=log_rows(bank) if self.log else 0,
        )


def reference_usd(bank: Bank) -> float:
    """Return the cost of a request at minimum configuration, averaged over the workflows; 1 if everything is free."""
    scenario = bank.scenarios[0]
    least, prices = scenario.grid, scenario.prices
    per_h = least.vcpus[0] * prices.usd_per_vcpu_h + least.vgpus[0] * prices.usd_per_vgpu_h
    work_ms = [sum(scenario.functions[f].latency_ms[0] for f in w.functions) for w in scenario.workflows]
    return float(np.mean(work_ms)) / 3.6e6 * per_h or 1.0


def _most_at_once(scenario: Any) -> int:
    """Bound the jobs of a queue: it never holds more than all requests of its workflow."""
    return int(np.bincount(scenario.requests.workflow).max())
