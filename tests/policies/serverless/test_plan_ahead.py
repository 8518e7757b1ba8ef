"""Aquatope's plans from several processes: the same ones, no JAX, nothing left behind."""

from __future__ import annotations

import subprocess
import sys
import time
from collections.abc import Iterator
from concurrent.futures.process import BrokenProcessPool
from contextlib import contextmanager
from dataclasses import replace
from importlib.util import find_spec
from multiprocessing import active_children
from pathlib import Path

import pytest
from varigym.policies.serverless.catalog import find_scheduler
from varigym.policies.serverless.planning import ahead as plan_ahead
from varigym.policies.serverless.planning.ahead import make_plans
from varigym.policies.serverless.planning.aquatope import (
    AquatopePlan,
    AquatopeSettings,
    aquatope_plans,
    keep,
    plan_path,
)
from varigym.policies.serverless.planning.cache import CacheNotice
from varigym.policies.serverless.planning.problem import PlanProblem
from varigym.scenarios.catalog import find_source
from varigym.scenarios.serverless.configs import ConfigGrid
from varigym.scenarios.serverless.workflows import chain

SHORT = AquatopeSettings(initial=4, rounds=1, pool=64)
GRID = ConfigGrid((1, 2), (1, 2), (1, 2))


def problem(slo_ticks: int = 20_000) -> PlanProblem:
    return PlanProblem([[12_000 - 900 * x for x in range(8)]] * 2, GRID, chain(2), slo_ticks)  # type: ignore[arg-type]


@pytest.fixture
def asked(monkeypatch: pytest.MonkeyPatch) -> list[tuple[int, int]]:
    """(workers, seed) of every plan that processes are asked for; none is started."""
    made: list[tuple[int, int]] = []

    class Done:
        def __init__(self, plan: AquatopePlan) -> None:
            self.result = lambda: plan

    class Pool:
        def __init__(self, workers: int) -> None:
            self.workers = workers

        def submit(self, work: object, problem: PlanProblem, seed: int, settings: AquatopeSettings) -> Done:
            made.append((self.workers, seed))
            return Done(AquatopePlan((seed,) * problem.stages, 100.5, 1e-6, True, 70, 3, 4000.0))

    @contextmanager
    def workers(count: int) -> Iterator[Pool]:
        yield Pool(count)

    monkeypatch.setattr(plan_ahead, "_workers", workers)
    monkeypatch.setattr(plan_ahead, "as_completed", list)
    return made


def test_what_is_missing_is_made_once_and_kept(asked: list[tuple[int, int]], tmp_path: Path) -> None:
    said: list[str] = []
    problems = [problem(), problem(), problem(21_000)]
    keep(plan_path(problem(), 1, SHORT, tmp_path), AquatopePlan((1, 1), 1.0, 1.0, True, 1, 0, 1.0))
    make_plans(problems, range(3), SHORT, 2, tmp_path, said.append)
    assert sorted(asked) == [(2, 0), (2, 0), (2, 1), (2, 2), (2, 2)]
    assert said == [f"5 plans of Aquatope are made by 2 processes, once, and kept in {tmp_path}"]
    assert [plan.configs for plan in aquatope_plans(problem(), range(3), SHORT, tmp_path)] == [(0, 0), (1, 1), (2, 2)]
    make_plans(problems, range(3), SHORT, 2, tmp_path, said.append)
    assert len(asked) == 5


@pytest.mark.parametrize(("processes", "seeds"), [(1, 3), (4, 1), (4, 0)])
def test_one_process_or_one_plan_starts_none(
    asked: list[tuple[int, int]], tmp_path: Path, processes: int, seeds: int
) -> None:
    make_plans([problem()], range(seeds), SHORT, processes, tmp_path)
    assert asked == []


def test_no_more_processes_than_plans(asked: list[tuple[int, int]], tmp_path: Path) -> None:
    make_plans([problem()], range(3), SHORT, 64, tmp_path)
    assert {workers for workers, _ in asked} == {3}
    make_plans([problem(21_000)], range(30), SHORT, 64, tmp_path)
    assert {workers for workers, _ in asked[3:]} == {plan_ahead.MOST_PROCESSES}


def test_a_policy_asks_for_what_it_binds(
    asked: list[tuple[int, int]], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from varigym.envs.serverless.bank import make_bank

    monkeypatch.setenv("VARIGYM_CACHE", str(tmp_path))
    world, policy = find_source("tiny-serverless").build(0), find_scheduler("aquatope:plans=3:margin=0.9")
    policy.plan_ahead([world, world], 2)  # type: ignore[attr-defined]
    assert len(asked) == 3 * len(world.workflows)
    assert policy.bind(make_bank([world])).plan.tolist() == [[seed] * 3 for seed in range(3)]


def test_an_ended_process_is_said_and_others_go_on(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    @contextmanager
    def broken(count: int) -> Iterator[None]:
        raise BrokenProcessPool("killed")
        yield

    monkeypatch.setattr(plan_ahead, "_workers", broken)
    with pytest.warns(CacheNotice, match="a planning process was ended; its plans are made in this one"):
        make_plans([problem()], range(2), SHORT, 2, tmp_path)


@pytest.mark.skipif(find_spec("botorch") is None, reason="the extra `aquatope` is not installed")
def test_two_processes_make_the_plans_that_one_makes(tmp_path: Path) -> None:
    make_plans([problem()], range(2), SHORT, 2, tmp_path / "two")
    assert len(list((tmp_path / "two").rglob("*.json"))) == 2
    one, two = (
        [replace(plan, ms=0.0) for plan in aquatope_plans(problem(), range(2), SHORT, tmp_path / name)]
        for name in ("one", "two")
    )
    assert one == two
    assert not list(tmp_path.rglob("*.tmp"))


def _interrupted(others: set[object]) -> None:
    with plan_ahead._workers(2) as pool:
        with plan_ahead._unheard_interrupts():
            for _ in range(4):
                pool.submit(time.sleep, 300)
        assert len(set(active_children()) - others) == 2
        raise KeyboardInterrupt


def test_an_interrupt_ends_all_processes_at_once() -> None:
    began, others = time.perf_counter(), set(active_children())
    with pytest.raises(KeyboardInterrupt):
        _interrupted(set(others))
    assert set(active_children()) == others
    assert time.perf_counter() - began < 60


def test_a_planning_process_needs_no_jax() -> None:
    code = "import sys, varigym.policies.serverless.planning.ahead\nassert 'jax' not in sys.modules"
    subprocess.run([sys.executable, "-c", code], check=True, timeout=60)
