"""Aquatope's planner: what it finds on small problems, what it measures, and its cache."""

from __future__ import annotations

import builtins
import sys
from dataclasses import replace
from importlib.util import find_spec
from itertools import product
from pathlib import Path

import numpy as np
import pytest
from varigym.policies.serverless.planning import aquatope
from varigym.policies.serverless.planning.aquatope import AquatopePlan, AquatopeSettings, aquatope_plans, plan_aquatope
from varigym.policies.serverless.planning.cache import CacheNotice, cache_folder
from varigym.policies.serverless.planning.problem import PlanProblem
from varigym.policies.serverless.planning.trials import Trials
from varigym.scenarios.errors import InputError
from varigym.scenarios.serverless.configs import GRIDS, ConfigGrid
from varigym.scenarios.serverless.noise import Noise
from varigym.scenarios.serverless.profiles.functions import FUNCTIONS
from varigym.scenarios.serverless.workflows import chain

needs_botorch = pytest.mark.skipif(find_spec("botorch") is None, reason="the extra `aquatope` is not installed")
EXACT = Noise(0.0, 0.0)
TINY = ConfigGrid((1, 2), (1, 2), (1, 2))
SHORT = AquatopeSettings(initial=4, rounds=2, pool=64)
IN_FULL = AquatopeSettings(rounds=9, proposals=6, drop_anomalies=False)
"""64 points of a tiny grid."""


def problem_of(names: tuple[str, ...], factor: float, noise: Noise = EXACT, grid: ConfigGrid = TINY) -> PlanProblem:
    """SLO = `factor` times the latency at the smallest configuration, batch 1."""
    latency = np.rint([FUNCTIONS[name].law.latency_ms(grid) * 100 for name in names]).astype(np.int32)
    return PlanProblem(latency, grid, chain(len(names)), int(latency[:, 0].sum() * factor), noise=noise)


def least_cost(problem: PlanProblem) -> float:
    """Of all plans whose mean latency meets the SLO, one pipeline by brute force over its Pareto frontier."""
    frontier = {0: 0}
    for ticks, cost in zip(problem.latency_ticks.tolist(), problem.costs.cost.tolist(), strict=True):
        reached: dict[int, int] = {}
        for (t0, c0), (t, c) in product(frontier.items(), zip(ticks, cost, strict=True)):
            if t0 + t <= problem.slo_ticks:
                reached[t0 + t] = min(c0 + c, reached.get(t0 + t, 2**62))
        frontier, least = {}, 2**62
        for t, c in sorted(reached.items()):
            if c < least:
                frontier[t] = least = c
    return min(frontier.values()) * problem.costs.unit_usd


def plan_text(configs: str, ticks: str = "1", feasible: str = "true") -> str:
    """What a cached file may hold."""
    rest = '"cost_usd": 1, "samples": 1, "anomalies": 0, "ms": 1'
    return f'{{"configs": {configs}, "latency_ticks": {ticks}, "feasible": {feasible}, {rest}}}'


