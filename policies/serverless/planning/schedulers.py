"""Planners of static plans as schedulers: Orion and Aquatope, from the platform of a bank to plans by queue."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from ....envs.serverless.bank import Bank
from ....envs.serverless.state import TICKS_PER_MS, World
from ....envs.serverless.world import latency_ticks, with_plan_delay
from ....scenarios.checks import check_flag, check_number, check_whole
from ....scenarios.errors import InputError
from ....scenarios.serverless.noise import Noise
from ....scenarios.serverless.scenario import ServerlessScenario
from ....scenarios.types import Ints
from ..baselines.static_plan import PROGRAM, PlanData, PlanProgram, plan_data
from ..tables import platform_tables
from .ahead import make_plans
from .aquatope import PLAN_SEEDS, AquatopeSettings, aquatope_plans
from .orion import Search, as_search, plan_orion
from .problem import Configs, PlanProblem


@dataclass(frozen=True)
class OrionPolicy:
    """Orion (Mahgoub et al., OSDI 2022), adapted: right-sizing by P95, planned once per workflow."""

    name: str
    search: Search = Search.GREEDY
    budget: int = 0
    """Expansions after which the search stops; 0: the search's own default."""
    planning_ms: float = 0.0
    """Planning time that every request waits for; 0: planned beforehand."""
    noise_cv: float = Noise().noise_cv
    """Spread of run times that the planner believes in."""
    margin: float = 1.0
    """Part of the SLO that is planned with."""
    give_up: bool = False
    """Spend as little as possible on requests that are lost."""

    def __post_init__(self) -> None:
        object.__setattr__(self, "search", as_search(self.search))
        check_whole("budget", self.budget, 0, 10**9)
        check_number("planning_ms", self.planning_ms, 0, 1e5)
        _check_shared(self)

    @property
    def program(self) -> PlanProgram:
        """One program for all plans."""
        return PROGRAM

    def bind(self, bank: Bank) -> PlanData:
        """A plan per workflow of the bank's platform."""

        def plans(problem: PlanProblem) -> list[Configs]:
            return [plan_orion(problem, self.search, self.budget or None).configs]

        planned = _by_queue(bank, _problems(bank.scenarios[0], self), plans)
        return plan_data(platform_tables(bank), planned, gives_up=self.give_up, delay_ms=self.planning_ms)

    def adapt(self, worlds: World, data: PlanData) -> World:
        """Requests join after the planning time."""
        return with_plan_delay(worlds, data.delay)


@dataclass(frozen=True)
class AquatopePolicy:
    """Aquatope (Zhou et al., ASPLOS 2023), adapted: Bayesian optimisation per workflow, once, with several plans."""

    name: str
    runs: int = 20
    """Runs of the workflow per trial; the release's single run favours plans that were lucky once."""
    plans: int = PLAN_SEEDS
    """Plans of different seeds; an episode draws one of them."""
    noise_cv: float = Noise().noise_cv
    """Spread of run times that its trials meet."""
    margin: float = 1.0
    """Part of the SLO that is planned with."""
    give_up: bool = False
    """Spend as little as possible on requests that are lost."""

    def __post_init__(self) -> None:
        check_whole("plans", self.plans, 1, 100)
        check_whole("runs", self.runs, 1, 10_000)
        _check_shared(self)

    @property
    def program(self) -> PlanProgram:
        """One program for all plans."""
        return PROGRAM

    @property
    def settings(self) -> AquatopeSettings:
        """How each plan is looked for."""
        return AquatopeSettings(runs=self.runs)

    def plan_ahead(
        self, scenarios: Sequence[ServerlessScenario], processes: int, tell: Callable[[str], None] = lambda text: None
    ) -> None:
        """Make what `bind` will need on these platforms and the cache does not hold, in up to `processes` processes."""
        problems = [problem for scenario in scenarios for problem in _problems(scenario, self)]
        make_plans(problems, range(self.plans), self.settings, processes, tell=tell)

    def bind(self, bank: Bank) -> PlanData:
        """Plans per workflow of the bank's platform; from the cache where they were made before."""

        def plans(problem: PlanProblem) -> list[Configs]:
            return [plan.configs for plan in aquatope_plans(problem, range(self.plans), self.settings)]

        planned = _by_queue(bank, _problems(bank.scenarios[0], self), plans)
        return plan_data(platform_tables(bank), planned, gives_up=self.give_up)

    def adapt(self, worlds: World, data: PlanData) -> World:
        """The worlds as they are."""
        return worlds


def _check_shared(policy: OrionPolicy | AquatopePolicy) -> None:
    check_number("noise_cv", policy.noise_cv, 0, 1)
    check_number("margin", policy.margin, 0, 10, above=True)
    check_flag("give_up", policy.give_up)


def _problems(scenario: ServerlessScenario, policy: OrionPolicy | AquatopePolicy) -> list[PlanProblem]:
    """What there is to plan on a platform: a problem per workflow."""
    time, noise = latency_ticks(scenario), Noise(noise_cv=policy.noise_cv)
    return [
        PlanProblem(
            latency_ticks=time[list(workflow.functions)],
            grid=scenario.grid,
            edges=workflow.edges,
            slo_ticks=max(1, int(policy.margin * workflow.slo_ms * TICKS_PER_MS)),
            prices=scenario.prices,
            noise=noise,
        )
        for workflow in scenario.workflows
    ]


def _by_queue(bank: Bank, problems: list[PlanProblem], plans: Callable[[PlanProblem], list[Configs]]) -> Ints:
    """Plans [V, Q] of all workflows. Raises `InputError` where the worlds of the bank promise different latencies."""
    promised = [[workflow.slo_ms for workflow in scenario.workflows] for scenario in bank.scenarios]
    if any(slo_ms != promised[0] for slo_ms in promised):
        raise InputError("a static plan needs one SLO per workflow; the worlds of this bank have different ones")
    return np.concatenate([np.array(plans(problem), np.int32) for problem in problems], axis=1)
