"""The cluster as the faces see it: its bank, its process, and its results in words and figures."""

from __future__ import annotations

from dataclasses import dataclass, field, fields
from typing import Any

from ....scenarios.errors import InputError
from ...core import crosses
from ...forks import refuse_forked
from ..bank import Bank
from ..episode import outcome_of
from ..metrics import metrics_of
from ..record import Record, make_record
from ..render import gantt_line
from .base import Base
from .env import ClusterProcess, EnvState
from .options import EnvOptions
from .reward import reward_scale

PRESENTATION = ("illegal_action", "illegal_penalty", "reward_scale")
"""Options that leave states as they are."""


@dataclass(frozen=True, eq=False)
class ClusterKind:
    """Worlds of `bank`; `base` orders the window and completes plans at REST. Raises `InputError`."""

    bank: Bank
    base: Base
    options: EnvOptions
    process: ClusterProcess = field(init=False)
    data: Any = field(init=False)
    """What the base policy knows of the bank."""

    @crosses
    def __post_init__(self) -> None:
        refuse_forked()
        if not isinstance(self.bank, Bank):
            raise InputError(f"bank = {self.bank!r}; legal: a bank, as varigym.registration.make_bank makes it")
        if not hasattr(self.base, "program"):
            raise InputError(
                f"base = {self.base!r}; legal: a policy object, as varigym.find_policy gives it for a name"
            )
        if not isinstance(self.options, EnvOptions):
            raise InputError(f"options = {self.options!r}; legal: EnvOptions(...)")
        if self.base.clairvoyant and not self.options.clairvoyant:
            raise InputError(f"base policy {self.base.name} is clairvoyant; it needs clairvoyant=True")
        object.__setattr__(self, "process", self.options.process(self.bank, self.base))
        object.__setattr__(self, "data", self.base.bind(self.bank))

    def __reduce__(self) -> tuple[Any, ...]:
        return ClusterKind, (self.bank, self.base, self.options)  # what is derived is derived again

    @property
    def reward_scale(self) -> float:
        """Raw rewards are divided by this."""
        return self.options.reward_scale or reward_scale(self.options.reward, self.bank.scenarios[0])

    @property
    def idle(self) -> str:
        """What an illegal action counts as."""
        return "REST"

    @property
    def advice(self) -> str:
        """What to say when there are more jobs than slots."""
        slots = self.process.slots
        return f"more than {slots} jobs are in the system at once; give the environment slots={2 * slots}"

    def describe(self, action: int) -> str:
        """An action in words."""
        return self.process.space.describe(action)

    @crosses
    def record(self, state: EnvState, world: int, seed: int) -> Record:
        """Results so far; jobs that have not finished count up to now."""
        scenario = self.bank.scenarios[world]
        outcome = outcome_of(state.settled.cluster, len(scenario.jobs), rounds=0)
        return make_record(scenario, "environment", seed, outcome)

    def metrics(self, record: Record) -> dict[str, float]:
        """Every metric of a record."""
        return metrics_of(record)

    def render(self, state: EnvState, world: int) -> str:
        """One line per node: which job holds each GPU in the plan that ran last."""
        return gantt_line(state.settled.cluster, self.bank.scenarios[world])

    @property
    def fingerprint(self) -> str:
        """Base policy, and the options that shape a state."""
        names = [f.name for f in fields(self.options) if f.name not in PRESENTATION]
        shown = [f"{name}={getattr(self.options, name)}" for name in names]
        return f"cluster, base {self.base.name}, {', '.join(shown)}"
