"""Aquatope's planner: Bayesian optimisation of one workflow's sizes, from trial runs of the workflow.

Zhou, Zhang, Delimitrou, "AQUATOPE", ASPLOS 2023. The release measures 10 random points, then 20 rounds of 3 proposals
by noisy expected improvement, from one Gaussian process for cost and one for latency - SLO. It drops measurements
outside the 95 % interval that all others predict as anomalies, and measures a size once. The plan is the cheapest
point that was measured as feasible. Our adaptations (spec e.5):

- a point is (batch, vCPU, vGPU) per stage, each a position on its axis of the grid, scaled to [0, 1]. Only grid points
  can run. So proposals are the best of a random pool of grid points, half of them anywhere and half close to the best
  points so far, instead of a rounded gradient search, which took some 20 times longer here;
- a measurement is one run (`runs`), with the profile's latencies and its own noise. A point that met the SLO once may
  well miss it next time. With more runs, a named deviation, the mean cost and the P95 latency are used;
- each round looks for anomalies among all measurements again; they do not stay dropped;
- without a feasible point the plan is the one of least latency.

Plans may differ by rounding between machines and library versions, so `aquatope_plans` caches the plans that were made.
"""

from __future__ import annotations

import hashlib
import warnings
from collections.abc import Iterable
from dataclasses import asdict, dataclass
from pathlib import Path
from time import perf_counter
from typing import TYPE_CHECKING, Any

import numpy as np

from ....scenarios.checks import check_flag, check_number, check_whole
from ....scenarios.errors import InputError
from ....scenarios.types import Bools
from .cache import cache_folder, load, refuse, store
from .problem import Configs, PlanProblem
from .trials import Trials

if TYPE_CHECKING:
    from .surrogate import Surrogates

MISSING = "Aquatope's planner needs BoTorch; install it with: pip install -c constraints.txt 'varigym[aquatope]'"
PLAN_SEEDS = 5
"""Plans per workflow that a study averages over, because single optimisations differ much."""
FORMAT = 1
"""Version of cached plans; it increases when the same inputs give other plans."""
STREAM = 0xA9A
"""Separates the planner's random numbers from others of the same seed."""


@dataclass(frozen=True)
class AquatopeSettings:
    """Parameters of the optimisation; defaults are the release's where it has them."""

    initial: int = 10
    """Number of random points at the start."""
    rounds: int = 20
    proposals: int = 3
    """Points proposed and measured per round."""
    runs: int = 1
    """Runs of the workflow per point."""
    confidence: float = 0.95
    """Confidence of the interval outside which a measurement is an anomaly."""
    drop_anomalies: bool = True
    draws: int = 32
    """Number of quasi-random draws that the expected improvement is averaged over."""
    pool: int = 512
    """Number of grid points drawn to choose proposals from."""
    fit_steps: int = 20
    """Most steps of each fit, which starts from the previous fit."""

    def __post_init__(self) -> None:
        for name, least, most in (
            ("initial", 2, 1000),
            ("rounds", 0, 1000),
            ("proposals", 1, 100),
            ("runs", 1, 10_000),
            ("draws", 1, 4096),
            ("pool", 2, 100_000),
            ("fit_steps", 1, 10_000),
        ):
            check_whole(name, getattr(self, name), least, most)
        check_number("confidence", self.confidence, 0.5, 0.9999)
        check_flag("drop_anomalies", self.drop_anomalies)


@dataclass(frozen=True)
class AquatopePlan:
    """A static plan, and the effort to find it."""

    configs: Configs
    latency_ticks: float
    """Measured latency."""
    cost_usd: float
    """Cost per request, at mean latencies."""
    feasible: bool
    """Whether the measured latency meets the SLO."""
    samples: int
    """Number of points measured."""
    anomalies: int
    """Number of points dropped at the end."""
    ms: float
    """Wall time of the optimisation."""


