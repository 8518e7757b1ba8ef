"""Turns scenarios into prepared worlds, on the host: times in ticks, and tables for the dynamics."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import fields, replace
from math import gcd
from typing import Any
from zlib import crc32

import jax
import jax.numpy as jnp
import numpy as np
from numpy.typing import NDArray

from ...scenarios.serverless.scenario import Scan, ServerlessScenario
from .state import EMPTY, NEVER, TICKS_PER_MS, TICKS_PER_S, World

SCANS = tuple(Scan)
"""Scan orders by number."""
REQUEST_STEP = 256
"""Worlds are padded to a multiple of this many requests, so that few shapes are compiled."""
RATE_S = 10
"""Arrival rates are counted over this many seconds."""
S_PER_H = 3600.0


def to_ticks(ms: NDArray[np.float64] | float) -> NDArray[np.int32]:
    """Convert milliseconds to whole ticks; halves are rounded to even."""
    return np.rint(np.asarray(ms, np.float64) * TICKS_PER_MS).astype(np.int32)


def latency_ticks(scenario: ServerlessScenario) -> NDArray[np.int32]:
    """Return the mean run times [F, X], at least one tick each."""
    return np.maximum(1, np.stack([to_ticks(function.latency_ms) for function in scenario.functions]))


def usd_per_tick(scenario: ServerlessScenario) -> NDArray[np.float64]:
    """Return the cost of each configuration per tick [X]."""
    prices, grid = scenario.prices, scenario.grid
    per_h = grid.vcpu * prices.usd_per_vcpu_h + grid.vgpu * prices.usd_per_vgpu_h
    return np.asarray(per_h / S_PER_H / TICKS_PER_S, np.float64)


def stack(scenarios: Sequence[ServerlessScenario]) -> World:
    """Stack the worlds of one platform, padded to the same number of requests; leaves are [M, ...]."""
    most = max(len(scenario.requests.arrival_ms) for scenario in scenarios)
    padded = -(-most // REQUEST_STEP) * REQUEST_STEP
    worlds = [_columns(scenario, padded) for scenario in scenarios]
    return World(**{f.name: jnp.asarray(np.stack([world[f.name] for world in worlds])) for f in fields(World)})


def fastest_ticks(scenario: ServerlessScenario) -> NDArray[np.int32]:
    """Return the fewest ticks from the start of each queue's stage to the end of its workflow [Q], at any cost."""
    fastest = latency_ticks(scenario).min(axis=1)
    found: list[int] = []
    for workflow in scenario.workflows:
        left = [0] * workflow.stages
        for stage in reversed(range(workflow.stages)):
            after = max((left[s] for s in workflow.successors[stage]), default=0)
            left[stage] = int(fastest[workflow.functions[stage]]) + after
        found += left
    return np.array(found, np.int32)


def cheapest_usd(scenario: ServerlessScenario) -> NDArray[np.float64]:
    """Return the least cost of a job from each queue's stage to the end of its workflow [Q], including branches."""
    least = (latency_ticks(scenario) * usd_per_tick(scenario) / scenario.grid.batch).min(axis=1)
    found: list[float] = []
    for workflow in scenario.workflows:
        ahead: list[set[int]] = [set()] * workflow.stages
        for stage in reversed(range(workflow.stages)):
            ahead[stage] = {stage}.union(*(ahead[s] for s in workflow.successors[stage]))
        found += [sum(float(least[workflow.functions[s]]) for s in stages) for stages in ahead]
    return np.array(found)


def stages_left(scenario: ServerlessScenario) -> NDArray[np.int32]:
    """Count the stages on the longest path from each queue's stage, itself included, to the workflow's end [Q]."""
    found: list[int] = []
    for workflow in scenario.workflows:
        left = [1] * workflow.stages
        for stage in reversed(range(workflow.stages)):
            left[stage] = 1 + max((left[s] for s in workflow.successors[stage]), default=0)
        found += left
    return np.array(found, np.int32)


def with_plan_delay(worlds: World, ticks: jax.Array) -> World:
    """Return the same worlds, but each request joins its first queue `ticks` after its arrival."""
    return replace(worlds, plan_delay=jnp.broadcast_to(ticks, worlds.plan_delay.shape))


def without_locality(worlds: World) -> World:
    """Return the same worlds, but dispatch ignores where inputs are."""
    return replace(worlds, locality=jnp.zeros_like(worlds.locality))


