"""Typed results of an episode, computed from the log on the host in float64. K counted requests, T tasks, L jobs."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ...scenarios.serverless.scenario import ServerlessScenario
from .episode import Outcome
from .state import BATCH, CONFIG, INVOKER, MEMBERS, QUEUE, TICKS_PER_MS
from .world import to_ticks, usd_per_tick

Floats = NDArray[np.float64]
Ints = NDArray[np.int32]
Bools = NDArray[np.bool_]
NOBODY = -1
"""Pads the members of a batch that is not full."""
_START, _END, _BILLED, _COLD, _ROW = range(5)
"""Columns of the log; the task row begins at the last one."""


@dataclass(frozen=True)
class RequestRecord:
    """Counted requests in arrival order; all arrays [K]."""

    request_id: Ints
    """Index among all requests of the scenario."""
    workflow: NDArray[np.str_]
    arrival_ms: Floats
    finish_ms: Floats
    """End of the exit stage; NaN if the request was shed or the episode ended before."""
    slo_ms: Floats
    latency_ms: Floats
    """Finish - arrival."""
    hit: Bools
    """Whether the request finished within its SLO."""
    shed: Bools
    """Whether the scheduler dropped the request."""
    cost_usd: Floats
    """Its equal part of the cost of each of its tasks, including tasks that the end of the episode cut off."""
    cold_starts: Ints
    """Number of its tasks that had to wait for a new container."""


@dataclass(frozen=True)
class TaskRecord:
    """Tasks in order of dispatch; all arrays [T]."""

    decided_ms: Floats
    """The task holds its resources from this time to its end."""
    start_ms: Floats
    end_ms: Floats
    """Planned end; later than the end of the episode if that cut the task off."""
    billed_ms: Floats
    cost_usd: Floats
    cold: Bools
    queue: Ints
    invoker: Ints
    config: Ints
    batch: Ints
    members: Ints
    """Request ids [T, L] in batch order, then `NOBODY`."""
    counted: Bools
    """Whether a counted request is among the members."""


@dataclass(frozen=True)
class Record:
    """The results of one episode, with the scenario, policy, seed and data that produced them."""

    scenario: str
    policy: str
    seed: int
    data_hash: str
    requests: RequestRecord
    tasks: TaskRecord
    workflows: tuple[str, ...]
    window_ms: tuple[float, float]
    """Measured window [from, to)."""
    task_vgpu: Ints
    """vGPUs that each task holds [T]."""
    vgpus: int
    """vGPUs of all invokers."""
    end_ms: float
    """Time at which the episode ended."""
    truncated: bool
    """Whether the episode was cut off at the horizon."""
    visits: int
    """Number of decisions."""
    misses: int
    """Tasks that a static planner could not run as planned."""
    seconds: float
    """Wall time of the compiled episode."""

    @property
    def unfinished(self) -> int:
        """Number of counted requests that were neither finished nor shed."""
        return int((np.isnan(self.requests.finish_ms) & ~self.requests.shed).sum())


def make_record(scenario: ServerlessScenario, policy: str, seed: int, outcome: Outcome) -> Record:
    """Make the record of `outcome` on `scenario`."""
    is_task = outcome.log[:, _ROW + INVOKER] >= 0
    tasks = _tasks(scenario, outcome.log[is_task])
    return Record(
        scenario=scenario.name,
        policy=policy,
        seed=seed,
        data_hash=scenario.data_hash,
        requests=_requests(scenario, outcome, tasks, outcome.log[~is_task, _ROW + MEMBERS]),
        tasks=tasks,
        workflows=tuple(workflow.name for workflow in scenario.workflows),
        window_ms=scenario.window_ms,
        task_vgpu=scenario.grid.vgpu[tasks.config],
        vgpus=int(scenario.vgpu.sum()),
        end_ms=outcome.end / TICKS_PER_MS,
        truncated=outcome.truncated,
        visits=outcome.visits,
        misses=outcome.misses,
        seconds=outcome.seconds,
    )


def _tasks(scenario: ServerlessScenario, log: Ints) -> TaskRecord:
    row = log[:, _ROW:]
    batch, config = row[:, BATCH], row[:, CONFIG]
    there = np.arange(row.shape[1] - MEMBERS) < batch[:, None]
    counted = there & scenario.requests.counted[np.where(there, row[:, MEMBERS:], 0)]
    return TaskRecord(
        decided_ms=_ms(log[:, _START] - int(to_ticks(scenario.overhead_ms))),
        start_ms=_ms(log[:, _START]),
        end_ms=_ms(log[:, _END]),
        billed_ms=_ms(log[:, _BILLED]),
        cost_usd=log[:, _BILLED] * usd_per_tick(scenario)[config],
        cold=log[:, _COLD] > 0,
        queue=row[:, QUEUE],
        invoker=row[:, INVOKER],
        config=config,
        batch=batch,
        members=np.where(there, row[:, MEMBERS:], NOBODY),
        counted=np.asarray(counted.any(axis=1)),
    )


def _requests(scenario: ServerlessScenario, outcome: Outcome, tasks: TaskRecord, dropped: Ints) -> RequestRecord:
    requests, number, keep = scenario.requests, len(scenario.requests.arrival_ms), scenario.requests.counted
    of_task, place = np.nonzero(tasks.members != NOBODY)  # every (task, member), in dispatch order
    member = tasks.members[of_task, place]
    shed = np.zeros(number, bool)
    shed[dropped] = True
    finish_ms = _finish_ms(scenario, outcome, tasks)
    finish_ms[shed] = np.nan
    arrival_ms = _ms(to_ticks(requests.arrival_ms))
    slo_ms = _ms(to_ticks(np.array([workflow.slo_ms for workflow in scenario.workflows])))[requests.workflow]
    latency_ms = _ms(np.rint((finish_ms - arrival_ms) * TICKS_PER_MS))
    return RequestRecord(
        request_id=np.flatnonzero(keep).astype(np.int32),
        workflow=np.array([workflow.name for workflow in scenario.workflows])[requests.workflow[keep]],
        arrival_ms=arrival_ms[keep],
        finish_ms=finish_ms[keep],
        slo_ms=slo_ms[keep],
        latency_ms=latency_ms[keep],
        hit=(latency_ms <= slo_ms)[keep],
        shed=shed[keep],
        cost_usd=np.bincount(member, (tasks.cost_usd / tasks.batch)[of_task], number)[keep].astype(np.float64),
        cold_starts=np.bincount(member, tasks.cold[of_task], number)[keep].astype(np.int32),
    )


def _finish_ms(scenario: ServerlessScenario, outcome: Outcome, tasks: TaskRecord) -> Floats:
    """Return the end of the exit stage of every request [R]; NaN if the request did not reach it."""
    exits = np.array([not scenario.workflows[w].successors[stage] for w, stage in scenario.queues])
    ended = exits[tasks.queue] & (tasks.end_ms <= outcome.end / TICKS_PER_MS)
    members = tasks.members[ended]
    of_task, place = np.nonzero(members != NOBODY)
    finish_ms = np.full(len(scenario.requests.arrival_ms), np.nan)
    finish_ms[members[of_task, place]] = tasks.end_ms[ended][of_task]
    return finish_ms


def _ms(ticks: NDArray[np.generic]) -> Floats:
    return np.asarray(ticks, np.float64) / TICKS_PER_MS
