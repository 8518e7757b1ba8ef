"""The learned ESG: untrained it is ESG, trained it goes by its weights, on any platform."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from functools import cache, partial
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax import lax
from serverless_schedulers import decisions, record_of
from serverless_small import CHAIN, FORK, small_world
from varigym.bench.serverless.benchmarks import SETTINGS
from varigym.envs.serverless.bank import make_bank, padded
from varigym.envs.serverless.decisions import decide
from varigym.envs.serverless.dispatch import site_of
from varigym.envs.serverless.dynamics import initial_state, settle
from varigym.envs.serverless.state import TICKS_PER_S, State
from varigym.envs.serverless.view import View, observe
from varigym.envs.serverless.world import rows
from varigym.policies.serverless.catalog import find_scheduler
from varigym.policies.serverless.costs import NO_PATH
from varigym.policies.serverless.esg.features import FEATURES, NAMES, esg_features
from varigym.policies.serverless.esg.learned import LearnedData, LearnedEsg, choose, levers, untrained
from varigym.policies.serverless.esg.levers import (
    BUSY,
    GAIN,
    LATENESS,
    LEVERS,
    SPARE,
    Lever,
    gives_up,
    goal,
    holds,
    tilted,
)
from varigym.policies.serverless.esg.replanning import Esg
from varigym.policies.serverless.esg.scoring import choose as choose_esg
from varigym.policies.serverless.esg.scoring import target
from varigym.scenarios.catalog import find_source
from varigym.scenarios.errors import InputError
from varigym.scenarios.seeds import HELD_OUT
from varigym.scenarios.serverless.scenario import ServerlessScenario
from varigym.scenarios.serverless.source import ServerlessSynthetic

SHORT = {"warmup_s": 0.0, "measured_s": 3.0, "drain_s": 1.0}


def esg(name: str = "esg") -> Esg:
    found = find_scheduler(name)
    assert isinstance(found, Esg)
    return found


@cache
def world(name: str) -> ServerlessScenario:
    source = find_source(name)
    assert isinstance(source, ServerlessSynthetic)
    return replace(source, arrivals=replace(source.arrivals, **SHORT)).build(HELD_OUT.first)


@partial(jax.jit, static_argnums=0)
def both(steps: int, world: Any, data: Any, learned: LearnedData) -> tuple[jax.Array, jax.Array]:
    """ESG's actions and the learned ESG's [steps] along ESG's episode; -1 once it is over."""

    def step(state: State, _: None) -> tuple[State, tuple[jax.Array, jax.Array]]:
        site = site_of(world, state)
        view = observe(world, state, site)
        action, other = choose_esg(data, view).action, choose(learned, view).action
        over = state.cursor < 0
        after = settle(world, decide(world, state, site, action))
        state = jax.tree.map(lambda old, new: jnp.where(over, old, new), state, after)
        return state, (jnp.where(over, -1, action), jnp.where(over, -1, other))

    return lax.scan(step, settle(world, initial_state(world, 128, 0)), None, steps)[1]


def always(**levers: float) -> dict[str, Any]:
    """Weights of a network that says the same at every visit."""
    weights = untrained(0, 2)
    for name, value in levers.items():
        weights["b2"][Lever[name.upper()]] = value / GAIN[Lever[name.upper()]]
    return weights


def at(*, waited: int, slo: int, length: int = 1, queue: int = 0) -> tuple[LearnedData, View]:
    """Bound data, and a visit on a platform where nothing else waits and nothing runs."""
    scenario = world("strict-heavy")
    data = LearnedEsg(esg(), untrained(0, 2)).bind(make_bank([scenario]))
    view = next(view for _, view, _ in decisions(esg(), small_world(0)))
    number = np.arange(len(scenario.queues)) == queue
    return data, replace(
        view,
        queue=jnp.int32(queue),
        workflow=jnp.int32(scenario.queues[queue][0]),
        length=jnp.int32(length),
        waited=jnp.int32(waited),
        slack=jnp.int32(slo - waited),
        fails=jnp.int32(0),
        lengths=jnp.asarray(length * number, jnp.int32),
        free_vcpu=jnp.asarray(scenario.vcpu),
        free_vgpu=jnp.asarray(scenario.vgpu),
        legal=jnp.asarray(scenario.grid.batch <= length),
        rate_per_s=jnp.float32(20),
    )


@pytest.mark.parametrize("setting", SETTINGS)
def test_an_untrained_network_is_esg_on_every_setting(setting: str) -> None:
    bank = padded(make_bank([world(setting)]))
    data, learned = (scheduler.bind(bank) for scheduler in (esg(), LearnedEsg(esg(), untrained(3))))
    pair = both(1200, rows(bank.worlds, jnp.int32(0)), data, learned)
    assert len(set(pair[0].tolist())) > 2
    assert (pair[0] == pair[1]).all()