def tasks_at_once(scenario: ServerlessScenario) -> NDArray[np.int64]:
    """Return the most tasks that each invoker can hold [I]."""
    grid = scenario.grid
    return np.asarray(np.minimum(scenario.vcpu // min(grid.vcpus), scenario.vgpu // min(grid.vgpus)), np.int64)


def walk_of(name: str, invokers: int) -> NDArray[np.int32]:
    """Return each invoker's place in a function's walk [I]: from a home, in steps that visit all (OpenWhisk's rule)."""
    number = crc32(name.encode())
    coprime = [step for step in range(1, invokers + 1) if gcd(step, invokers) == 1]
    home, step = number % invokers, coprime[number % len(coprime)]
    place = np.empty(invokers, np.int32)
    place[(home + np.arange(invokers) * step) % invokers] = np.arange(invokers)
    return place


def _columns(scenario: ServerlessScenario, requests: int) -> dict[str, Any]:
    grid = scenario.grid
    return {
        **_requests(scenario, requests),
        **_queues(scenario),
        "latency_ticks": latency_ticks(scenario),
        "cold_ticks": np.maximum(1, to_ticks(np.array([f.cold_start_ms for f in scenario.functions]))),
        "walk": np.stack([walk_of(function.name, scenario.invokers) for function in scenario.functions]),
        "batches": np.array(grid.batches, np.int32),
        "vcpus": np.array(grid.vcpus, np.int32),
        "vgpus": np.array(grid.vgpus, np.int32),
        "usd_per_tick": usd_per_tick(scenario),
        "vcpu": scenario.vcpu,
        "vgpu": scenario.vgpu,
        "warm": _stamps(scenario),
        "keep_alive": np.rint(min(scenario.keep_alive_s * TICKS_PER_S, NEVER // 2)).astype(np.int32),
        "prewarm": np.bool_(scenario.prewarm),
        "bill_cold": np.bool_(scenario.bill_cold),
        "locality": np.bool_(scenario.locality),
        "overhead": to_ticks(scenario.overhead_ms),
        "scan": np.int32(SCANS.index(scenario.scan)),
        "plan_delay": np.int32(0),
        "horizon": to_ticks(scenario.horizon_ms),
        "task_slots": np.zeros(int(tasks_at_once(scenario).sum()), np.int8),
    }


def _requests(scenario: ServerlessScenario, padded: int) -> dict[str, NDArray[np.generic]]:
    requests = scenario.requests
    arrival, count = to_ticks(requests.arrival_ms), len(requests.arrival_ms)
    number = np.arange(count)
    of_workflow = requests.workflow[:, None] == np.arange(len(scenario.workflows))[None, :]
    before = np.concatenate([np.zeros((1, of_workflow.shape[1]), np.int64), np.cumsum(of_workflow, axis=0)])
    since = np.searchsorted(arrival, arrival - RATE_S * TICKS_PER_S, side="right")
    recent = np.concatenate([np.zeros_like(before[:1]), before[number + 1] - before[since]])

    def column(values: NDArray[np.generic], rest: object, kind: type) -> NDArray[np.generic]:
        full = np.full((padded + 1, *values.shape[1:]), rest, kind)
        full[: len(values)] = values
        return full

    return {
        "arrival": column(arrival, NEVER, np.int32),
        "workflow": column(requests.workflow, 0, np.int32),
        "counted": column(requests.counted, False, np.bool_),
        "noise": column(requests.noise[:, : scenario.stages], 1.0, np.float32),
        "recent": column(recent, 0, np.int32),
        "deadline_ticks": to_ticks(np.array([w.slo_ms for w in scenario.workflows])),
    }


def _queues(scenario: ServerlessScenario) -> dict[str, NDArray[np.generic]]:
    queues, workflows = scenario.queues, scenario.workflows
    first = np.cumsum([0, *(w.stages for w in workflows)])
    after = [[int(first[w]) + s for s in workflows[w].successors[stage]] for w, stage in queues]
    before = [list(workflows[w].predecessors[stage]) for w, stage in queues]
    function = [workflows[w].functions[stage] for w, stage in queues]
    return {
        "queue_function": np.array(function, np.int32),
        "queue_workflow": np.array([w for w, _ in queues], np.int32),
        "queue_stage": np.array([stage for _, stage in queues], np.int32),
        "successors": _table(after),
        "predecessors": _table(before),
        "entry_queue": first[:-1].astype(np.int32),
        "fastest_ticks": fastest_ticks(scenario),
        "cheapest_usd": cheapest_usd(scenario),
        "stages_left": stages_left(scenario),
        "transfer_ticks": np.stack(
            [_transfer(scenario, f, len(p), max(map(len, before))) for f, p in zip(function, before, strict=True)]
        ),
    }


def _transfer(scenario: ServerlessScenario, function: int, predecessors: int, most: int) -> NDArray[np.int32]:
    """Return the ticks to read pieces of input from one source [2, L*P+1]: local, remote. No pieces take 0."""
    transfer, pieces = scenario.transfer, np.arange(max(scenario.grid.batches) * max(most, 1) + 1)
    rows = []
    for fixed_ms, gb_s in ((transfer.local_ms, transfer.local_gb_s), (transfer.remote_ms, transfer.remote_gb_s)):
        per_piece = np.float32(scenario.functions[function].input_mb / max(predecessors, 1) / gb_s * TICKS_PER_MS)
        ticks = np.rint(np.float32(fixed_ms * TICKS_PER_MS) + pieces.astype(np.float32) * per_piece)
        rows.append(np.where(pieces > 0, ticks, 0).astype(np.int32))
    return np.stack(rows)


def _stamps(scenario: ServerlessScenario) -> NDArray[np.int32]:
    """Return initial stamps [N]; an invoker has as many containers per function as tasks at once, plus one prepared."""
    room = max(scenario.warm, int(tasks_at_once(scenario).max()) + 1)
    return np.where(np.arange(room) < scenario.warm, 0, EMPTY).astype(np.int32)


def _table(lists: Sequence[Sequence[int]]) -> NDArray[np.int32]:
    table = np.full((len(lists), max(1, *map(len, lists)) if lists else 1), -1, np.int32)
    for row, values in zip(table, lists, strict=True):
        row[: len(values)] = values
    return table


def rows(worlds: World, index: jax.Array) -> World:
    """Return world `index` of the stacked worlds."""
    return jax.tree.map(lambda leaf: leaf[index], worlds)
