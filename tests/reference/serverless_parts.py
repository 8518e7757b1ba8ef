"""The objects that the reference simulator of the serverless platform moves, as a scenario describes them."""

from __future__ import annotations

import zlib
from collections.abc import Sequence
from dataclasses import dataclass, field
from math import gcd

import numpy as np
from varigym.scenarios.serverless.scenario import ServerlessScenario

TICKS_PER_MS = 100


@dataclass(eq=False)
class Request:
    """One run of a workflow; its stages that ended are the keys of `ran_on`."""

    index: int
    workflow: int
    arrival: int
    joins: int  # when the controller sees it: arrival + planning time of the policy
    deadline: int
    counted: bool
    ran_on: dict[int, int] = field(default_factory=dict)  # stage -> invoker
    finish: int | None = None
    shed: bool = False
    cost_usd: float = 0.0
    cold_starts: int = 0

    @property
    def ended(self) -> bool:
        return self.shed or self.finish is not None

    @property
    def latency(self) -> int | None:
        return None if self.finish is None else self.finish - self.arrival

    @property
    def hit(self) -> bool:
        return self.finish is not None and self.finish <= self.deadline


@dataclass(eq=False)
class Queue:
    """Jobs of one stage of one workflow, first in first out: a job is its request."""

    index: int
    workflow: int
    stage: int
    function: int
    predecessors: list[int]  # stages
    successors: list[int]
    jobs: list[Request] = field(default_factory=list)
    waiting: bool = False
    fails: int = 0
    ticket: int | None = None


@dataclass(eq=False)
class Container:
    """Not in use: idle since `stamp`, or being prepared until then if that is still to come."""

    function: int
    stamp: int


@dataclass(eq=False)
class Invoker:
    """A machine and its unused containers."""

    index: int
    free_vcpu: int
    free_vgpu: int
    containers: list[Container] = field(default_factory=list)


@dataclass(eq=False)
class Task:
    """A batch that runs, or has run; a row of the log."""

    slot: int
    start: int
    end: int
    queue: int
    config: int
    invoker: int
    cold: bool
    billed: int
    requests: list[Request]

    @property
    def members(self) -> list[int]:
        return [request.index for request in self.requests]


def to_ticks(ms: float) -> int:
    return int(np.rint(ms * TICKS_PER_MS))


def make_requests(scenario: ServerlessScenario, plan_delay: int) -> list[Request]:
    requests = []
    table = scenario.requests
    for index in range(len(table.arrival_ms)):
        workflow, arrival = int(table.workflow[index]), to_ticks(float(table.arrival_ms[index]))
        deadline = arrival + to_ticks(scenario.workflows[workflow].slo_ms)
        counted = bool(table.counted[index])
        requests.append(Request(index, workflow, arrival, arrival + plan_delay, deadline, counted))
    return requests


def make_queues(scenario: ServerlessScenario) -> list[Queue]:
    queues: list[Queue] = []
    for w, workflow in enumerate(scenario.workflows):
        for stage, function in enumerate(workflow.functions):
            before = sorted(u for u, v in workflow.edges if v == stage)
            after = sorted(v for u, v in workflow.edges if u == stage)
            queues.append(Queue(len(queues), w, stage, function, before, after))
    return queues


def make_invokers(scenario: ServerlessScenario) -> list[Invoker]:
    invokers = []
    for index, (vcpu, vgpu) in enumerate(zip(scenario.vcpu, scenario.vgpu, strict=True)):
        pool = [Container(f, 0) for f in range(len(scenario.functions)) for _ in range(scenario.warm)]
        invokers.append(Invoker(index, int(vcpu), int(vgpu), pool))
    return invokers


def entry_stage(queues: Sequence[Queue], workflow: int) -> int:
    return next(q.stage for q in queues if q.workflow == workflow and not q.predecessors)


def walk_order(name: str, invokers: int) -> list[int]:
    """The order in which a function looks for room: from its home in steps that reach every invoker."""
    crc = zlib.crc32(name.encode())
    coprime = [k for k in range(1, invokers + 1) if gcd(k, invokers) == 1]
    home, step = crc % invokers, coprime[crc % len(coprime)]
    return [(home + n * step) % invokers for n in range(invokers)]
