"""What holds in every world of the reference simulator, at every event, whatever a policy does."""

from __future__ import annotations

from collections import Counter
from itertools import pairwise

import pytest
from reference.serverless_parts import Container, Invoker, Request, Task
from reference.serverless_reference import ReferenceWorld
from serverless_worlds import STRUCTURES, random_policy, random_world

SEEDS = range(96)


class WatchedWorld(ReferenceWorld):
    """Checks itself after every event and every decision."""

    ends: Counter[int]

    def task_ends(self, task: Task) -> None:
        ended = [request.index for request in self.requests if request.ended]
        super().task_ends(task)
        self.ends.update(r.index for r in self.requests if r.finish is not None and r.index not in ended)
        self.check()

    def container_ready(self, container: Container) -> None:
        super().container_ready(container)
        self.check()

    def request_joins(self, request: Request) -> None:
        super().request_joins(request)
        self.check()

    def take(self, action: int) -> None:
        ended = [request.index for request in self.requests if request.ended]
        super().take(action)
        self.ends.update(r.index for r in self.requests if r.shed and r.index not in ended)
        self.check()

    def check(self) -> None:
        """What running tasks hold and what is free is all there is; a job is in one place."""
        for invoker in self.invokers:
            held = [self.configs[task.config] for task in self.running if task.invoker == invoker.index]
            assert invoker.free_vcpu + sum(c for _, c, _ in held) == self.scenario.vcpu[invoker.index]
            assert invoker.free_vgpu + sum(g for _, _, g in held) == self.scenario.vgpu[invoker.index]
            assert invoker.free_vcpu >= 0
            assert invoker.free_vgpu >= 0
            self.check_containers(invoker)
        jobs = [(queue.index, job.index) for queue in self.queues for job in queue.jobs]
        jobs += [(task.queue, member) for task in self.running for member in task.members]
        assert len(set(jobs)) == len(jobs)
        assert len({task.slot for task in self.running}) == len(self.running)
        assert all(task.end >= self.now for task in self.running)

    def check_containers(self, invoker: Invoker) -> None:
        """One more per function than tasks fit at once, unless more were there from the start; one in preparation."""
        grid, i = self.scenario.grid, invoker.index
        most_tasks = min(self.scenario.vcpu[i] // grid.vcpus[0], self.scenario.vgpu[i] // grid.vgpus[0])
        for function in range(len(self.scenario.functions)):
            own = [c for c in invoker.containers if c.function == function and c.stamp > self.now - self.keep_alive]
            in_use = [t for t in self.running if (t.invoker, self.queues[t.queue].function) == (i, function)]
            assert len(own) + len(in_use) <= max(self.scenario.warm, most_tasks + 1)
            assert sum(container.stamp > self.now for container in own) <= 1


def episode(seed: int) -> WatchedWorld:
    world, policy = WatchedWorld(random_world(seed)), random_policy(seed)
    world.ends = Counter()
    visits = 0
    while world.visit() is not None:
        world.take(policy(visits, world.legal()))
        visits += 1
        assert visits < 10_000
    return world


@pytest.fixture(scope="module")
def episodes() -> list[WatchedWorld]:
    return [episode(seed) for seed in SEEDS]


def test_every_request_ends_at_most_once(episodes: list[WatchedWorld]) -> None:
    for world in episodes:
        assert max(world.ends.values(), default=0) <= 1
        assert set(world.ends) == {request.index for request in world.requests if request.ended}
        assert not any(request.shed and request.finish is not None for request in world.requests)


def test_every_stage_of_a_request_runs_at_most_once_and_after_those_before_it(episodes: list[WatchedWorld]) -> None:
    for world in episodes:
        ran = [(task.queue, member) for task in world.log for member in task.members]
        assert len(set(ran)) == len(ran)
        end = {(task.queue, member): task.end for task in world.log for member in task.members}
        for task in world.log:
            queue = world.queues[task.queue]
            before = [world.queue_of(queue.workflow, stage).index for stage in queue.predecessors]
            assert all(end[stage, member] <= task.start for stage in before for member in task.members)


def test_finished_requests_ran_all_their_stages(episodes: list[WatchedWorld]) -> None:
    for world in episodes:
        ran = Counter(member for task in world.log for member in task.members)
        for request in world.requests:
            if request.finish is not None:
                assert ran[request.index] == len(world.scenario.workflows[request.workflow].functions)


def test_the_log_adds_up_to_the_costs_of_the_requests(episodes: list[WatchedWorld]) -> None:
    for world in episodes:
        prices, total = world.scenario.prices, 0.0
        for task in world.log:
            _, vcpu, vgpu = world.configs[task.config]
            usd_per_h = vcpu * prices.usd_per_vcpu_h + vgpu * prices.usd_per_vgpu_h
            total += task.billed / 100_000 / 3600 * usd_per_h
        assert sum(request.cost_usd for request in world.requests) == pytest.approx(total, rel=1e-9)


def test_tasks_start_in_the_order_of_the_log(episodes: list[WatchedWorld]) -> None:
    for world in episodes:
        assert all(before.start <= after.start for before, after in pairwise(world.log))
        assert all(len(task.members) == world.configs[task.config][0] for task in world.log)
        assert all(task.start < task.end for task in world.log)


def test_the_random_worlds_reach_the_edges(episodes: list[WatchedWorld]) -> None:
    tasks = [task for world in episodes for task in world.log]
    assert any(task.cold for task in tasks)
    assert any(len(task.members) > 1 for task in tasks)
    assert any(world.truncated for world in episodes)
    assert any(not world.truncated and not all(r.ended for r in world.requests if r.counted) for world in episodes)
    assert any(all(request.ended for request in world.requests) for world in episodes)
    assert any(request.shed for world in episodes for request in world.requests)
    assert any(request.hit for world in episodes for request in world.requests)


def test_worlds_of_one_structure_have_arrays_of_one_shape() -> None:
    def shape(seed: int) -> tuple[object, ...]:
        world = random_world(seed)
        stages = tuple(len(workflow.functions) for workflow in world.workflows)
        return world.grid.size, stages, len(world.functions), len(world.vcpu), world.requests.noise.shape

    assert all(shape(seed) == shape(seed % STRUCTURES) for seed in SEEDS)
    assert len({shape(seed) for seed in SEEDS}) <= STRUCTURES
    assert random_world(5).data_hash == random_world(5).data_hash != random_world(5 + STRUCTURES).data_hash
