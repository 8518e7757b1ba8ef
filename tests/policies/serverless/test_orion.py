"""Orion's planner: its latency model against closed forms and simulation, its searches against brute force."""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise, product

import numpy as np
import pytest
from varigym.policies.serverless.planning.endtoend import LatencyModel
from varigym.policies.serverless.planning.orion import Search, plan_orion, steps
from varigym.policies.serverless.planning.problem import PlanProblem
from varigym.scenarios.errors import InputError
from varigym.scenarios.serverless.configs import GRIDS, ConfigGrid
from varigym.scenarios.serverless.noise import Noise
from varigym.scenarios.serverless.profiles.functions import FUNCTIONS
from varigym.scenarios.serverless.workflows import chain, longest_path
from varigym.scenarios.types import Floats

EXACT = Noise(0.0, 0.0)
TINY = ConfigGrid((1, 2), (1, 2), (1, 2))
# b c g     111 112 121 122 211 212 221 222
LATENCY = [[100, 60, 80, 50, 160, 90, 130, 80], [200, 110, 190, 100, 330, 180, 310, 170]]
FORK_JOIN = ((0, 1), (0, 2), (1, 3), (2, 3))
NESTED = ((0, 1), (0, 5), (1, 2), (1, 3), (2, 4), (3, 4), (4, 6), (5, 6))
TANGLE = ((0, 1), (0, 2), (1, 3), (1, 4), (2, 4), (3, 5), (4, 5))


def tiny(slo_ticks: int, noise: Noise = EXACT) -> PlanProblem:
    return PlanProblem(np.array(LATENCY, np.int32), TINY, chain(2), slo_ticks, noise=noise)


def pipeline(names: tuple[str, ...], factor: float) -> PlanProblem:
    """A published pipeline: SLO = `factor` times its latency at the smallest configuration, batch 1."""
    grid = GRIDS["S100"]
    latency = np.rint([FUNCTIONS[name].law.latency_ms(grid) * 100 for name in names]).astype(np.int32)
    return PlanProblem(latency, grid, chain(len(names)), int(latency[:, 0].sum() * factor))


def simulated(problem: PlanProblem, configs: tuple[int, ...], draws: int = 100_000) -> Floats:
    rng = np.random.default_rng(0)
    factor = problem.noise.draw(rng, rng, draws, problem.stages)
    ends: list[Floats] = []
    for stage, config in enumerate(configs):
        before = [ends[u] for u, v in problem.edges if v == stage]
        start = np.max(before, axis=0) if before else np.zeros(draws)
        ends.append(start + problem.latency_ticks[stage, config] * factor[:, stage])
    return ends[-1]


def random_problem(seed: int, edges: tuple[tuple[int, int], ...], noise: Noise) -> PlanProblem:
    rng = np.random.default_rng(seed)
    stages = max(v for _, v in edges) + 1
    return PlanProblem(rng.integers(1_000, 60_000, (stages, 8)).astype(np.int32), TINY, edges, 10_000, noise=noise)


def test_a_single_stage_has_the_percentile_of_its_lognormal() -> None:
    problem = PlanProblem(np.array([[10_000] * 8], np.int32), TINY, (), 1, noise=Noise(0.2, 0.0))
    sigma = np.sqrt(np.log(1.04))
    expected = 10_000 * np.exp(1.6448536 * sigma - sigma**2 / 2)
    assert LatencyModel(problem).percentile((0,)) == pytest.approx(expected, rel=1e-3)


def test_stragglers_alone_are_two_atoms() -> None:
    often, seldom = (
        PlanProblem(np.array([[10_000] * 8], np.int32), TINY, (), 1, noise=Noise(0.0, share)) for share in (0.2, 0.02)
    )
    assert LatencyModel(often).percentile((0,)) == pytest.approx(15_000, rel=3e-3)
    assert LatencyModel(seldom).percentile((0,)) == pytest.approx(10_000, rel=3e-3)


def test_without_noise_a_percentile_is_the_longest_path() -> None:
    problem = random_problem(0, NESTED, EXACT)
    configs = (0, 1, 2, 3, 4, 5, 6)
    ticks = [int(problem.latency_ticks[stage, config]) for stage, config in enumerate(configs)]
    assert LatencyModel(problem).percentile(configs) == longest_path(NESTED, ticks)


@pytest.mark.parametrize("edges", [chain(2), chain(5), FORK_JOIN, NESTED], ids=str)
@pytest.mark.parametrize("noise", [Noise(), Noise(0.05, 0.0), Noise(0.2, 0.1)], ids=str)
def test_percentiles_are_those_of_simulated_requests(edges: tuple[tuple[int, int], ...], noise: Noise) -> None:
    for seed in range(3):
        problem = random_problem(seed, edges, noise)
        configs = tuple(np.random.default_rng(seed).integers(0, 8, problem.stages).tolist())
        ends, model = simulated(problem, configs), LatencyModel(problem)
        for share in (0.5, 0.95):
            assert model.percentile(configs, share) == pytest.approx(np.quantile(ends, share), rel=0.01)


def test_branches_that_share_stages_are_on_the_safe_side() -> None:
    for seed in range(5):
        problem = random_problem(seed, TANGLE, Noise(0.2, 0.1))
        ratio = LatencyModel(problem).percentile((0,) * 6) / np.quantile(simulated(problem, (0,) * 6), 0.95)
        assert 0.995 < ratio < 1.05


