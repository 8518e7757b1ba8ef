"""Decisions of the baselines by hand, and what holds on every view."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from varigym.envs.serverless.bank import Bank, make_bank
from varigym.envs.serverless.view import Decision, View
from varigym.policies.serverless.baselines.infless import efficiency
from varigym.policies.serverless.baselines.static_plan import PlanData, follow
from varigym.policies.serverless.catalog import find_scheduler
from varigym.scenarios.errors import InputError
from varigym.scenarios.serverless.configs import GRIDS, ConfigGrid
from varigym.scenarios.serverless.requests import make_requests
from varigym.scenarios.serverless.scenario import ServerlessScenario
from varigym.scenarios.serverless.workflows import Function, Workflow, chain

# (batch, vCPU, vGPU)     111    112    121    122    211    212    221    222
LATENCY_MS = np.array([100.0, 60.0, 90.0, 54.0, 120.0, 80.0, 110.0, 72.0])
GRID = ConfigGrid((1, 2), (1, 2), (1, 2))
ONE, ONE_G2, ONE_C2, ONE_C2_G2, TWO, TWO_G2, TWO_C2, TWO_C2_G2 = range(8)
WAIT = 8
ALL = list(range(8))
SINGLES = ALL[:4]


def bank_of(slo_ms: float = 400.0, grid: ConfigGrid = GRID, latency_ms: Any = LATENCY_MS) -> Bank:
    """One function, alone in its workflow; two invokers of 2 vCPUs and 2 vGPUs."""
    return make_bank([scenario_of(slo_ms, grid, latency_ms)])


def scenario_of(slo_ms: float, grid: ConfigGrid = GRID, latency_ms: Any = LATENCY_MS) -> ServerlessScenario:
    size = np.array([max(grid.vcpus[-1], 2)] * 2, np.int32), np.array([max(grid.vgpus[-1], 2)] * 2, np.int32)
    return ServerlessScenario(
        "toy",
        grid,
        (Function("f", np.asarray(latency_ms, np.float64), 1000.0, 0.0),),
        (Workflow("single", (0,), (), slo_ms),),
        *size,
        make_requests(np.zeros(1), np.zeros(1, np.int32), (0.0, 1.0)),
        1000.0,
        (0.0, 1.0),
    )


def view_of(
    length: int,
    legal: list[int],
    waited_ms: float = 0.0,
    slo_ms: float = 400.0,
    rate_per_s: float = 1000.0,
    free_vgpu: tuple[int, int] = (2, 2),
    configs: int = 8,
) -> View:
    zero, waited = jnp.int32(0), round(waited_ms * 100)
    return View(
        queue=zero,
        workflow=zero,
        function=zero,
        length=jnp.int32(length),
        fails=zero,
        waited=jnp.int32(waited),
        slack=jnp.int32(round(slo_ms * 100) - waited),
        legal=jnp.zeros(configs, bool).at[jnp.array(legal, jnp.int32)].set(bool(legal)),
        rate_per_s=jnp.float32(rate_per_s),
        lengths=jnp.array([length], jnp.int32),
        free_vcpu=jnp.array([2, 2], jnp.int32),
        free_vgpu=jnp.array(free_vgpu, jnp.int32),
        now=jnp.int32(100_000),
    )


def decided(name: str, view: View, bank: Bank) -> tuple[int, bool]:
    scheduler = find_scheduler(name)
    data, key = scheduler.bind(bank), jax.random.key(0)
    decision, _ = scheduler.program.act(data, view, scheduler.program.start(data, key), key)
    return int(decision.action), bool(decision.missed)


# --- fixed plans ---


@pytest.mark.parametrize(
    ("name", "legal", "action"),
    [
        ("min-config", ALL, ONE),
        ("min-config", [ONE_G2, TWO], WAIT),
        ("max-config", ALL, ONE_C2_G2),
        ("max-config", [ONE, ONE_G2, ONE_C2], WAIT),
        ("min-config", [], WAIT),
    ],
)
def test_fixed_plans_wait_for_their_configuration(name: str, legal: list[int], action: int) -> None:
    assert decided(name, view_of(3, legal), bank_of()) == (action, False)


# --- static plans ---


def plan_data(plan: int, grid: ConfigGrid = GRID, gives_up: bool = False) -> PlanData:
    """Follows `plan`; the cheapest is the first, and 54 ms are the least that the stage takes."""
    return PlanData(
        plan=jnp.array([[plan]], jnp.int32),
        batch=jnp.asarray(grid.batch),
        vcpu=jnp.asarray(grid.vcpu),
        vgpu=jnp.asarray(grid.vgpu),
        remaining=jnp.array([5400], jnp.int32),
        cheap=jnp.arange(grid.size, dtype=jnp.int32)[None],
        strict=jnp.bool_(False),
        gives_up=jnp.bool_(gives_up),
        delay=jnp.int32(0),
    )


def followed(data: PlanData, view: View) -> tuple[int, bool]:
    decision = follow(data, view, data.plan[0, view.queue])
    return int(decision.action), bool(decision.missed)


@pytest.mark.parametrize(
    ("length", "legal", "action", "missed"),
    [
        (2, ALL, TWO_C2_G2, False),  # as planned
        (5, ALL, TWO_C2_G2, False),
        (1, SINGLES, ONE_C2_G2, True),  # the batch is larger than the queue: the same shares, fewer requests
        (2, [x for x in ALL if x not in (ONE_C2_G2, TWO_C2_G2)], TWO_G2, True),  # no such shares: more vGPUs first,
        (2, [ONE, ONE_C2, TWO, TWO_C2], TWO_C2, True),  # then more vCPUs
        (2, [ONE_C2_G2, ONE, TWO], ONE_C2_G2, True),  # the same shares go before the same batch
        (2, [ONE, TWO], TWO, True),
        (1, [ONE], ONE, True),
        (1, [], WAIT, False),  # nothing was used instead: no miss
    ],
)
def test_the_nearest_configuration_is_used_when_the_planned_one_cannot_be(
    length: int, legal: list[int], action: int, missed: bool
) -> None:
    assert followed(plan_data(TWO_C2_G2), view_of(length, legal)) == (action, missed)


def test_nothing_larger_than_planned_is_used() -> None:
    assert followed(plan_data(ONE_G2), view_of(2, [ONE_C2, ONE_C2_G2, TWO, TWO_G2])) == (WAIT, False)
    assert followed(plan_data(ONE_G2), view_of(2, [ONE, ONE_C2, ONE_C2_G2, TWO, TWO_G2])) == (ONE, True)


def test_of_equal_vgpu_shares_the_largest_vcpu_share_is_used() -> None:
    """Planned 8 vCPUs; of 1, 2 and 4 the last is nearest."""
    grid = GRIDS["S100"]
    planned = grid.index(1, 8, 7)
    legal = [grid.index(1, c, g) for c in (1, 2, 4) for g in (1, 2)]
    view = view_of(1, legal, configs=grid.size)
    assert followed(plan_data(planned, grid), view) == (grid.index(1, 4, 2), True)


def test_a_request_that_is_lost_gets_the_cheapest_and_that_is_no_miss() -> None:
    data = plan_data(TWO_C2_G2, gives_up=True)
    assert followed(data, view_of(2, ALL, waited_ms=346.0)) == (TWO_C2_G2, False)  # 54 ms are left
    assert followed(data, view_of(2, ALL, waited_ms=346.01)) == (ONE, False)
    assert followed(data, view_of(2, ALL[2:], waited_ms=500.0)) == (ONE_C2, False)
    assert followed(data, view_of(2, [], waited_ms=500.0)) == (WAIT, False)


def test_missed_says_that_another_configuration_than_the_planned_one_runs() -> None:
    rng = np.random.default_rng(0)
    for _ in range(300):
        planned, length = int(rng.integers(8)), int(rng.integers(1, 4))
        legal = [x for x in ALL if rng.random() < 0.6 and GRID.batch[x] <= length]
        action, missed = followed(plan_data(planned), view_of(length, legal))
        assert action in [*legal, WAIT]
        assert missed == (action not in (planned, WAIT))
        assert (action == planned) == (planned in legal)
        if action == WAIT:
            smaller = [x for x in legal if (GRID.vcpu[x], GRID.vgpu[x]) <= (GRID.vcpu[planned], GRID.vgpu[planned])]
            assert not [
                x for x in smaller if GRID.batch[x] <= GRID.batch[planned] and GRID.vgpu[x] <= GRID.vgpu[planned]
            ]


def test_orion_plans_what_its_planner_says_and_margin_makes_it_plan_for_less() -> None:
    """Greedy from (2, 1, 1) = 120 ms. Within 125: itself; within 100 the step that gains most, to two vGPUs: 80."""
    bank = bank_of(slo_ms=125.0)
    for margin, plan in ((1.0, TWO), (0.8, TWO_G2)):
        assert find_scheduler(f"orion:noise_cv=0:margin={margin}").bind(bank).plan.tolist() == [[plan]]


def test_planning_time_delays_every_request() -> None:
    bank = bank_of()
    scheduler = find_scheduler("orion:planning_ms=12.5")
    assert scheduler.adapt(bank.worlds, scheduler.bind(bank)).plan_delay.tolist() == [1250]
    plain = find_scheduler("orion")
    assert plain.adapt(bank.worlds, plain.bind(bank)).plan_delay.tolist() == [0]


def test_an_episode_follows_one_of_the_plans() -> None:
    program = find_scheduler("orion").program
    data = replace(plan_data(ONE), plan=jnp.array([[ONE], [ONE_G2], [TWO]], jnp.int32))
    drawn = {int(program.start(data, jax.random.key(seed))) for seed in range(20)}
    assert drawn == {0, 1, 2}
    decision, _ = program.act(data, view_of(2, ALL), jnp.int32(1), jax.random.key(0))
    assert int(decision.action) == ONE_G2


@pytest.mark.parametrize("name", ["orion", "orion-best-first", "aquatope"])
def test_a_static_plan_needs_one_promise(name: str) -> None:
    bank = make_bank([scenario_of(400.0), scenario_of(500.0)])
    with pytest.raises(InputError, match="a static plan needs one SLO per workflow"):
        find_scheduler(name).bind(bank)
    find_scheduler("min-config").bind(bank)
    find_scheduler("esg").bind(bank)


# --- INFless ---


def test_infless_takes_the_most_throughput_where_least_is_left() -> None:
    """CRE = (b / T) / left, left weighted by price on the best invoker.

    On an empty one of 2 and 2 (weights 0.068 and 1.34): g = 2 leaves 0.025 of it with c = 1 and 0.001 with c = 2. So
    (1, 2, 2) gives 1 / 54 / 0.001 = 18.5 and (2, 2, 2) 2 / 72 / 0.001 = 27.8 (per ms).
    """
    view = view_of(2, ALL)
    cre = np.asarray(efficiency(find_scheduler("infless").bind(bank_of()), view))
    left = [
        (0.068 * (0.001 + (2 - c) / 2) + 1.34 * (0.001 + (2 - g) / 2)) / 1.408 for _, c, g in zip(*axes(), strict=True)
    ]
    assert cre == pytest.approx(GRID.batch / (LATENCY_MS * 100) / np.array(left), rel=1e-3)
    assert decided("infless", view, bank_of()) == (TWO_C2_G2, False)
    # One vGPU is free on each invoker: (2, 2, 1) leaves half of the vGPUs' weight either way.
    assert decided("infless", view_of(2, [ONE, ONE_C2, TWO, TWO_C2], free_vgpu=(1, 1)), bank_of()) == (TWO_C2, False)


def axes() -> tuple[list[int], list[int], list[int]]:
    return GRID.batch.tolist(), GRID.vcpu.tolist(), GRID.vgpu.tolist()


def test_infless_lets_a_batch_gather_while_the_slo_allows() -> None:
    """(2, 2, 2) takes 72 ms: one request may wait for another until 400 - 72 = 328 ms; then it goes alone."""
    assert decided("infless", view_of(1, SINGLES, waited_ms=0.0), bank_of()) == (WAIT, False)
    assert decided("infless", view_of(1, SINGLES, waited_ms=327.0), bank_of()) == (WAIT, False)
    assert decided("infless", view_of(1, SINGLES, waited_ms=329.0), bank_of()) == (ONE_C2_G2, False)


def test_infless_batches_need_half_the_slo_and_the_rate_to_fill_them() -> None:
    """(2, 2, 2) within half of 143 ms is not possible (72 > 71.5), within half of 145 it is.

    It takes 2 requests in 145 - 72 = 73 ms, 27.4 per second.
    """
    single, batch = (ONE_C2_G2, False), (TWO_C2_G2, False)
    assert decided("infless", view_of(2, ALL, slo_ms=143.0), bank_of(143.0)) == single
    assert decided("infless", view_of(2, ALL, slo_ms=145.0), bank_of(145.0)) == batch
    assert decided("infless:half=off", view_of(2, ALL, slo_ms=143.0), bank_of(143.0)) == batch
    assert decided("infless", view_of(2, ALL, slo_ms=145.0, rate_per_s=27.0), bank_of(145.0)) == single
    assert decided("infless", view_of(2, ALL, slo_ms=145.0, rate_per_s=28.0), bank_of(145.0)) == batch


def test_infless_out_of_reach_takes_the_fastest_that_can_run() -> None:
    """Nothing is within 50 ms."""
    assert decided("infless", view_of(2, ALL, slo_ms=50.0), bank_of(50.0)) == (ONE_C2_G2, False)
    assert decided("infless", view_of(2, [ONE, ONE_C2, TWO], slo_ms=50.0), bank_of(50.0)) == (ONE_C2, False)
    assert decided("infless", view_of(2, [], slo_ms=50.0), bank_of(50.0)) == (WAIT, False)


# --- FaST-GShare ---


def test_fast_gshare_takes_the_most_throughput_per_vgpu() -> None:
    """Of two vCPUs: 1/90, 1/108, 2/110, 2/144 per ms and vGPU: (2, 2, 1); with one vCPU 2/120: (2, 1, 1)."""
    assert decided("fast-gshare", view_of(2, ALL), bank_of()) == (TWO_C2, False)
    assert decided("fast-gshare:vcpus=1", view_of(2, ALL), bank_of()) == (TWO, False)
    assert decided("fast-gshare:vcpus=8", view_of(2, ALL), bank_of()) == (TWO_C2, False)


def test_fast_gshare_serves_a_short_queue_with_the_fewest_vgpus_in_time() -> None:
    """One request: (1, 2, 1) takes 90 ms and (1, 2, 2) 54. Within 80 ms only the second will do."""
    assert decided("fast-gshare", view_of(1, SINGLES), bank_of()) == (ONE_C2, False)
    assert decided("fast-gshare", view_of(1, SINGLES, slo_ms=80.0), bank_of(80.0)) == (ONE_C2_G2, False)


def test_fast_gshare_waits_for_what_it_wants() -> None:
    assert decided("fast-gshare", view_of(2, [x for x in ALL if x != TWO_C2]), bank_of()) == (WAIT, False)


def test_fast_gshare_out_of_reach_takes_its_fastest_single_that_can_run() -> None:
    assert decided("fast-gshare", view_of(2, ALL, slo_ms=50.0), bank_of(50.0)) == (ONE_C2_G2, False)
    assert decided("fast-gshare", view_of(2, [ONE, ONE_C2, TWO], slo_ms=50.0), bank_of(50.0)) == (ONE_C2, False)
    assert decided("fast-gshare", view_of(2, [ONE], slo_ms=50.0), bank_of(50.0)) == (WAIT, False)


def test_fast_gshare_is_dispatched_without_a_look_at_inputs() -> None:
    bank = bank_of()
    scheduler = find_scheduler("fast-gshare")
    assert scheduler.adapt(bank.worlds, scheduler.bind(bank)).locality.tolist() == [False]


@pytest.mark.parametrize("name", ["infless", "fast-gshare", "orion:noise_cv=0"])
def test_giving_up_takes_the_cheapest_for_what_is_lost(name: str) -> None:
    """Less is left than the 54 ms of the fastest. Cheapest per job: (2, 2, 1) with 110 x 0.738 / 2 = 40.6.

    Alone: (1, 2, 1) with 90 x 0.738 = 66.4, before (1, 1, 1) with 100 x 0.704.
    """
    late = view_of(2, ALL, waited_ms=347.0)
    assert decided(f"{name}:give_up=on", late, bank_of()) == (TWO_C2, False)
    assert decided(f"{name}:give_up=on", view_of(1, SINGLES, waited_ms=347.0), bank_of()) == (ONE_C2, False)
    soon = view_of(2, ALL, waited_ms=340.0)
    assert decided(f"{name}:give_up=on", soon, bank_of()) == decided(name, soon, bank_of())


@pytest.mark.parametrize("name", ["infless", "fast-gshare", "orion", "min-config", "max-config", "esg", "esg-literal"])
def test_only_what_is_legal_is_decided_on_any_view(name: str) -> None:
    """On a pair of stages, too."""
    functions = scenario_of(400.0).functions
    pair = replace(
        scenario_of(400.0),
        workflows=(Workflow("pair", (0, 0), chain(2), 400.0),),
        functions=functions,
        requests=make_requests(np.zeros(1), np.zeros(1, np.int32), (0.0, 1.0), stages=2),
    )
    scheduler, rng = find_scheduler(name), np.random.default_rng(3)
    data, key = scheduler.bind(make_bank([pair])), jax.random.key(0)
    memory, act = scheduler.program.start(data, key), jax.jit(scheduler.program.act)
    for _ in range(300):
        length = int(rng.integers(1, 4))
        legal = [x for x in ALL if rng.random() < rng.choice([0.2, 0.9]) and GRID.batch[x] <= length]
        view = view_of(
            length, legal, float(rng.uniform(0, 500)), 400.0, float(rng.uniform(0, 50)), tuple(rng.integers(0, 3, 2))
        )
        view = replace(view, queue=jnp.int32(rng.integers(2)), fails=jnp.int32(rng.integers(6)))
        decision: Decision = act(data, view, memory, key)[0]
        assert int(decision.action) in [*legal, WAIT]
        assert not bool(decision.missed) or (name == "orion" and int(decision.action) != WAIT)
