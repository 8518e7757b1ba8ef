"""The platform in JAX is the reference simulator, decision by decision and tick by tick, in random worlds."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import jax
import numpy as np
import pytest
from reference.serverless_parts import Task
from reference.serverless_reference import ReferenceWorld
from serverless_steps import Moment, Shape, enlarged, is_over, moment, start, step, task_log, world_of
from serverless_worlds import STRUCTURES, random_policy, random_world
from varigym.scenarios.serverless.scenario import Scan, ServerlessScenario

FORKS, CHAINS = 6, 4
"""Structures whose workflows fork and join, and whose workflows are chains: two compilations."""
SEEDS = [structure + STRUCTURES * n for structure in (FORKS, CHAINS) for n in range(16)]
FEW = SEEDS[::5]
PADDED = Shape()


class Watched(ReferenceWorld):
    """Remembers what it was like after all events of each tick."""

    def __init__(self, scenario: ServerlessScenario, plan_delay: int = 0) -> None:
        super().__init__(scenario, plan_delay)
        self.ticks: list[Moment] = []

    def next_tick(self) -> None:
        super().next_tick()
        self.ticks.append(moment_of(self))


def moment_of(world: ReferenceWorld) -> Moment:
    counted = [request for request in world.requests if request.counted]
    finished = [request for request in counted if request.finish is not None]
    return Moment(
        now=world.now,
        jobs=tuple(tuple(job.index for job in queue.jobs) for queue in world.queues),
        waiting=tuple(queue.waiting for queue in world.queues),
        fails=tuple(queue.fails for queue in world.queues),
        tickets=tuple(queue.ticket for queue in world.queues),
        tickets_given=world.tickets_given,
        last_served=world.last_served,
        controller_free=world.controller_free,
        free_vcpu=tuple(world.free_vcpu),
        free_vgpu=tuple(world.free_vgpu),
        running=tuple(
            (task.slot, task.end, task.queue, task.config, task.invoker, *task.members)
            for task in sorted(world.running, key=lambda task: task.slot)
        ),
        containers=tuple(
            tuple(stamps_of(world, invoker.index, function) for function in range(len(world.scenario.functions)))
            for invoker in world.invokers
        ),
        tally=(sum(r.ended for r in counted), len(finished), sum(r.hit for r in counted), sum(r.shed for r in counted)),
    )


def stamps_of(world: ReferenceWorld, invoker: int, function: int) -> tuple[int, ...]:
    own = [c.stamp for c in world.invokers[invoker].containers if c.function == function]
    return tuple(sorted(stamp for stamp in own if stamp > world.now - world.keep_alive))


def log_of(world: ReferenceWorld) -> list[tuple[int, ...]]:
    def row(task: Task) -> tuple[int, ...]:
        return (task.start, task.end, task.queue, task.config, task.invoker, int(task.cold), task.billed, *task.members)

    return [row(task) for task in world.log]


def play(
    scenario: ServerlessScenario, seed: int, plan_delay: int = 0, shape: Shape | None = PADDED, places: int = 128
) -> int:
    """A whole episode of a random policy in both worlds: they ask for the same decisions and end alike.

    Returns the most jobs that waited in one queue.
    """
    worlds = world_of(scenario, shape, plan_delay)
    reference, policy, visits, most = ReferenceWorld(scenario, plan_delay), random_policy(seed), 0, 0
    state, view = enlarged(worlds, *start(worlds, places))
    while (queue := reference.visit()) is not None:
        assert (int(state.cursor), int(view.queue), is_over(state)) == (queue, queue, False)
        assert view.legal.tolist() == reference.legal()[:-2]
        assert moment(worlds, state) == moment_of(reference)
        action = policy(visits, reference.legal())
        reference.take(action)
        state, view = enlarged(worlds, *step(worlds, state, action))
        visits, most = visits + 1, max(most, *reference.lengths, 0)
    assert (int(state.cursor), is_over(state), bool(state.truncated)) == (-1, True, reference.truncated)
    assert moment(worlds, state) == moment_of(reference)
    assert int(state.visits) == visits
    assert task_log(state) == log_of(reference)
    spent = sum(request.cost_usd for request in reference.requests if request.counted)
    close = 1e-12 if state.tally.new_usd.dtype == np.float64 else 1e-6
    assert float(state.tally.new_usd) == pytest.approx(spent, rel=close, abs=1e-18)
    return most


def test_every_decision_and_the_end_are_those_of_the_reference() -> None:
    assert max(play(random_world(seed), seed) for seed in SEEDS) > 10


@pytest.mark.slow
@pytest.mark.parametrize("structure", range(STRUCTURES))
def test_every_decision_and_the_end_are_those_of_the_reference_in_many_worlds(structure: int) -> None:
    for n in range(100, 160):
        play(random_world(structure + STRUCTURES * n), n)


@pytest.mark.slow
def test_worlds_in_their_own_sizes_are_the_reference_too() -> None:
    """As `stack` makes them: every size is just large enough."""
    for seed in range(2 * STRUCTURES):
        play(random_world(seed), seed, shape=None)


@pytest.mark.slow
def test_in_32_bits_all_but_the_last_digits_of_costs_is_the_same() -> None:
    with jax.enable_x64(False):
        for seed in SEEDS[::2]:
            play(random_world(seed), seed)


@pytest.mark.parametrize("scan", Scan)
def test_every_order_of_visits_is_that_of_the_reference(scan: Scan) -> None:
    for seed in FEW:
        play(replace(random_world(seed), scan=scan), seed)


@pytest.mark.parametrize("overhead_ms", [0.01, 0.5, 20.0])
def test_a_busy_controller_is_that_of_the_reference(overhead_ms: float) -> None:
    for seed in FEW:
        play(replace(random_world(seed), overhead_ms=overhead_ms), seed)


@pytest.mark.parametrize("keep_alive_s", [0.0, 0.01, 0.05])
def test_containers_are_forgotten_as_in_the_reference(keep_alive_s: float) -> None:
    for seed in FEW:
        play(replace(random_world(seed), keep_alive_s=keep_alive_s, prewarm=True), seed)


@pytest.mark.parametrize("plan_delay", [1, 100, 1500])
def test_planning_time_is_that_of_the_reference(plan_delay: int) -> None:
    for seed in FEW:
        play(random_world(seed), seed, plan_delay)


def test_a_queue_that_is_full_stops_the_world_and_nothing_is_lost_when_it_is_enlarged() -> None:
    """Ten places hold two jobs beside the batches that may join."""
    assert max(play(random_world(seed), seed, places=10) for seed in SEEDS[16::2]) > 5


# --- between decisions ---


@dataclass(frozen=True)
class Tick:
    """A tick with an event, whether or not it asks for a decision."""

    scenario: ServerlessScenario
    queue_function: Sequence[int]
    ours: Moment
    reference: Moment


def ticks_of(seed: int) -> list[Tick]:
    """An episode of a random policy, where the JAX world is cut off at each tick in turn."""
    scenario = random_world(seed)
    worlds, reference, policy, visits = world_of(scenario, PADDED), Watched(scenario), random_policy(seed), 0
    function = [queue.function for queue in reference.queues]
    reference.visit()
    state, _ = start(worlds)
    ticks = [Tick(scenario, function, moment(worlds, start(worlds, until=t.now)[0]), t) for t in reference.ticks]
    while not reference.over:
        action, before = policy(visits, reference.legal()), len(reference.ticks)
        reference.take(action)
        reference.visit()
        for expected in reference.ticks[before:]:
            ours = moment(worlds, step(worlds, state, action, until=expected.now)[0])
            ticks.append(Tick(scenario, function, ours, expected))
        state, _ = step(worlds, state, action)
        visits += 1
    return ticks


@pytest.fixture(scope="module")
def ticks() -> list[Tick]:
    return [tick for seed in SEEDS[::4] for tick in ticks_of(seed)]


def test_every_tick_with_an_event_is_that_of_the_reference(ticks: list[Tick]) -> None:
    assert len(ticks) > 500
    assert all(tick.ours == tick.reference for tick in ticks)


def test_what_is_free_and_what_is_held_is_all_there_is(ticks: list[Tick]) -> None:
    for tick in ticks:
        scenario, grid = tick.scenario, tick.scenario.grid
        for invoker in range(scenario.invokers):
            held = [task[3] for task in tick.ours.running if task[4] == invoker]
            assert tick.ours.free_vcpu[invoker] + grid.vcpu[held].sum() == scenario.vcpu[invoker]
            assert tick.ours.free_vgpu[invoker] + grid.vgpu[held].sum() == scenario.vgpu[invoker]
            assert min(tick.ours.free_vcpu[invoker], tick.ours.free_vgpu[invoker]) >= 0


def test_containers_never_outnumber_the_places_for_them(ticks: list[Tick]) -> None:
    """Idle, under preparation and in use together: no more than tasks fit at once and one, or than there were."""
    for tick in ticks:
        scenario, grid = tick.scenario, tick.scenario.grid
        for invoker, pools in enumerate(tick.ours.containers):
            most = min(scenario.vcpu[invoker] // grid.vcpus[0], scenario.vgpu[invoker] // grid.vgpus[0])
            for function, stamps in enumerate(pools):
                used = sum(
                    task[4] == invoker and tick.queue_function[task[2]] == function for task in tick.ours.running
                )
                assert len(stamps) + used <= max(scenario.warm, most + 1)


def test_a_job_is_in_one_place_and_a_request_ends_once(ticks: list[Tick]) -> None:
    for tick in ticks:
        places = [(queue, job) for queue, jobs in enumerate(tick.ours.jobs) for job in jobs]
        places += [(task[2], job) for task in tick.ours.running for job in task[5:]]
        assert len(set(places)) == len(places)
        ended, served, hits, shed = tick.ours.tally
        assert ended == served + shed <= tick.scenario.requests.counted.sum()
        assert hits <= served


def test_the_random_worlds_differ_in_everything() -> None:
    worlds = [random_world(seed) for seed in SEEDS]
    assert {world.scan for world in worlds} == set(Scan)
    for name in ("prewarm", "bill_cold", "locality"):
        assert {getattr(world, name) for world in worlds} == {False, True}
    assert len({world.overhead_ms for world in worlds}) > 3
    assert any(0 < world.keep_alive_s < 0.1 for world in worlds)
