"""The reference simulator of the serverless platform against small worlds worked out by hand. Times are in ms."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from reference.serverless_parts import walk_order
from reference.serverless_reference import ReferenceWorld
from varigym.scenarios.serverless.configs import ConfigGrid
from varigym.scenarios.serverless.requests import make_requests
from varigym.scenarios.serverless.scenario import TRANSFERS, Scan, ServerlessScenario, Transfer
from varigym.scenarios.serverless.workflows import Function, Workflow, chain

GRID = ConfigGrid(batches=(1, 2), vcpus=(1, 2), vgpus=(1, 2))
ONE, ONE_WIDE, TWO = 0, 3, 4  # (batch, vCPU, vGPU) = (1, 1, 1), (1, 2, 2), (2, 1, 1)
WAIT, DROP = 8, 9
USD_PER_S = (0.034 + 0.67) / 3600  # of 1 vCPU and 1 vGPU
FORK = ((0, 1), (0, 2), (1, 3), (2, 3))


def function(name: str, ms: float, cold_ms: float = 100.0, mb: float = 0.0) -> Function:
    """One request takes `ms`, two together half as long again; vCPUs and vGPUs do not matter."""
    return Function(name, np.where(GRID.batch == 1, ms, 1.5 * ms), cold_ms, mb)


def pipeline(*functions: int, slo_ms: float = 1000.0, name: str = "w") -> Workflow:
    return Workflow(name, functions, chain(len(functions)), slo_ms)


A, B = function("A", 10.0), function("B", 20.0)


def world(
    arrival_ms: list[float],
    functions: tuple[Function, ...] = (A,),
    workflows: tuple[Workflow, ...] = (pipeline(0),),
    invokers: tuple[tuple[int, int], ...] = ((4, 4),),
    of: list[int] | None = None,
    noise: list[list[float]] | None = None,
    plan_delay: int = 0,
    **changes: Any,
) -> ReferenceWorld:
    """Free transfers, one warm container of everything everywhere and no pre-warming, unless told otherwise."""
    horizon_ms = changes.pop("horizon_ms", 10_000.0)
    window_ms = changes.pop("window_ms", (0.0, horizon_ms))
    table = make_requests(
        np.array(arrival_ms, np.float64),
        np.array(of or [0] * len(arrival_ms), np.int32),
        window_ms,
        None if noise is None else np.array(noise),
        max(workflow.stages for workflow in workflows),
    )
    platform: dict[str, Any] = {"transfer": TRANSFERS["none"], "warm": 1, "prewarm": False} | changes
    vcpu, vgpu = (np.array(column, np.int32) for column in zip(*invokers, strict=True))
    scenario = ServerlessScenario(
        "toy", GRID, functions, workflows, vcpu, vgpu, table, horizon_ms, window_ms, **platform
    )
    return ReferenceWorld(scenario, plan_delay)


def play(toy: ReferenceWorld, *moves: tuple[float, int, int]) -> None:
    """Moves (when, queue, action): the world must ask for exactly these decisions."""
    for at_ms, queue, action in moves:
        assert (toy.visit(), toy.now / 100) == (queue, at_ms)
        toy.take(action)


def tasks(toy: ReferenceWorld) -> list[tuple[float, float, int, int]]:
    """(start, end, queue, invoker) of the log."""
    return [(task.start / 100, task.end / 100, task.queue, task.invoker) for task in toy.log]


def finishes(toy: ReferenceWorld) -> list[float | None]:
    return [None if request.finish is None else request.finish / 100 for request in toy.requests]


# --- one request, transfers, costs ---


@pytest.mark.parametrize(("slo_ms", "hit"), [(31.2, True), (31.19, False)])
def test_one_request_goes_through_a_chain(slo_ms: float, hit: bool) -> None:
    # A: 5 to 15. B reads 5 MB where A ran: 0.2 + 5 / 5 = 1.2, then runs 20: 15 to 36.2. Latency 31.2.
    chained = (A, function("B", 20.0, mb=5.0))
    toy = world([5.0], chained, (pipeline(0, 1, slo_ms=slo_ms),), transfer=Transfer())
    play(toy, (5.0, 0, ONE), (15.0, 1, ONE_WIDE))
    assert toy.visit() is None
    assert tasks(toy) == [(5.0, 15.0, 0, 0), (15.0, 36.2, 1, 0)]
    assert [task.billed for task in toy.log] == [1000, 2120]
    (request,) = toy.requests
    assert (request.latency, request.hit, request.shed, request.cold_starts) == (3120, hit, False, 0)
    assert request.cost_usd == pytest.approx(0.010 * USD_PER_S + 0.0212 * 2 * USD_PER_S, rel=1e-12)
    assert (toy.over, toy.truncated, toy.now) == (True, False, 3620)


def test_a_batch_takes_the_noise_of_its_head_and_shares_the_cost() -> None:
    # The first waits for the second; both run 15 x 2 = 30 from 3 on, and each bears half of it.
    toy = world([0.0, 3.0], noise=[[2.0], [9.0]])
    play(toy, (0.0, 0, WAIT), (3.0, 0, TWO))
    assert toy.visit() is None
    assert [task.members for task in toy.log] == [[0, 1]]
    assert [request.latency for request in toy.requests] == [3300, 3000]
    assert [request.cost_usd for request in toy.requests] == pytest.approx([0.015 * USD_PER_S] * 2, rel=1e-12)


def test_a_batch_needs_as_many_requests() -> None:
    toy = world([0.0])
    assert toy.visit() == 0
    assert toy.legal() == [True] * 4 + [False] * 4 + [True, True]
    with pytest.raises(ValueError, match="not legal"):
        toy.take(TWO)


@pytest.mark.parametrize(
    ("ms", "noise", "ticks"),
    [
        (10.01, 1.5, 1502),  # 1501.5: to the even one
        (10.03, 1.5, 1504),  # 1504.5
        (0.15, 1.1, 16),  # 1.1 is a little more than that as float32, yet the float32 product is 16.5: 16
        (10.0, 0.0005, 1),  # half a tick, but at least one
        (0.001, 3.0, 3),  # the mean is at least one too
    ],
)
def test_run_times_are_rounded(ms: float, noise: float, ticks: int) -> None:
    toy = world([0.0], (function("A", ms),), noise=[[noise]])
    play(toy, (0.0, 0, ONE))
    assert toy.log[0].end == ticks


def test_a_fork_joins_when_both_branches_have_ended() -> None:
    # Two invokers of one place. A: 0 to 10 on 0. Stage 1 stays there: 0.2 + 1.25 / 5 = 0.45, 20 -> 30.45.
    # Stage 2 only fits on 1: 1 + 1.25 / 1.25 = 2, 30 -> 42. The join has a piece (2.5 / 2 MB) on each: 0 wins the tie;
    # local 0.2 + 0.25 = 0.45, remote 1 + 1 = 2, together 2; 5 -> 49.
    parts = (A, function("B", 20.0, mb=1.25), function("C", 30.0, mb=1.25), function("D", 5.0, mb=2.5))
    toy = world([0.0], parts, (Workflow("fork", (0, 1, 2, 3), FORK, 1000.0),), ((2, 2), (1, 1)), transfer=Transfer())
    toy.invokers[0].free_vcpu = toy.invokers[0].free_vgpu = 1
    play(toy, (0.0, 0, ONE), (10.0, 1, ONE), (10.0, 2, ONE), (42.0, 3, ONE))
    assert toy.visit() is None
    assert tasks(toy) == [(0.0, 10.0, 0, 0), (10.0, 30.45, 1, 0), (10.0, 42.0, 2, 1), (42.0, 49.0, 3, 0)]
    assert finishes(toy) == [49.0]


def test_pieces_of_one_invoker_travel_as_one_transfer() -> None:
    # Two requests at 0 on invoker 0; B is only prepared on 1, so both pieces go: 1 + 2 x 2.5 / 1.25 = 5; 30 -> 45.
    toy = world([0.0, 0.0], (A, function("B", 20.0, mb=2.5)), (pipeline(0, 1),), ((4, 4), (4, 4)), transfer=Transfer())
    toy.invokers[0].containers = [c for c in toy.invokers[0].containers if c.function == 0]
    play(toy, (0.0, 0, TWO), (15.0, 1, TWO))
    toy.visit()
    assert tasks(toy) == [(0.0, 15.0, 0, 0), (15.0, 50.0, 1, 1)]


# --- containers ---


@pytest.mark.parametrize(("prewarm", "bill_cold"), [(False, False), (True, False), (True, True)])
def test_cold_starts_and_prewarming(prewarm: bool, bill_cold: bool) -> None:
    # A starts cold: 100 + 10 = 110. B, ordered at 0, is ready at 30: 110 to 130; not ordered, it starts cold: to 160.
    toy = world([0.0], (A, function("B", 20.0, 30.0)), (pipeline(0, 1),), warm=0, prewarm=prewarm, bill_cold=bill_cold)
    play(toy, (0.0, 0, ONE), (110.0, 1, ONE))
    assert toy.visit() is None
    assert [task.cold for task in toy.log] == [True, not prewarm]
    assert finishes(toy) == [130.0 if prewarm else 160.0]
    assert toy.log[0].billed == (11_000 if bill_cold else 1000)
    assert toy.requests[0].cold_starts == (1 if prewarm else 2)


def test_a_ready_container_lets_waiting_queues_try_again() -> None:
    # B is ordered at 0 and ready at 200; A ends at 110 and the job waits until then.
    toy = world([0.0], (A, function("B", 20.0, 200.0)), (pipeline(0, 1),), warm=0, prewarm=True)
    play(toy, (0.0, 0, ONE), (110.0, 1, WAIT), (200.0, 1, ONE))
    assert toy.visit() is None
    assert finishes(toy) == [220.0]
    assert [task.cold for task in toy.log] == [True, False]


def test_nothing_is_ordered_where_one_is_idle_or_being_prepared() -> None:
    # The first A orders a B; the second finds it being prepared. Both stages of the fork are B: one order.
    twice = Workflow("fork", (0, 1, 1, 0), FORK, 1000.0)
    toy = world([0.0, 1.0], (A, B), (twice,), warm=0, prewarm=True)
    play(toy, (0.0, 0, ONE), (1.0, 0, ONE))
    assert [container.stamp for container in toy.invokers[0].containers] == [10_000]


def test_containers_live_as_long_as_they_are_kept() -> None:
    # Kept 50: stamp 0 is warm at 40; stamp 50 at 99.99; stamp 109.99 no longer at 159.99 (exactly 50 later).
    toy = world([40.0, 99.99, 159.99], keep_alive_s=0.05)
    play(toy, (40.0, 0, ONE), (99.99, 0, ONE), (159.99, 0, ONE))
    toy.visit()
    assert [task.cold for task in toy.log] == [False, False, True]


def test_the_container_used_last_is_taken() -> None:
    # Two containers of stamp 0; the first task's is back at 10. Taken at 20, it leaves the other of stamp 0.
    toy = world([0.0, 20.0], warm=2)
    play(toy, (0.0, 0, ONE), (20.0, 0, ONE))
    assert [container.stamp for container in toy.invokers[0].containers] == [0]


# --- dispatch ---


def test_warm_starts_go_to_the_fullest_invoker() -> None:
    toy = world([0.0], invokers=((4, 4), (4, 2), (4, 2)))
    play(toy, (0.0, 0, ONE))
    assert toy.log[0].invoker == 1


def test_a_cold_entry_walks_from_its_home() -> None:
    # crc32("A") = 3554254475: home = 2 (mod 3); the numbers coprime with 3 are 1 and 2, and it takes number 1 (odd): 2.
    assert walk_order("A", 3) == [2, 1, 0]
    assert walk_order("A", 1) == [0]
    toy = world([0.0, 0.0, 0.0], invokers=((2, 2), (2, 2), (2, 2)), warm=0)
    play(toy, (0.0, 0, ONE_WIDE), (0.0, 0, ONE_WIDE), (0.0, 0, ONE_WIDE))
    assert [task.invoker for task in toy.log] == [2, 1, 0]


@pytest.mark.parametrize(("locality", "invoker"), [(True, 0), (False, 1)])
def test_later_stages_go_where_their_input_lies(locality: bool, invoker: int) -> None:
    # Both are warm for B; 1 is the fuller one, 0 holds the input.
    toy = world([0.0], (A, B), (pipeline(0, 1),), ((4, 4), (4, 2)), locality=locality)
    toy.invokers[1].containers = [c for c in toy.invokers[1].containers if c.function == 1]
    play(toy, (0.0, 0, ONE), (10.0, 1, ONE))
    assert [task.invoker for task in toy.log] == [0, invoker]


@pytest.mark.parametrize(("slo_ms", "choice"), [(110.01, 0), (110.0, None)])
def test_a_cold_start_at_the_input_needs_the_time_for_it(slo_ms: float, choice: int | None) -> None:
    # B is warm on 1 only, where nothing is free. At 10 its cold start (100) must be below deadline - 10.
    toy = world([0.0], (A, B), (pipeline(0, 1, slo_ms=slo_ms),), ((2, 2), (1, 1)))
    toy.invokers[0].containers = [c for c in toy.invokers[0].containers if c.function == 0]
    toy.invokers[1].free_vgpu = 0
    play(toy, (0.0, 0, ONE))
    assert toy.visit() == 1
    assert toy.invoker_for(ONE) == choice
    assert toy.legal()[ONE] == (choice is not None)
    toy.invokers[1].containers.clear()  # warm nowhere: the walk finds room
    assert toy.invoker_for(ONE) == 0


def test_most_pieces_decide_where_it_is_local() -> None:
    # Two requests at the join: 1 piece on invoker 0, 3 on invoker 1. The first alone: one each, so 0.
    toy = world([0.0, 0.0], workflows=(Workflow("fork", (0, 0, 0, 0), FORK, 1000.0),), invokers=((4, 4), (4, 4)))
    play(toy, (0.0, 0, TWO), (15.0, 1, TWO), (15.0, 2, TWO))
    assert toy.visit() == 3
    toy.requests[0].ran_on |= {1: 0, 2: 1}
    toy.requests[1].ran_on |= {1: 1, 2: 1}
    assert (toy.invoker_for(ONE), toy.invoker_for(TWO)) == (0, 1)
    for invoker in toy.invokers:
        invoker.containers.clear()
    assert (toy.invoker_for(ONE), toy.invoker_for(TWO)) == (0, 1)


def test_an_entry_may_start_cold_though_another_invoker_is_warm() -> None:
    toy = world([0.0], invokers=((2, 2), (1, 1)))
    toy.invokers[0].containers.clear()
    toy.invokers[1].free_vcpu = 0
    assert toy.visit() == 0
    assert toy.invoker_for(ONE) == 0


# --- ties and the order of visits ---


def test_tasks_that_end_together_end_in_the_order_of_their_slots() -> None:
    # 0 and 1 end at 10 and free slots 0 and 1; 3 and 4 take them and end at 15, as 2 does, which has slot 2.
    half = [[1.0, 1.0]] * 3 + [[0.5, 1.0]] * 2
    toy = world([0.0, 0.0, 5.0, 10.0, 10.0], (A, B), (pipeline(0, 1),), ((8, 8),), noise=half, warm=5)
    play(toy, (0.0, 0, ONE), (0.0, 0, ONE), (5.0, 0, ONE), (10.0, 1, WAIT), (10.0, 0, ONE), (10.0, 0, ONE))
    assert (toy.visit(), toy.now) == (1, 1500)
    assert [task.slot for task in toy.log] == [0, 1, 2, 0, 1]
    assert [job.index for job in toy.queues[1].jobs] == [0, 1, 3, 4, 2]


def test_queues_that_waited_come_first_in_the_order_of_their_tickets() -> None:
    # Room for one task of 10. Tickets: queue 0, queue 1; they keep them when they wait again.
    trio = tuple(pipeline(0, name=f"w{k}") for k in range(3))
    toy = world([0.0, 0.0, 0.0, 0.0], workflows=trio, invokers=((2, 2),), of=[0, 1, 2, 2])
    play(toy, (0.0, 0, WAIT), (0.0, 1, WAIT), (0.0, 2, ONE_WIDE))
    play(toy, (10.0, 0, WAIT), (10.0, 1, ONE_WIDE))
    assert [(queue.fails, queue.ticket) for queue in toy.queues] == [(2, 0), (0, None), (0, None)]
    play(toy, (20.0, 0, ONE_WIDE), (30.0, 2, ONE_WIDE))
    assert toy.visit() is None


def test_round_robin_goes_on_after_the_queue_served_last() -> None:
    trio = tuple(pipeline(0, name=f"w{k}") for k in range(3))
    toy = world([0.0, 1.0, 1.0, 1.0, 1.0], workflows=trio, of=[1, 0, 1, 2, 2])
    play(toy, (0.0, 1, ONE))
    play(toy, (1.0, 2, ONE), (1.0, 0, DROP), (1.0, 1, ONE), (1.0, 2, ONE))


@pytest.mark.parametrize(("scan", "order"), [(Scan.SLACK, [1, 2, 2, 0]), (Scan.LONGEST, [2, 0, 1, 2])])
def test_other_orders(scan: Scan, order: list[int]) -> None:
    trio = tuple(pipeline(0, name=f"w{k}", slo_ms=slo) for k, slo in enumerate((90.0, 50.0, 60.0)))
    toy = world([0.0] * 4, workflows=trio, of=[0, 1, 2, 2], scan=scan)
    play(toy, *[(0.0, queue, ONE) for queue in order])


# --- shedding, overhead, ends ---


def test_other_branches_of_a_shed_request_are_carried_on_but_lead_nowhere() -> None:
    # Shed in stage 1 at 10. Its job of stage 2 runs 10 to 20 and costs; stage 3 behind it is not reached.
    edges = ((0, 1), (0, 2), (2, 3), (1, 4), (3, 4))
    toy = world([0.0, 100.0], workflows=(Workflow("fork", (0,) * 5, edges, 1000.0),))
    play(toy, (0.0, 0, ONE), (10.0, 1, DROP), (10.0, 2, ONE), (100.0, 0, DROP))
    assert toy.visit() is None
    assert [(request.shed, request.finish) for request in toy.requests] == [(True, None), (True, None)]
    assert toy.requests[0].cost_usd == pytest.approx(2 * 0.010 * USD_PER_S, rel=1e-12)
    assert toy.now == 10_000


def test_a_request_is_shed_once() -> None:
    fork = Workflow("fork", (0, 0, 0, 0), FORK, 1000.0)
    toy = world([0.0, 100.0], workflows=(fork,))
    play(toy, (0.0, 0, ONE), (10.0, 1, DROP), (10.0, 2, DROP), (100.0, 0, WAIT))
    assert toy.visit() is None  # no event is left and the queue waits
    assert [request.ended for request in toy.requests] == [True, False]
    assert (toy.over, toy.truncated, toy.lengths) == (True, False, [1, 0, 0, 0])


def test_every_visit_takes_the_controller_its_time() -> None:
    # 2 per visit: WAIT until 2; the visit of 2 starts a task at 4, which ends at 14; the request of 3 is looked at when
    # the controller is free, at 4, and starts at 6. Something is released at 14: queue 0 starts at 16.
    duo = (pipeline(0, name="w0"), pipeline(0, name="w1"))
    toy = world([0.0, 0.0, 3.0, 50.0], workflows=duo, of=[0, 1, 1, 1], overhead_ms=2.0)
    play(toy, (0.0, 0, WAIT), (2.0, 1, ONE), (4.0, 1, ONE), (14.0, 0, ONE), (50.0, 1, ONE))
    toy.visit()
    assert [task.start / 100 for task in toy.log] == [4.0, 6.0, 16.0, 52.0]


def test_planning_delays_the_arrival_but_not_the_deadline() -> None:
    # It joins 7 later: 7 to 17, which is one tick too late.
    toy = world([0.0], workflows=(pipeline(0, slo_ms=16.99),), plan_delay=700)
    play(toy, (7.0, 0, ONE))
    toy.visit()
    assert (toy.requests[0].latency, toy.requests[0].hit) == (1700, False)


@pytest.mark.parametrize(("horizon_ms", "now", "truncated"), [(29.99, 2999, True), (30.0, 3000, False)])
def test_an_episode_is_cut_off_beyond_the_horizon(horizon_ms: float, now: int, truncated: bool) -> None:
    toy = world([0.0], (A, B), (pipeline(0, 1),), horizon_ms=horizon_ms)
    play(toy, (0.0, 0, ONE), (10.0, 1, ONE))
    assert toy.visit() is None
    assert (toy.over, toy.now, toy.truncated) == (True, now, truncated)
    assert finishes(toy) == [None if truncated else 30.0]


def test_an_episode_ends_with_the_last_request_that_counts() -> None:
    # Only the one at 5 counts; it ends at 20, when the last one has just started.
    toy = world([0.0, 5.0, 12.0], window_ms=(5.0, 12.0))
    play(toy, (0.0, 0, WAIT), (5.0, 0, TWO), (12.0, 0, ONE))
    assert toy.visit() is None
    assert (toy.now, finishes(toy)) == (2000, [20.0, 20.0, None])
