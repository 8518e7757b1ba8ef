"""The serverless platform as the faces see it: its bank, its process, and its results in words and figures."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any

from ....scenarios.errors import InputError
from ...core import crosses
from ...forks import refuse_forked
from ...options import IllegalAction
from ..bank import Bank
from ..episode import outcome_of
from ..metrics import metrics_of
from ..record import Record, make_record
from ..render import platform_lines
from ..state import State
from .base import Base
from .env import ServerlessProcess
from .options import ServerlessOptions


@dataclass(frozen=True)
class Totals:
    """Counted requests of an episode whose tasks were not kept."""

    counted: int
    hits: int
    served: int
    shed: int
    cold_starts: int
    cost_usd: float


@dataclass(frozen=True, eq=False)
class ServerlessKind:
    """Worlds of `bank`; the observation shows what `base` would do. Raises `InputError`."""

    bank: Bank
    base: Base
    options: ServerlessOptions
    process: ServerlessProcess = field(init=False)
    data: Any = field(init=False)
    """What the base scheduler knows of the bank."""

    @crosses
    def __post_init__(self) -> None:
        refuse_forked()
        if not isinstance(self.bank, Bank):
            given = type(self.bank)
            raise InputError(
                f"bank is a {given.__name__} of {given.__module__}; "
                "legal: a bank, as varigym.registration.make_serverless_bank makes it"
            )
        if not hasattr(getattr(self.base, "program", None), "act_now"):
            raise InputError(
                f"base = {self.base!r}; legal: a scheduler without memory, as varigym.find_scheduler('esg') gives it"
            )
        if not isinstance(self.options, ServerlessOptions):
            raise InputError(f"options = {self.options!r}; legal: ServerlessOptions(...)")
        object.__setattr__(self, "process", self.options.process(self.bank, self.base))
        object.__setattr__(self, "data", self.base.bind(self.bank))

    def __reduce__(self) -> tuple[Any, ...]:
        return ServerlessKind, (self.bank, self.base, self.options)  # what is derived is derived again

    @property
    def reward_scale(self) -> float:
        """Raw rewards are divided by this."""
        return self.options.reward_scale

    @property
    def idle(self) -> str:
        """What an illegal action counts as."""
        return "WAIT"

    @property
    def advice(self) -> str:
        """What to say when a queue is full; the places suffice for all requests of a workflow."""
        return f"more than {self.process.places} jobs wait in one queue"

    def describe(self, action: int) -> str:
        """An action in words."""
        process, grid = self.process, self.bank.scenarios[0].grid
        if action >= process.wait:
            return "WAIT" if action == process.wait else "DROP"
        config, invoker = divmod(action, process.targets)
        where = f" on invoker {invoker}" if process.choose_invoker else ""
        return f"SERVE({grid.batch[config]} x {grid.vcpu[config]} vCPU, {grid.vgpu[config]} vGPU){where}"

    @crosses
    def record(self, state: State, world: int, seed: int) -> Record | Totals:
        """Results so far: requests and tasks where `log` keeps them, else totals."""
        scenario, tally = self.bank.scenarios[world], state.tally
        if self.options.log:
            return make_record(scenario, "environment", seed, outcome_of(state, misses=0, seconds=0.0))
        return Totals(
            counted=int(scenario.requests.counted.sum()),
            hits=int(tally.hits),
            served=int(tally.served),
            shed=int(tally.shed),
            cold_starts=int(tally.cold),
            cost_usd=float(tally.usd),
        )

    def metrics(self, record: Record | Totals) -> dict[str, float]:
        """Metrics of a record; of totals those that need no log."""
        if isinstance(record, Record):
            return metrics_of(record)
        return {
            "hit_rate": record.hits / record.counted,
            "cost_usd_per_request": record.cost_usd / record.served if record.served else float("nan"),
            "served": record.served / record.counted,
            "shed": record.shed / record.counted,
            "unfinished": float(record.counted - record.served - record.shed),
            "cold_starts": float(record.cold_starts),
        }

    def render(self, state: State, world: int) -> str:
        """The queues and what every invoker runs."""
        return platform_lines(state, self.bank.scenarios[world])

    @property
    def fingerprint(self) -> str:
        """Base scheduler, and the options that shape a state."""
        shown = replace(self.options, illegal_action=IllegalAction.ERROR, illegal_penalty=0.0, reward_scale=1.0)
        return f"serverless, base {self.base.name}, {shown}"
