"""The JAX serverless platform one decision at a time, and its state in plain Python, to compare and to check."""

from __future__ import annotations

from dataclasses import dataclass, replace

import jax
import jax.numpy as jnp
import numpy as np
from numpy.typing import NDArray
from varigym.envs.serverless.containers import is_kept
from varigym.envs.serverless.decisions import LOG_COLUMNS, decide
from varigym.envs.serverless.dispatch import site_of
from varigym.envs.serverless.dynamics import initial_state, settle
from varigym.envs.serverless.queues import enlarge, places_of
from varigym.envs.serverless.state import BATCH, CONFIG, EMPTY, INVOKER, MEMBERS, NEVER, NO_TICKET, QUEUE, State, World
from varigym.envs.serverless.view import View, observe
from varigym.envs.serverless.world import rows, stack
from varigym.scenarios.serverless.scenario import ServerlessScenario

LOGGED = 512
"""Rows of the log; the worlds of the tests have fewer tasks."""


@dataclass(frozen=True)
class Shape:
    """Sizes that worlds are padded to, so that they share a compilation."""

    slots: int = 24
    containers: int = 8
    branches: int = 4
    most: int = 4
    """Largest batch."""


def world_of(scenario: ServerlessScenario, shape: Shape | None = None, plan_delay: int = 0) -> World:
    """A prepared world, stacked alone; `shape` adds places that no task, container, branch or piece takes."""
    world = replace(stack([scenario]), plan_delay=jnp.array([plan_delay], jnp.int32))
    return world if shape is None else _padded(world, shape)


def _padded(world: World, shape: Shape) -> World:
    def wider(leaf: jax.Array, width: int, value: int) -> jax.Array:
        more = width - leaf.shape[-1]
        assert more >= 0
        return jnp.pad(leaf, [(0, 0)] * (leaf.ndim - 1) + [(0, more)], constant_values=value)

    forks = max(world.successors.shape[-1], world.predecessors.shape[-1]) > 1
    branches = shape.branches if forks else 1
    return replace(
        world,
        task_slots=wider(world.task_slots, shape.slots, 0),
        warm=wider(world.warm, shape.containers, EMPTY),
        successors=wider(world.successors, branches, -1),
        predecessors=wider(world.predecessors, branches, -1),
        transfer_ticks=wider(world.transfer_ticks, shape.most * branches + 1, 0),
    )


@jax.jit
def _advance(worlds: World, state: State, action: jax.Array, begins: jax.Array, until: jax.Array) -> tuple[State, View]:
    world = rows(worlds, jnp.int32(0))
    world = replace(world, horizon=jnp.minimum(world.horizon, until))
    decided = decide(world, state, site_of(world, state), action)
    state = settle(world, jax.tree.map(lambda old, new: jnp.where(begins, old, new), state, decided))
    return state, observe(world, state, site_of(world, state))


def start(worlds: World, places: int = 128, until: int = NEVER) -> tuple[State, View]:
    """The first decision of a world, or what has become of it by tick `until`."""
    state = initial_state(rows(worlds, jnp.int32(0)), places, LOGGED)
    return _advance(worlds, state, jnp.int32(0), jnp.bool_(True), jnp.int32(until))


def step(worlds: World, state: State, action: int, until: int = NEVER) -> tuple[State, View]:
    """The decision after `action`, or what has become of it by tick `until`."""
    return _advance(worlds, state, jnp.int32(action), jnp.bool_(False), jnp.int32(until))


def enlarged(worlds: World, state: State, view: View, places: int = 128) -> tuple[State, View]:
    """The same; where a queue needed more places it has them now and the world has gone on."""
    if not bool(state.overflow):
        return state, view
    queues = enlarge(state.queues, places, state.tasks.row.shape[1] - MEMBERS)
    state = replace(state, queues=queues, overflow=jnp.bool_(False))
    return _advance(worlds, state, jnp.int32(0), jnp.bool_(True), jnp.int32(NEVER))