def plan_aquatope(problem: PlanProblem, seed: int = 0, settings: AquatopeSettings = AquatopeSettings()) -> AquatopePlan:
    """Plan one workflow. Raises `InputError` if BoTorch is not installed."""
    check_whole("seed", seed, 0, 2**32 - 1)
    began = perf_counter()
    surrogates = _surrogates(settings, seed)
    trials = Trials(problem, settings.runs, np.random.default_rng([STREAM, seed]))
    trials.add(trials.pool(settings.pool)[: settings.initial])
    kept = _kept(trials, surrogates, settings)
    for _ in range(settings.rounds):
        pool = trials.pool(settings.pool)
        if not len(pool):
            break
        chosen = surrogates.propose(kept, trials.scaled(pool), min(settings.proposals, len(pool)))
        trials.add(pool[chosen])
        kept = _kept(trials, surrogates, settings)
    best = next(int(point) for point in trials.best_first() if kept[point])
    return AquatopePlan(
        configs=trials.configs(best),
        latency_ticks=float(trials.latency[best]),
        cost_usd=problem.cost_usd(trials.configs(best)),
        feasible=bool(trials.excess[best] <= 0),
        samples=len(trials.levels),
        anomalies=int((~kept).sum()),
        ms=(perf_counter() - began) * 1000,
    )


def aquatope_plans(
    problem: PlanProblem,
    seeds: Iterable[int] = range(PLAN_SEEDS),
    settings: AquatopeSettings = AquatopeSettings(),
    folder: Path | None = None,
) -> tuple[AquatopePlan, ...]:
    """Return the plans of several seeds, from the cache if they were made before; cached plans need no BoTorch.

    Each plan has a file in `folder` (default: the user's cache), named by a hash of all inputs of the plan.
    """
    return tuple(_cached_plan(problem, seed, settings, folder) for seed in seeds)


def plan_path(problem: PlanProblem, seed: int, settings: AquatopeSettings, folder: Path | None = None) -> Path:
    """Return the file of a plan: in `folder`, by default the user's cache."""
    parts = repr((FORMAT, problem.digest, seed, settings))
    home = cache_folder() if folder is None else folder
    return home / "aquatope" / f"{hashlib.sha256(parts.encode()).hexdigest()[:32]}.json"


def kept_plan(path: Path, problem: PlanProblem) -> AquatopePlan | None:
    """Return the plan in a file; None if there is no file or, with a notice, if it is no plan of this problem."""
    found = load(path)
    if found is None:
        return None
    try:
        return _read(found, problem)
    except (KeyError, TypeError, ValueError) as error:
        refuse(path, f"{type(error).__name__}: {error}")
        return None


def keep(path: Path, plan: AquatopePlan) -> None:
    """Write a plan to its file atomically."""
    store(path, asdict(plan))


def _cached_plan(problem: PlanProblem, seed: int, settings: AquatopeSettings, folder: Path | None) -> AquatopePlan:
    path = plan_path(problem, seed, settings, folder)
    if (found := kept_plan(path, problem)) is not None:
        return found
    plan = plan_aquatope(problem, seed, settings)
    keep(path, plan)
    return plan


def _read(found: dict[str, Any], problem: PlanProblem) -> AquatopePlan:
    """Read a plan from its file. Raises KeyError, TypeError or ValueError if it is no plan of this problem."""
    plan = AquatopePlan(**{**found, "configs": tuple(found["configs"])})
    check_whole("stages of the plan", len(plan.configs), problem.stages, problem.stages)
    for config in plan.configs:
        check_whole("config", config, 0, problem.grid.size - 1)
    for name in ("latency_ticks", "cost_usd", "ms"):
        check_number(name, getattr(plan, name), 0)
    for name in ("samples", "anomalies"):
        check_whole(name, getattr(plan, name), 0, 10**9)
    check_flag("feasible", plan.feasible)
    return plan


def _kept(trials: Trials, surrogates: Surrogates, settings: AquatopeSettings) -> Bools:
    """Fit the surrogates to all measurements, and return which of them are not anomalies [N]."""
    surrogates.fit(trials.scaled(trials.levels), trials.cost / trials.cost.mean(), trials.excess)
    kept = ~surrogates.anomalies(settings.confidence)
    return kept if settings.drop_anomalies and kept.any() else np.ones_like(kept)


def _surrogates(settings: AquatopeSettings, seed: int) -> Surrogates:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            from .surrogate import Surrogates
        except ImportError:
            raise InputError(MISSING) from None
    return Surrogates(settings.fit_steps, settings.draws, seed)