def test_more_latency_is_never_a_lower_percentile_on_one_grid_of_cells() -> None:
    base = random_problem(1, FORK_JOIN, Noise())
    longer = replace(base, latency_ticks=base.latency_ticks + np.int32(20))
    assert LatencyModel(longer).percentile((0,) * 4) > LatencyModel(base).percentile((0,) * 4)


def test_steps_are_one_value_of_one_axis() -> None:
    start = TINY.index(2, 1, 1)
    to = {(TINY.index(2, 2, 1), 0), (TINY.index(2, 1, 2), 0), (TINY.index(1, 1, 1), 0)}
    assert set(steps(tiny(1), (start, TINY.index(1, 2, 2)))) == {(x, TINY.index(1, 2, 2)) for x, _ in to}
    assert list(steps(tiny(1), (TINY.index(1, 2, 2),) * 2)) == []


def test_greedy_by_hand() -> None:
    """From (2,1,1), (2,1,1) = 160 + 330. Stage 1 to g = 2 gains most (150); then two steps gain 70 each."""
    assert plan_orion(tiny(490)).configs == (TINY.index(2, 1, 1), TINY.index(2, 1, 1))
    assert plan_orion(tiny(489)).configs == (TINY.index(2, 1, 1), TINY.index(2, 1, 2))
    plan = plan_orion(tiny(339))
    assert plan.p95_ticks == 270
    assert plan.expansions == 2
    # stage 0 to g = 2 costs (90 + 180) * 1.374 / 2 = 185, stage 1 to b = 1 160 * 0.704 / 2 + 110 * 1.374 = 207
    assert plan.configs == (TINY.index(2, 1, 2), TINY.index(2, 1, 2))
    assert plan.cost_usd == pytest.approx((90 + 180) * 1.374 / 2 / 1e5 / 3600, rel=1e-6)


def test_greedy_lowers_the_percentile_with_every_step() -> None:
    problem = pipeline(("deblur", "super-resolution", "depth"), 0.8)
    plans = [plan_orion(problem, budget=budget) for budget in range(16)]
    percentiles = [plan.p95_ticks for plan in plans]
    assert all(before >= after for before, after in pairwise(percentiles))
    assert not plans[0].feasible
    assert plans[-1].feasible
    done = plans[-1].expansions
    assert plans[done].configs == plans[-1].configs
    assert not any(plan.feasible for plan in plans[:done])


@pytest.mark.parametrize("search", list(Search))
def test_out_of_reach_leaves_the_fastest_plan(search: Search) -> None:
    plan = plan_orion(tiny(149), search)
    assert not plan.feasible
    assert plan.configs == (TINY.index(1, 2, 2),) * 2
    assert plan.p95_ticks == 150


def test_best_first_finds_a_plan_wherever_there_is_one_and_seldom_pays_more_than_the_least() -> None:
    paid = []
    for seed in range(40):
        rng = np.random.default_rng(seed)
        gains = rng.uniform(0.55, 0.95, (3, 2))
        by_axis = [
            rng.integers(2_000, 20_000) * np.ones(8),
            gains[:, :1] ** (TINY.vcpu - 1) * gains[:, 1:] ** (TINY.vgpu - 1),
        ]
        latency = np.rint(by_axis[0] * by_axis[1] * TINY.batch ** rng.uniform(0.5, 0.95)).astype(np.int32)
        problem = PlanProblem(latency, TINY, chain(3), int(latency[:, 0].sum() * rng.uniform(0.5, 1.1)))
        model = LatencyModel(problem)
        fits = [c for c in product(range(8), repeat=3) if model.percentile(c) <= problem.slo_ticks]
        plan = plan_orion(problem, "best-first", 10**6)
        greedy = plan_orion(problem)
        assert plan.feasible == bool(fits)
        if fits:
            least = min(problem.cost_usd(c) for c in fits)
            paid.append(plan.cost_usd / least)
            assert not greedy.feasible or plan.cost_usd <= greedy.cost_usd * 1.000001
    assert len(paid) > 20
    assert min(paid) >= 1 - 1e-9
    assert max(paid) < 1.05
    assert np.mean(np.array(paid) < 1 + 1e-9) > 0.9


def test_a_budget_ends_the_search() -> None:
    problem = pipeline(("super-resolution", "segmentation", "classification"), 0.8)
    plan = plan_orion(problem, "best-first", 50)
    assert plan.expansions == 50
    assert not plan.feasible
    assert plan_orion(problem, "best-first", 2000, most_batch=1).feasible


def test_the_search_may_begin_with_a_smaller_batch() -> None:
    problem = pipeline(("super-resolution", "segmentation", "classification"), 1.2)
    plan = plan_orion(problem, most_batch=2)
    assert all(problem.grid.batch[x] <= 2 for x in plan.configs)


def test_what_is_not_legal_is_said() -> None:
    with pytest.raises(InputError, match=r"search = 'a-star'; legal: greedy, best-first"):
        plan_orion(tiny(100), "a-star")
    with pytest.raises(InputError, match=r"configuration \(3, 1, 1\)"):
        plan_orion(tiny(100), most_batch=3)
    with pytest.raises(InputError, match=r"latency_ticks has 8 configurations; legal: 100"):
        PlanProblem(np.array(LATENCY, np.int32), GRIDS["S100"], chain(2), 100)
    with pytest.raises(InputError, match=r"edge \(1, 0\)"):
        PlanProblem(np.array(LATENCY, np.int32), TINY, ((1, 0),), 100)