def is_over(state: State) -> bool:
    return bool(state.terminated | state.truncated)


# --- a state in plain Python ---


@dataclass(frozen=True)
class Moment:
    """Everything that a state says, without its padding."""

    now: int
    jobs: tuple[tuple[int, ...], ...]
    """Requests in each queue, head first."""
    waiting: tuple[bool, ...]
    fails: tuple[int, ...]
    tickets: tuple[int | None, ...]
    tickets_given: int
    last_served: int
    controller_free: int
    free_vcpu: tuple[int, ...]
    free_vgpu: tuple[int, ...]
    running: tuple[tuple[int, ...], ...]
    """(slot, end, queue, config, invoker, members...), by slot."""
    containers: tuple[tuple[tuple[int, ...], ...], ...]
    """Stamps by invoker and function, of those that are kept."""
    tally: tuple[int, int, int, int]
    """Of counted requests: ended, served, hits, shed."""


def moment(worlds: World, state: State) -> Moment:
    """What `state` says."""
    state = jax.device_get(state)
    queues, tally = state.queues, state.tally
    return Moment(
        now=int(state.now),
        jobs=_jobs(state),
        waiting=tuple(queues.waiting.tolist()),
        fails=tuple(queues.fails.tolist()),
        tickets=tuple(None if ticket == NO_TICKET else ticket for ticket in queues.ticket.tolist()),
        tickets_given=int(state.tickets),
        last_served=int(state.last_served),
        controller_free=int(state.controller_free),
        free_vcpu=tuple(state.invokers.free_vcpu.tolist()),
        free_vgpu=tuple(state.invokers.free_vgpu.tolist()),
        running=_running(state),
        containers=_containers(worlds, state),
        tally=(int(tally.ended), int(tally.served), int(tally.hits), int(tally.shed)),
    )


def _jobs(state: State) -> tuple[tuple[int, ...], ...]:
    most = state.tasks.row.shape[1] - MEMBERS
    request = np.asarray(state.queues.request)
    places = places_of(state.queues, most)
    ends = zip(state.queues.head.tolist(), state.queues.length.tolist(), strict=True)
    return tuple(
        tuple(request[queue, most + (head + np.arange(length)) % places].tolist())
        for queue, (head, length) in enumerate(ends)
    )


def _running(state: State) -> tuple[tuple[int, ...], ...]:
    end, row = np.asarray(state.tasks.end), np.asarray(state.tasks.row)
    return tuple(
        (int(slot), int(end[slot]), *row[slot, [QUEUE, CONFIG, INVOKER]].tolist(), *_members(row[slot]))
        for slot in np.flatnonzero(end < NEVER)
    )


def _containers(worlds: World, state: State) -> tuple[tuple[tuple[int, ...], ...], ...]:
    stamp = np.asarray(state.invokers.stamp)
    kept = np.asarray(is_kept(stamp, state.now, np.asarray(worlds.keep_alive[0])))
    return tuple(
        tuple(tuple(sorted(row[here].tolist())) for row, here in zip(*functions, strict=True))
        for functions in zip(stamp, kept, strict=True)
    )


def _members(row: NDArray[np.int32]) -> list[int]:
    """Requests of a task row, in batch order."""
    members: list[int] = row[MEMBERS : MEMBERS + row[BATCH]].tolist()
    return members


def task_log(state: State) -> list[tuple[int, ...]]:
    """(start, end, queue, config, invoker, cold, billed, members...) of every task, in the order of the log."""
    table = np.asarray(state.log.row)[: int(state.log.count)]
    times, tasks = table[:, :LOG_COLUMNS].tolist(), table[:, LOG_COLUMNS:]
    return [
        (start, end, *task[[QUEUE, CONFIG, INVOKER]].tolist(), cold, billed, *_members(task))
        for (start, end, billed, cold), task in zip(times, tasks, strict=True)
        if task[INVOKER] >= 0
    ]
