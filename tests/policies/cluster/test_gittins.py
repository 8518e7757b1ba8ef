"""The Gittins index against its definition, and the orders it leads to."""

from __future__ import annotations

from dataclasses import replace
from functools import cache

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from varigym.bench.simulate import simulate
from varigym.envs.cluster.bank import make_bank
from varigym.envs.cluster.dynamics import initial_state
from varigym.envs.cluster.view import View, observe
from varigym.envs.cluster.world import prepare
from varigym.policies.cluster.catalog import find_policy
from varigym.policies.cluster.gittins import GRID, MIN_FINISHED, History, add_finished, empty_history, gittins_index
from varigym.policies.cluster.list_policy import bank_history
from varigym.scenarios.catalog import find_source
from varigym.scenarios.cluster.scenario import ClusterScenario
from worlds import SmallJob, scenarios, small_scenario

PAIRS = np.array([[0, 1], [1, 4]], np.int32)
_add_finished, _index = jax.jit(add_finished), jax.jit(gittins_index)  # compiled, as in episodes


MOST = 30
"""Jobs in a drawn history; shorter ones are filled with jobs of no cell, so that all have one shape."""
NO_CELL = 9


def history_of(rounds: list[int], app_class: int = 0, demand: int = 1) -> History:
    n = len(rounds)
    classes, demands = np.full(n, app_class, np.int32), np.full(n, demand, np.int32)
    return _add_finished(empty_history(PAIRS, online=False), classes, demands, np.array(rounds, np.int32))


def drawn_history(rounds: list[int]) -> History:
    """Of jobs of class 0 that need one GPU."""
    more = MOST - len(rounds)
    classes = np.array([0] * len(rounds) + [NO_CELL] * more, np.int32)
    history = empty_history(PAIRS, online=False)
    return _add_finished(history, classes, np.ones(MOST, np.int32), np.array(rounds + [1] * more, np.int32))


@cache
def new_view(app_class: int, demand: int) -> View:
    """Of one job that has just come."""
    world = prepare(small_scenario([SmallJob(0, demand, 60, app_class)]))
    return observe(world, initial_state(world, 8), jnp.bool_(False))


def view_of(attained: int, app_class: int = 0, demand: int = 1) -> View:
    view = new_view(app_class, demand)
    return replace(view, attained=view.attained.at[0].set(attained))


def by_definition(rounds: list[int], age: int) -> float:
    """max over d of P(X - a <= d | X > a) / E[min(X - a, d) | X > a]."""
    left = [x - age for x in rounds if x > age]
    return max(sum(x <= d for x in left) / sum(min(x, d) for x in left) for d in left)


@settings(max_examples=40)
@given(rounds=st.lists(st.integers(1, 16), min_size=MIN_FINISHED, max_size=30), age=st.integers(0, 15))
def test_index_is_the_definition_where_the_grid_is_exact(rounds: list[int], age: int) -> None:
    got = float(_index(view_of(age), drawn_history(rounds))[0])
    expected = by_definition(rounds, age) if max(rounds) > age else 1 / (age + 1)
    assert got == pytest.approx(expected)


def test_index_is_per_gpu() -> None:
    rounds = [4] * 8
    single = _index(view_of(1), history_of(rounds))[0]
    gang = _index(view_of(1, 1, 4), history_of(rounds, 1, 4))[0]
    assert float(gang) == pytest.approx(float(single) / 4)


def test_constant_service_raises_the_index_with_age_and_memoryless_service_keeps_it() -> None:
    constant = [float(_index(view_of(a), history_of([10] * 20))[0]) for a in (0, 4, 9)]
    assert constant == pytest.approx([1 / 10, 1 / 6, 1.0])
    geometric = np.random.default_rng(0).geometric(0.25, 20_000).tolist()
    memoryless = [float(_index(view_of(a), history_of(geometric))[0]) for a in (0, 3, 6)]
    assert memoryless == pytest.approx([0.25] * 3, rel=0.1)


@pytest.mark.parametrize("rounds", [[], [3] * (MIN_FINISHED - 1)])
def test_a_thin_cell_falls_back_to_attained_service(rounds: list[int]) -> None:
    assert float(_index(view_of(5, 1, 4), history_of(rounds, 1, 4))[0]) == pytest.approx(1 / 21)


def test_pairs_without_a_cell_are_never_counted() -> None:
    history = history_of([2] * 9, app_class=3, demand=7)
    assert float(jnp.sum(history.finished)) == 0
    assert int(history.seen) == 9


@given(scenario=scenarios(jobs=4))
def test_without_history_gittins_is_las_2d(scenario: ClusterScenario) -> None:
    """Fewer than five jobs can finish, so that no cell is ever known."""
    jct_s = [simulate(scenario, f"{order}+pal+backfill")[0].jobs.jct_s for order in ("gittins", "las-2d")]
    assert (jct_s[0] == jct_s[1]).all()


def test_a_real_trace_teaches_online() -> None:
    """Jobs of class A need 1 round, of class B 20. After five of each, a new A goes before a new B."""
    lessons = [SmallJob(0, 1, 60, 0) for _ in range(6)] + [SmallJob(0, 1, 1200, 1) for _ in range(6)]
    contest = [SmallJob(60_000, 9, 1200, 1), SmallJob(60_000, 9, 60, 0)]
    more = [SmallJob(0, 9, 1200, 1) for _ in range(5)] + [SmallJob(0, 9, 60, 0) for _ in range(5)]
    world = small_scenario([*lessons, *more, *contest], locality_penalty=(1, 1))
    gittins, las = (simulate(world, f"{order}+packed")[0].jobs.start_s[-2:] for order in ("gittins", "las-2d"))
    assert gittins.tolist() == [60_060, 60_000]
    assert las.tolist() == [60_000, 60_060]


def test_a_bank_s_history_counts_the_train_jobs() -> None:
    source = find_source("sia-64")
    history = bank_history(make_bank([source.build(200_000)], source.history()))
    assert not bool(history.online)
    assert float(history.finished[:, -1].sum()) == 32 * 160
    wide = (np.asarray(history.cell_class) == 3) & (np.asarray(history.cell_demand) == 16)
    # PointNet on 16 GPUs always spans nodes: ideal time x 1.7, in rounds of 360 s, at most 878 * exp(jitter) s.
    assert float(history.service[wide, -1].sum() / history.finished[wide, -1].sum()) == pytest.approx(2.1, abs=0.4)
    assert GRID[-1] > 10_000


def test_gittins_beats_las_2d_on_its_own_scenario() -> None:
    seeds = range(200_000, 200_008)
    means = {
        order: np.mean([r.jobs.jct_s.mean() for r in simulate("sia-64", f"{order}+pal+backfill", seeds)])
        for order in ("gittins", "las-2d")
    }
    assert means["gittins"] < means["las-2d"]
    assert find_policy("gittins+pal").information == "non-clairvoyant"