@pytest.fixture
def fake(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """Planning replaced by a count of the seeds that it is asked for."""
    asked: list[int] = []

    def plan(problem: PlanProblem, seed: int, settings: AquatopeSettings) -> AquatopePlan:
        asked.append(seed)
        return AquatopePlan((seed,) * problem.stages, 100.5, 1e-6, True, 70, 3, 4000.0)

    monkeypatch.setattr(aquatope, "plan_aquatope", plan)
    return asked


@needs_botorch
def test_a_tiny_grid_is_tried_in_full_and_the_least_cost_found() -> None:
    problem = problem_of(("super-resolution", "segmentation"), 0.8)
    plan = plan_aquatope(problem, settings=IN_FULL)
    assert plan.samples == 64
    assert plan.feasible
    assert plan.cost_usd == pytest.approx(least_cost(problem))
    assert plan.latency_ticks <= problem.slo_ticks


@needs_botorch
@pytest.mark.parametrize("seed", range(3))
def test_near_the_least_cost_after_70_of_a_million_plans(seed: int) -> None:
    problem = problem_of(("super-resolution", "segmentation", "classification"), 1.0, grid=GRIDS["S100"])
    plan = plan_aquatope(problem, seed)
    assert plan.samples == 70
    assert plan.feasible
    assert least_cost(problem) <= plan.cost_usd <= 1.25 * least_cost(problem)


@needs_botorch
def test_noise_and_the_same_seed_give_the_same_plan_and_leave_other_random_numbers_alone() -> None:
    torch = pytest.importorskip("torch")
    problem = problem_of(("deblur", "super-resolution", "depth"), 1.0, Noise(), GRIDS["S100"])
    torch.manual_seed(7)
    np.random.seed(7)  # noqa: NPY002
    before = torch.random.get_rng_state(), np.random.get_state()[1].tolist(), torch.get_num_threads()  # noqa: NPY002
    first, again = (replace(plan_aquatope(problem, 1, SHORT), ms=0.0) for _ in range(2))
    assert first == again
    assert torch.equal(before[0], torch.random.get_rng_state())
    assert before[1] == np.random.get_state()[1].tolist()  # noqa: NPY002
    assert before[2] == torch.get_num_threads()


@needs_botorch
def test_without_a_feasible_point_the_least_latency_is_kept() -> None:
    problem = replace(problem_of(("super-resolution", "segmentation"), 1.0), slo_ticks=1)
    plan = plan_aquatope(problem, settings=IN_FULL)
    assert not plan.feasible
    assert plan.latency_ticks == problem.latency_ticks.min(axis=1).sum()


def test_a_straggler_among_smooth_measurements_is_an_anomaly() -> None:
    surrogate = pytest.importorskip("varigym.policies.serverless.planning.surrogate")
    points = np.random.default_rng(0).random((40, 2))
    cost = 1 + points[:, 0] + 0.01 * np.random.default_rng(1).standard_normal(40)
    excess = points[:, 1] - 0.5 + 0.01 * np.random.default_rng(2).standard_normal(40)
    excess[7] += 0.5
    both = surrogate.Surrogates(iterations=50, draws=32, seed=0)
    both.fit(points, cost, excess)
    found = both.anomalies(0.95)
    assert found[7]
    assert found.sum() <= 6
    assert not both.anomalies(0.9999)[[0, 1, 2, 3]].any()


def test_proposals_go_where_it_is_cheap_and_in_time() -> None:
    surrogate = pytest.importorskip("varigym.policies.serverless.planning.surrogate")
    points = np.random.default_rng(0).random((40, 2))
    both = surrogate.Surrogates(iterations=50, draws=32, seed=0)
    both.fit(points, points[:, 0], 0.5 - points[:, 0])  # cheaper to the left, in time only to the right of 0.5
    pool = np.array([[0.1, 0.5], [0.3, 0.5], [0.505, 0.5], [0.7, 0.5], [0.9, 0.5]])
    assert both.propose(np.ones(40, bool), pool, 1) == [2]


def test_measurements_are_the_profile_times_noise() -> None:
    problem = problem_of(("super-resolution", "segmentation"), 1.0)
    trials = Trials(problem, 1, np.random.default_rng(0))
    trials.add(np.array([[0, 0, 0, 1, 1, 1], [1, 0, 1, 0, 1, 0]]))
    assert trials.configs(0) == (0, TINY.index(2, 2, 2))
    assert trials.configs(1) == (TINY.index(2, 1, 2), TINY.index(1, 2, 1))
    assert trials.latency[0] == problem.latency_ticks[0, 0] + problem.latency_ticks[1, 7]
    assert trials.cost[0] == problem.cost(trials.configs(0))
    noisy = Trials(replace(problem, noise=Noise()), 2000, np.random.default_rng(0))
    noisy.add(np.array([[0, 0, 0, 1, 1, 1]]))
    assert noisy.cost[0] == pytest.approx(1.01 * trials.cost[0], rel=0.02)
    assert 1.1 < noisy.latency[0] / trials.latency[0] < 1.25


def test_a_pool_holds_new_points_only() -> None:
    trials = Trials(problem_of(("super-resolution", "segmentation"), 1.0), 1, np.random.default_rng(0))
    trials.add(trials.pool(40)[:20])
    known = {tuple(row) for row in trials.levels.tolist()}
    pool = [tuple(row) for row in trials.pool(10_000).tolist()]
    assert len(known) == 20
    assert len(pool) == len(set(pool)) == 44
    assert not known & set(pool)


def test_plans_are_made_once_per_seed_and_problem(fake: list[int], tmp_path: Path) -> None:
    problem = problem_of(("super-resolution", "segmentation"), 1.0)
    made = aquatope_plans(problem, folder=tmp_path)
    assert fake == [0, 1, 2, 3, 4]
    assert aquatope_plans(problem, folder=tmp_path) == made
    assert len(fake) == 5
    changes = (replace(problem, slo_ticks=5), replace(problem, noise=Noise(0.2)), replace(problem, edges=()))
    for changed in changes:
        aquatope_plans(changed, [0], folder=tmp_path)
    aquatope_plans(problem, [0], AquatopeSettings(runs=2), folder=tmp_path)
    assert fake[5:] == [0, 0, 0, 0]
    assert not list(tmp_path.rglob("*.tmp"))


@pytest.mark.parametrize(
    "content",
    [
        "",
        "{",
        "[1]",
        "{}",
        plan_text("[0]"),
        plan_text("[0, 8]"),
        plan_text("[0, 7]", ticks="NaN"),
        plan_text("[0, 7]", feasible="1"),
    ],
)
def test_a_broken_file_is_made_again_with_a_notice(fake: list[int], tmp_path: Path, content: str) -> None:
    problem = problem_of(("super-resolution", "segmentation"), 1.0)
    made = aquatope_plans(problem, [2], folder=tmp_path)
    (path,) = tmp_path.rglob("*.json")
    path.write_text(content)
    with pytest.warns(CacheNotice, match="cannot be used"):
        assert aquatope_plans(problem, [2], folder=tmp_path) == made
    assert aquatope_plans(problem, [2], folder=tmp_path) == made
    assert fake == [2, 2]


def test_where_nothing_can_be_written_plans_are_made_all_the_same(fake: list[int], tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.warns(CacheNotice, match="not cached"):
        aquatope_plans(problem_of(("deblur",), 1.0), [0], folder=tmp_path / "file")
    assert fake == [0]


def test_the_cache_lies_where_the_user_says(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("VARIGYM_CACHE", str(tmp_path / "mine"))
    assert cache_folder() == tmp_path / "mine"
    monkeypatch.delenv("VARIGYM_CACHE")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    assert cache_folder() == tmp_path / "varigym"
    monkeypatch.setenv("XDG_CACHE_HOME", "relative")
    assert cache_folder() == Path.home() / ".cache" / "varigym"


def test_without_the_library_the_error_says_how_to_get_it(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, fake: list[int]
) -> None:
    problem = problem_of(("super-resolution", "segmentation"), 1.0)
    aquatope_plans(problem, [0], folder=tmp_path)
    real = builtins.__import__

    def without(name: str, *rest: object, **more: object) -> object:
        if name.partition(".")[0] in ("botorch", "gpytorch"):
            raise ModuleNotFoundError(f"No module named '{name}'", name=name)
        return real(name, *rest, **more)  # type: ignore[arg-type]

    monkeypatch.delitem(sys.modules, "varigym.policies.serverless.planning.surrogate", raising=False)
    monkeypatch.setattr(builtins, "__import__", without)
    with pytest.raises(InputError, match=r"pip install -c constraints.txt 'varigym\[aquatope\]'"):
        plan_aquatope(problem)
    aquatope_plans(problem, [0], folder=tmp_path)  # kept plans need no library
    assert fake == [0]


def test_settings_that_are_not_legal_are_refused() -> None:
    with pytest.raises(InputError, match="runs = 0"):
        AquatopeSettings(runs=0)
    with pytest.raises(InputError, match=r"confidence = 1\.5"):
        AquatopeSettings(confidence=1.5)