@pytest.mark.parametrize("name", ["esg", "esg-literal", "esg:k=1:margin=1.2", "esg:retries=2"])
@pytest.mark.parametrize("seed", [0, 3])
def test_an_untrained_network_is_its_expert_decision_by_decision(name: str, seed: int) -> None:
    pairs = [decisions(scheduler, small_world(seed)) for scheduler in (esg(name), LearnedEsg(esg(name), untrained(1)))]
    assert [int(d.action) for *_, d in pairs[0]] == [int(d.action) for *_, d in pairs[1]]


@pytest.mark.parametrize("seed", range(3))
def test_whatever_the_weights_say_is_legal(seed: int) -> None:
    """`decisions` asserts it."""
    lots = np.random.default_rng(seed)
    weights = {name: 3 * lots.standard_normal(value.shape) for name, value in untrained(0, 2).items()}
    episode = record_of(LearnedEsg(esg(), weights), small_world(seed))
    assert len(episode.tasks.queue) + episode.requests.shed.sum() > 0


def test_weights_of_one_platform_run_on_another() -> None:
    """Chains of two workflows, and workflows that fork."""
    lots = np.random.default_rng(0)
    policy = LearnedEsg(esg(), {name: lots.standard_normal(value.shape) for name, value in untrained(0).items()})
    for shape in (CHAIN, FORK):
        made = record_of(policy, small_world(2, shape))
        assert len(made.tasks.queue) + made.requests.shed.sum() > 0


def test_all_weights_share_one_program() -> None:
    assert LearnedEsg(esg(), untrained(0)).program is LearnedEsg(esg("esg:k=1"), untrained(1)).program


def test_late_requests_are_given_up_by_the_lever() -> None:
    """The first stage begins at share 0: behind by 100 of 1000 ticks, given up once `LATENESS` / (e^x - 1) < 0.1."""
    data, view = at(waited=100, slo=1000)
    just = np.log1p(LATENESS / 0.1)
    for late, expected in ((0.0, False), (-1.0, False), (just - 0.01, False), (just + 0.01, True)):
        assert bool(gives_up(data.facts, view, jnp.zeros(LEVERS).at[Lever.LATE].set(late))) is expected
    on_time = replace(view, waited=jnp.int32(0), slack=jnp.int32(1000))
    assert not bool(gives_up(data.facts, on_time, jnp.zeros(LEVERS).at[Lever.LATE].set(5.0)))


def test_giving_up_late_requests_sheds_them() -> None:
    made = [record_of(LearnedEsg(esg(), always(late=late)), small_world(0)).requests for late in (0.0, 4.0)]
    assert made[0].shed.sum() == 0 < made[1].shed.sum()


def test_a_lone_request_with_time_to_spare_is_held_by_the_lever() -> None:
    """Slack, once another has come, is 1.5 times the cheapest way to the end; `SPARE` / (e^x - 1) < log 1.5 waits."""
    data, view = at(waited=0, slo=1)
    gap, full = TICKS_PER_S / float(view.rate_per_s), jnp.zeros_like(view.free_vgpu)
    view = replace(view, free_vgpu=full, slack=jnp.int32(gap + 1.5 * float(data.facts.cheapest_end[0])))
    just = np.log1p(SPARE / np.log(1.5))
    for hold, expected in ((0.0, False), (-1.0, False), (just - 0.01, False), (just + 0.01, True), (9.0, True)):
        lever = jnp.zeros(LEVERS).at[Lever.HOLD].set(hold)
        assert bool(holds(data.facts, view, lever)) is expected
        assert not bool(holds(data.facts, replace(view, length=jnp.int32(2)), lever))
        assert not bool(holds(data.facts, replace(view, slack=jnp.int32(-5)), lever))
    free = full.at[0].set(int(np.ceil(BUSY * float(data.facts.vgpus))))
    for there, expected in ((free, False), (free.at[0].add(-1), True)):
        assert bool(holds(data.facts, replace(view, free_vgpu=there), lever)) is expected


def test_requests_that_wait_for_each_other_share_tasks() -> None:
    """Where next to no vGPU is free for most of the time."""
    policies = [LearnedEsg(esg(), always(hold=hold)) for hold in (0.0, 2.0)]
    made = [record_of(policy, world("overload:invokers=4:load=1.0")).tasks for policy in policies]
    assert (made[1].batch > 1).mean() > (made[0].batch > 1).mean() + 0.05


