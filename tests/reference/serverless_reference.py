"""An independent, slow and literal serverless platform: the oracle that the tests compare the fast one with.

One event at a time over plain lists. It reads a scenario's fields and nothing else of VariGym; NumPy is used only
where a figure must be rounded as 32-bit arithmetic rounds it.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from reference.serverless_parts import (
    TICKS_PER_MS,
    Container,
    Invoker,
    Queue,
    Request,
    Task,
    entry_stage,
    make_invokers,
    make_queues,
    make_requests,
    to_ticks,
    walk_order,
)
from varigym.scenarios.serverless.scenario import ServerlessScenario

TICKS_PER_S = 100_000
S_PER_H = 3600.0


class ReferenceWorld:
    """Call `visit`, then `take`, until `visit` gives None. `plan_delay` is in ticks."""

    def __init__(self, scenario: ServerlessScenario, plan_delay: int = 0) -> None:
        grid = scenario.grid
        self.scenario = scenario
        self.configs = [(b, c, g) for b in grid.batches for c in grid.vcpus for g in grid.vgpus]
        self.WAIT, self.DROP = len(self.configs), len(self.configs) + 1
        self.keep_alive = int(np.rint(scenario.keep_alive_s * TICKS_PER_S))
        self.horizon = to_ticks(scenario.horizon_ms)
        self.overhead = to_ticks(scenario.overhead_ms)
        self.cold_start = [max(1, to_ticks(function.cold_start_ms)) for function in scenario.functions]
        self.requests = make_requests(scenario, plan_delay)
        self.queues = make_queues(scenario)
        self.invokers = make_invokers(scenario)
        self.now = 0
        self.over = False
        self.truncated = False
        self.log: list[Task] = []
        self.running: list[Task] = []
        self.preparing: list[Container] = []
        self.coming = list(self.requests)
        self.cursor: Queue | None = None
        self.last_served = len(self.queues) - 1
        self.tickets_given = 0
        self.controller_free = 0

    # --- what comes next: a decision, an event or the end ---

    def visit(self) -> int | None:
        """Process events until a decision is due: the queue it is for, or None when the episode is over."""
        self.cursor = None
        while not self.over:
            free = self.controller_free <= self.now
            eligible = [queue for queue in self.queues if free and self.is_eligible(queue)]
            if all(request.ended for request in self.requests if request.counted):
                self.over = True
            elif eligible:
                self.cursor = min(eligible, key=self.turn)
                return self.cursor.index
            else:
                self.next_tick()
        return None

    def is_eligible(self, queue: Queue) -> bool:
        """Something to do, not told to wait, and room for the smallest configuration somewhere."""
        least_vcpu, least_vgpu = min(self.scenario.grid.vcpus), min(self.scenario.grid.vgpus)
        room = any(i.free_vcpu >= least_vcpu and i.free_vgpu >= least_vgpu for i in self.invokers)
        return bool(queue.jobs) and not queue.waiting and room

    def turn(self, queue: Queue) -> tuple[int, int, int]:
        """The smallest is visited first."""
        if self.scenario.scan == "slack":
            return (queue.jobs[0].deadline - self.now, queue.index, 0)
        if self.scenario.scan == "longest":
            return (-len(queue.jobs), queue.index, 0)
        if queue.ticket is not None:
            return (0, queue.ticket, 0)
        return (1, (queue.index - self.last_served - 1) % len(self.queues), 0)

    def next_tick(self) -> None:
        """Move to the next event and process all of its tick: task ends, then containers, then arrivals."""
        events = [task.end for task in self.running]
        events += [container.stamp for container in self.preparing]
        events += [request.joins for request in self.coming]
        events += [self.controller_free] if self.controller_free > self.now else []
        if not events:
            self.over = True
        elif min(events) > self.horizon:
            self.now, self.over, self.truncated = self.horizon, True, True
        else:
            self.now = min(events)
            for task in sorted([t for t in self.running if t.end == self.now], key=lambda t: t.slot):
                self.task_ends(task)
            for container in [c for c in self.preparing if c.stamp == self.now]:
                self.container_ready(container)
            for request in [r for r in self.coming if r.joins == self.now]:
                self.request_joins(request)

    # --- events ---

    def task_ends(self, task: Task) -> None:
        """Give back what it held, then let its requests go on."""
        self.running.remove(task)
        _, vcpu, vgpu = self.configs[task.config]
        queue, invoker = self.queues[task.queue], self.invokers[task.invoker]
        invoker.free_vcpu += vcpu
        invoker.free_vgpu += vgpu
        invoker.containers.append(Container(queue.function, self.now))
        self.release()
        for request in task.requests:
            request.ran_on[queue.stage] = invoker.index
            if not queue.successors and not request.shed:
                request.finish = self.now
        for stage in queue.successors:
            for request in task.requests:
                self.go_on(request, self.queue_of(request.workflow, stage))

    def go_on(self, request: Request, queue: Queue) -> None:
        """Join the queue of a successor once all its predecessors have ended; a shed request goes nowhere."""
        if not request.shed and all(stage in request.ran_on for stage in queue.predecessors):
            self.join(request, queue)

    def container_ready(self, container: Container) -> None:
        self.preparing.remove(container)
        self.release()

    def request_joins(self, request: Request) -> None:
        self.coming.remove(request)
        self.join(request, self.queue_of(request.workflow, entry_stage(self.queues, request.workflow)))

    def join(self, request: Request, queue: Queue) -> None:
        queue.jobs.append(request)
        queue.waiting = False

    def release(self) -> None:
        """Something became free: every queue may try again."""
        for queue in self.queues:
            queue.waiting = False

    def queue_of(self, workflow: int, stage: int) -> Queue:
        return next(q for q in self.queues if (q.workflow, q.stage) == (workflow, stage))

    # --- the decision ---

    def legal(self) -> list[bool]:
        """Of every action for the queue at the cursor: the configurations, WAIT, DROP."""
        return [self.invoker_for(x) is not None for x in range(len(self.configs))] + [True, True]

    def take(self, action: int) -> None:
        """Carry out a decision for the queue at the cursor."""
        queue = self._at_cursor()
        if not self.legal()[action]:
            raise ValueError(f"action {action} is not legal for queue {queue.index} at tick {self.now}")
        self.cursor = None
        self.controller_free = self.now + self.overhead
        if action == self.WAIT:
            self.wait(queue)
            return
        if action == self.DROP:
            queue.jobs.pop(0).shed = True
        else:
            self.dispatch(queue, action)
        queue.fails, queue.ticket, self.last_served = 0, None, queue.index

    def wait(self, queue: Queue) -> None:
        queue.waiting = True
        queue.fails += 1
        if queue.ticket is None:
            queue.ticket = self.tickets_given
            self.tickets_given += 1

    def dispatch(self, queue: Queue, config: int) -> None:
        """Start a task of the first jobs of the queue."""
        batch, vcpu, vgpu = self.configs[config]
        invoker = self._invoker(queue, config)
        assert invoker is not None
        requests, queue.jobs = queue.jobs[:batch], queue.jobs[batch:]
        transfer = self.transfer_ticks(queue, requests, invoker)
        execution = self.execution_ticks(queue, config, requests[0])
        invoker.free_vcpu -= vcpu
        invoker.free_vgpu -= vgpu
        cold = not self.take_container(invoker, queue.function)
        cold_ticks = self.cold_start[queue.function] if cold else 0
        billed = transfer + execution + (cold_ticks if self.scenario.bill_cold else 0)
        end = self.controller_free + cold_ticks + transfer + execution
        task = Task(
            self.free_slot(), self.controller_free, end, queue.index, config, invoker.index, cold, billed, requests
        )
        self.running.append(task)
        self.log.append(task)
        self.charge(task)
        self.prewarm(queue, invoker)

    def free_slot(self) -> int:
        """The lowest number that no running task has."""
        taken = {task.slot for task in self.running}
        return min(slot for slot in range(len(taken) + 1) if slot not in taken)

    def take_container(self, invoker: Invoker, function: int) -> bool:
        """Take the warm container used last; False if there is none."""
        warm = [c for c in invoker.containers if self.is_warm(c, function)]
        if warm:
            invoker.containers.remove(max(warm, key=lambda container: container.stamp))
        return bool(warm)

    def charge(self, task: Task) -> None:
        """Every job of the batch bears an equal part of the cost."""
        batch, vcpu, vgpu = self.configs[task.config]
        prices = self.scenario.prices
        usd_per_s = vcpu * (prices.usd_per_vcpu_h / S_PER_H) + vgpu * (prices.usd_per_vgpu_h / S_PER_H)
        cost_usd = task.billed / TICKS_PER_S * usd_per_s
        for request in task.requests:
            request.cost_usd += cost_usd / batch
            request.cold_starts += task.cold

    def prewarm(self, queue: Queue, invoker: Invoker) -> None:
        """Order a container for every successor's function that has none idle or in preparation here."""
        if not self.scenario.prewarm:
            return
        for stage in queue.successors:
            function = self.queue_of(queue.workflow, stage).function
            alive = [c for c in invoker.containers if c.stamp > self.now - self.keep_alive]
            if not any(container.function == function for container in alive):
                ordered = Container(function, self.now + self.cold_start[function])
                invoker.containers.append(ordered)
                self.preparing.append(ordered)

    # --- how long a task takes ---

    def transfer_ticks(self, queue: Queue, requests: Sequence[Request], invoker: Invoker) -> int:
        """All pieces of one invoker travel together; invokers send at the same time, so the slowest decides."""
        sources = [request.ran_on[stage] for request in requests for stage in queue.predecessors]
        return max((self._from_source(queue, s, sources.count(s), invoker) for s in set(sources)), default=0)

    def _from_source(self, queue: Queue, source: int, pieces: int, invoker: Invoker) -> int:
        way = self.scenario.transfer
        local = source == invoker.index
        ms, gb_s = (way.local_ms, way.local_gb_s) if local else (way.remote_ms, way.remote_gb_s)
        piece_mb = self.scenario.functions[queue.function].input_mb / len(queue.predecessors)
        ticks_per_piece = np.float32(piece_mb / gb_s * TICKS_PER_MS)  # 1 MB at 1 GB/s takes 1 ms
        return int(np.rint(np.float32(ms * TICKS_PER_MS) + np.float32(pieces) * ticks_per_piece))

    def execution_ticks(self, queue: Queue, config: int, head: Request) -> int:
        """The mean latency of the batch times the head request's noise."""
        mean = max(1, to_ticks(float(self.scenario.functions[queue.function].latency_ms[config])))
        noise = np.float32(self.scenario.requests.noise[head.index, queue.stage])
        return max(1, int(np.rint(np.float32(mean) * noise)))

    # --- where a task runs ---

    def invoker_for(self, config: int) -> int | None:
        """The invoker that a configuration would run on now, for the queue at the cursor; None if it cannot."""
        invoker = self._invoker(self._at_cursor(), config)
        return None if invoker is None else invoker.index

    def _invoker(self, queue: Queue, config: int) -> Invoker | None:
        batch, vcpu, vgpu = self.configs[config]
        if batch > len(queue.jobs):
            return None
        fitting = [i for i in self.invokers if i.free_vcpu >= vcpu and i.free_vgpu >= vgpu]
        local = {i.index: self.local_pieces(queue, batch, i) for i in fitting}
        warm = [i for i in fitting if self.has_warm(i, queue.function)]
        if near := [i for i in warm if local[i.index] > 0]:
            return min(near, key=lambda i: (-local[i.index], i.index))
        if warm:
            return min(warm, key=lambda i: (i.free_vgpu, i.index))
        in_time = self.cold_start[queue.function] < queue.jobs[0].deadline - self.now
        if near := [i for i in fitting if local[i.index] > 0 and in_time]:
            return min(near, key=lambda i: (-local[i.index], i.index))
        if not queue.predecessors or not any(self.has_warm(i, queue.function) for i in self.invokers):
            walk = walk_order(self.scenario.functions[queue.function].name, len(self.invokers))
            return min(fitting, key=lambda i: walk.index(i.index), default=None)
        return None

    def local_pieces(self, queue: Queue, batch: int, invoker: Invoker) -> int:
        """Input pieces of the first jobs of the queue that lie on an invoker."""
        if not self.scenario.locality:
            return 0
        return sum(job.ran_on[s] == invoker.index for job in queue.jobs[:batch] for s in queue.predecessors)

    def has_warm(self, invoker: Invoker, function: int) -> bool:
        return any(self.is_warm(container, function) for container in invoker.containers)

    def is_warm(self, container: Container, function: int) -> bool:
        return container.function == function and self.now - self.keep_alive < container.stamp <= self.now

    def _at_cursor(self) -> Queue:
        if self.cursor is None:
            raise ValueError("no decision is due; call visit")
        return self.cursor

    # --- views ---

    @property
    def lengths(self) -> list[int]:
        return [len(queue.jobs) for queue in self.queues]

    @property
    def free_vcpu(self) -> list[int]:
        return [invoker.free_vcpu for invoker in self.invokers]

    @property
    def free_vgpu(self) -> list[int]:
        return [invoker.free_vgpu for invoker in self.invokers]
