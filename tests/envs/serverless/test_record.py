"""Records: from a log, against the plain reference, and against the ledger that the platform keeps itself."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from reference.serverless_reference import ReferenceWorld
from serverless_worlds import random_policy, random_world
from varigym.envs.serverless.bank import Bank, make_bank
from varigym.envs.serverless.episode import Outcome, begin, go_on, outcome_of
from varigym.envs.serverless.metrics import metrics_of
from varigym.envs.serverless.record import NOBODY, Record, make_record
from varigym.envs.serverless.view import Decision, View
from varigym.scenarios.serverless.scenario import ServerlessScenario

SEEDS = range(60)


def reference(scenario: ServerlessScenario, seed: int) -> ReferenceWorld:
    """The reference at the end of an episode under a random policy."""
    world, policy = ReferenceWorld(scenario), random_policy(seed)
    visits = 0
    while world.visit() is not None:
        world.take(policy(visits, world.legal()))
        visits += 1
    return world


def reference_outcome(world: ReferenceWorld) -> Outcome:
    """What the fast platform would give: a row per task, and one per shed request."""
    configs, most = len(world.configs), max(world.scenario.grid.batches)
    rows = [
        [t.start, t.end, t.billed, t.cold, t.queue, t.invoker, t.config, len(t.members), *_filled(t.members, most)]
        for t in world.log
    ]
    shed = [request.index for request in world.requests if request.shed]
    rows += [[0, 0, 0, 0, 0, -1, configs + 1, 1, *_filled([index], most)] for index in shed]
    log = np.array(rows, np.int32).reshape(-1, 8 + most)
    return Outcome(log, end=world.now, truncated=world.truncated, visits=len(rows), misses=0, seconds=1.0)


def _filled(members: list[int], most: int) -> list[int]:
    """Behind the batch stands what the queue held then, which is nobody's business."""
    return members + [0] * (most - len(members))


@pytest.fixture(scope="module", params=SEEDS)
def pair(request: pytest.FixtureRequest) -> tuple[ReferenceWorld, Record]:
    scenario = random_world(request.param)
    world = reference(scenario, request.param)
    return world, make_record(scenario, "random", request.param, reference_outcome(world))


def test_every_counted_request_is_as_in_the_reference(pair: tuple[ReferenceWorld, Record]) -> None:
    world, record = pair
    expected, found = [r for r in world.requests if r.counted], record.requests
    assert found.request_id.tolist() == [r.index for r in expected]
    assert found.workflow.tolist() == [world.scenario.workflows[r.workflow].name for r in expected]
    finish = [np.nan if r.finish is None else r.finish / 100 for r in expected]
    np.testing.assert_array_equal(found.finish_ms, finish)
    np.testing.assert_array_equal(found.arrival_ms, [r.arrival / 100 for r in expected])
    latency = [np.nan if r.latency is None else r.latency / 100 for r in expected]
    np.testing.assert_array_equal(found.latency_ms, latency)
    assert found.hit.tolist() == [r.hit for r in expected]
    assert found.shed.tolist() == [r.shed for r in expected]
    assert found.cold_starts.tolist() == [r.cold_starts for r in expected]
    np.testing.assert_allclose(found.cost_usd, [r.cost_usd for r in expected], rtol=1e-12, atol=0)


def test_metrics_are_those_of_the_reference(pair: tuple[ReferenceWorld, Record]) -> None:
    world, record = pair
    counted = [r for r in world.requests if r.counted]
    served = [r for r in counted if r.finish is not None]
    found = metrics_of(record)
    assert found["hit_rate"] == sum(r.hit for r in counted) / len(counted)
    assert found["served"] == len(served) / len(counted)
    assert found["shed"] == sum(r.shed for r in counted) / len(counted)
    assert found["unfinished"] == sum(not r.ended for r in counted)
    assert found["cold_starts"] == sum(t.cold and any(r.counted for r in t.requests) for t in world.log)
    if served:
        assert found["cost_usd_per_request"] == pytest.approx(sum(r.cost_usd for r in counted) / len(served), rel=1e-12)
    else:
        assert np.isnan([found["cost_usd_per_request"], found["p50_latency_over_slo"]]).all()


def test_tasks_hold_no_more_than_an_invoker_has(pair: tuple[ReferenceWorld, Record]) -> None:
    world, record = pair
    tasks, grid = record.tasks, world.scenario.grid
    assert (tasks.decided_ms <= tasks.start_ms).all()
    for held, there in ((grid.vgpu, world.scenario.vgpu), (grid.vcpu, world.scenario.vcpu)):
        for i in range(world.scenario.invokers):
            mine = tasks.invoker == i
            share, begin_ms, end_ms = held[tasks.config[mine]], tasks.decided_ms[mine], tasks.end_ms[mine]
            for now in begin_ms:
                assert share[(begin_ms <= now) & (now < end_ms)].sum() <= there[i]


def test_a_request_is_once_in_every_stage_at_most(pair: tuple[ReferenceWorld, Record]) -> None:
    _, record = pair
    jobs = Counter(
        (int(queue), int(member))
        for queue, members in zip(record.tasks.queue, record.tasks.members, strict=True)
        for member in members
        if member != NOBODY
    )
    assert set(jobs.values()) <= {1}
    assert not (record.requests.shed & record.requests.hit).any()


@dataclass(frozen=True)
class AnyLegal:
    """Any legal configuration, sometimes WAIT, rarely DROP."""

    def start(self, data: Any, key: jax.Array) -> tuple[()]:
        return ()

    def act(self, data: Any, view: View, memory: tuple[()], key: jax.Array) -> tuple[Decision, tuple[()]]:
        weight = jnp.concatenate([jnp.where(view.legal, 1.0, 0.0), jnp.array([0.3, 0.05])])
        action = jax.random.categorical(key, jnp.log(weight)).astype(jnp.int32)
        return Decision(action, jnp.bool_(False)), memory


def banks_of_one_shape() -> list[Bank]:
    """Those of the shape that most random worlds with forks have: one compilation."""
    by_shape: dict[str, list[Bank]] = {}
    for seed in range(150):
        bank = make_bank([random_world(seed, structures=1)])
        if bank.worlds.successors.shape[-1] > 1:
            by_shape.setdefault(str(jax.tree.map(jnp.shape, bank.worlds)), []).append(bank)
    return max(by_shape.values(), key=len)


def test_the_ledger_of_the_platform_says_the_same() -> None:
    program, first = AnyLegal(), jnp.int32(0)

    @jax.jit
    def run(worlds: Any, key: jax.Array) -> Any:
        carry = begin(program, 64, 1024, worlds, first, (), key)
        return go_on(program, carry, worlds, first, (), key).state

    served, banks = 0, banks_of_one_shape()
    for seed, bank in enumerate(banks):
        state = run(bank.worlds, jax.random.key(seed))
        found, tally = make_record(bank.scenarios[0], "any", seed, outcome_of(state, 0, 1.0)).requests, state.tally
        served += int(tally.served)
        assert int(tally.served) == np.isfinite(found.finish_ms).sum()
        assert int(tally.hits) == found.hit.sum()
        assert int(tally.shed) == found.shed.sum()
        assert float(tally.new_usd) == pytest.approx(found.cost_usd.sum(), rel=1e-12)
    assert len(banks) >= 5
    assert served > 20