def test_the_target_under_the_levers() -> None:
    data, view = at(waited=0, slo=100_000)
    own, rest = float(target(data.esg, view)), float(data.facts.fastest_rest[0])

    def moved(**given: float) -> float:
        lever = jnp.zeros(LEVERS)
        for name, value in given.items():
            lever = lever.at[Lever[name.upper()]].set(value)
        return float(goal(data.esg, data.facts, view, lever))

    assert moved() == moved(rescue=1) == own
    assert moved(margin=np.log(1.1)) == pytest.approx(1.1 * own, rel=1e-5)
    assert moved(borrow=1) == pytest.approx(100_000 - rest, rel=1e-5)
    late = replace(view, waited=jnp.int32(99_000), slack=jnp.int32(1_000))
    assert float(goal(data.esg, data.facts, late, jnp.zeros(LEVERS).at[Lever.RESCUE].set(1))) == 1_000 - rest
    assert float(goal(data.esg, data.facts, late, jnp.zeros(LEVERS))) == float(target(data.esg, late))


def test_costs_are_tilted_and_left_alone_without_a_lever() -> None:
    cost = jnp.asarray([[2**30 - 5], [2**25 + 1], [100], [NO_PATH]], jnp.int32)
    tilt = jnp.log(jnp.asarray([[1.0, 2.0, 4.0, 4.0]] + [[1.0] * 4] * 3))
    assert (tilted(cost, tilt, jnp.zeros(LEVERS)) == cost).all()
    dearer = np.asarray(tilted(cost, tilt, jnp.zeros(LEVERS).at[Lever.BATCH].set(0.5)))[:, 0]
    assert dearer[[0, 2, 3]].tolist() == [2**30 - 5, 200, NO_PATH]
    assert dearer[1] == pytest.approx(np.sqrt(2) * 2**25, rel=1e-6)
    assert np.asarray(tilted(cost, tilt, jnp.zeros(LEVERS).at[Lever.BATCH].set(99.0)))[:3].max() < NO_PATH


def test_the_network_says_its_levers() -> None:
    data, view = at(waited=10, slo=1000)
    said = levers(LearnedEsg.rebind(data, always(late=1.5, vgpu=-0.2)), view)
    assert said[Lever.LATE] == pytest.approx(1.5)
    assert said[Lever.VGPU] == pytest.approx(-0.2)
    assert said[Lever.MARGIN] == 0


def test_features_by_hand() -> None:
    data, view = at(waited=25_000, slo=100_000, length=3)
    seen = dict(zip(NAMES, np.asarray(esg_features(data.facts, view, jnp.int32(30_000))).tolist(), strict=True))
    fastest = np.array([function.latency_ms.min() for function in world("strict-heavy").functions]) * 100
    assert seen["slack over SLO"] == pytest.approx(0.75)
    way = fastest[:3].sum()  # image classification is the first three functions
    assert seen["slack against the fastest way to the end, log"] == pytest.approx(np.log(75_000 / way), abs=1e-4)
    assert seen["T* against the fastest way through the group, log"] == pytest.approx(np.log(30_000 / way), abs=1e-4)
    assert seen["time ahead of the stage's planned begin, over SLO"] == pytest.approx(-0.25)
    assert seen["jobs in the queue, log"] == pytest.approx(np.log(4) / 3)
    assert seen["jobs in the queue against those that arrive within the SLO, log"] == pytest.approx(np.log(1 + 3 / 20))
    assert (seen["entry stage"], seen["last stage"], seen["free vGPUs"], seen["one"]) == (1, 0, 1, 1)


def test_features_are_small_numbers() -> None:
    made = LearnedEsg(esg(), untrained(0, 2))
    scenario = small_world(1)
    data, look = made.bind(make_bank([scenario])), jax.jit(esg_features)
    table = [look(data.facts, view, target(data.esg, view)) for _, view, _ in decisions(made, scenario)]
    assert np.isfinite(table).all()
    assert np.abs(table).max() < 6


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"w1": np.zeros((FEATURES + 1, 8))}, r"weight w1 has shape \[\d+, 8\]; legal: w1 \["),
        ({"w2": np.zeros(3)}, r"weight w2 has shape \[3\]"),
        ({"b2": np.full(LEVERS, np.nan)}, "weight b2 is not finite"),
        ({"w3": np.zeros(3)}, "weights of a learned ESG: w1, b1, w2, b2, w3; legal"),
    ],
)
def test_foreign_weights_are_refused(change: Mapping[str, Any], message: str) -> None:
    with pytest.raises(InputError, match=message):
        LearnedEsg(esg(), {**untrained(0), **change})


def test_an_expert_that_is_not_esg_is_refused() -> None:
    with pytest.raises(InputError, match="expert 'infless'; legal: esg"):
        LearnedEsg(find_scheduler("infless"), untrained(0))  # type: ignore[arg-type]
