"""Events: a task ends, a container is ready, a request arrives, the controller is free again."""

from __future__ import annotations

from dataclasses import replace

import jax
import jax.numpy as jnp
from jax import lax

from ..loops import put as put_all
from .containers import next_ready, put
from .layout import deadline_of, forks, most_jobs, shares
from .queues import has_room, push
from .state import BATCH, CONFIG, INVOKER, MEMBERS, NEVER, QUEUE, Invokers, State, Tally, World


def next_join(world: World, state: State) -> jax.Array:
    """Return the tick at which the next request joins its first queue."""
    arrival = world.arrival[state.next_request]
    return jnp.where(arrival < NEVER, arrival + world.plan_delay, NEVER)


def next_event(world: World, state: State) -> State:
    """Process the earliest event; at the same tick first task ends, then containers, requests and the controller."""
    slot = jnp.argmin(state.tasks.end).astype(jnp.int32)
    end, join = state.tasks.end[slot], next_join(world, state)
    awake = jnp.where(state.controller_free > state.now, state.controller_free, NEVER)
    tick = jnp.minimum(jnp.minimum(end, state.ready), jnp.minimum(join, awake))
    room = has_room(state.queues, most_jobs(world))
    happens = (tick <= world.horizon) & room
    ends = happens & (end == tick)
    prepared = happens & ~ends & (state.ready == tick)
    joins = happens & ~ends & ~prepared & (join == tick)
    truncated = (tick > world.horizon) & (tick < NEVER)
    state = replace(
        state,
        now=jnp.where(happens, tick, jnp.where(truncated, world.horizon, state.now)),
        terminated=state.terminated | (tick == NEVER),
        truncated=state.truncated | truncated,
        overflow=~room & (tick <= world.horizon),
        queues=replace(state.queues, waiting=state.queues.waiting & ~(ends | prepared)),
        next_request=state.next_request + joins.astype(jnp.int32),
        ready=lax.cond(prepared, lambda: next_ready(state.invokers.stamp, tick), lambda: state.ready),
    )
    row = state.tasks.row[slot]
    return _move_on(world, _end_task(world, state, slot, row, ends), row, ends, joins)


def _end_task(world: World, state: State, slot: jax.Array, row: jax.Array, ends: jax.Array) -> State:
    """Free the resources of the task in `slot`, and count the requests that it finished."""
    queue, invoker = row[QUEUE], row[INVOKER]
    _, vcpu, vgpu = shares(world, row[CONFIG])
    here = (jnp.arange(world.vcpu.shape[0], dtype=jnp.int32) == invoker) & ends
    invokers = Invokers(
        jnp.where(here, state.invokers.free_vcpu + vcpu, state.invokers.free_vcpu),
        jnp.where(here, state.invokers.free_vgpu + vgpu, state.invokers.free_vgpu),
        put(state.invokers.stamp, invoker, world.queue_function[queue], state.now, ends),
    )
    own = jnp.arange(state.tasks.end.shape[0], dtype=jnp.int32) == slot
    freed = jnp.where(own & ends, NEVER, state.tasks.end)
    state = replace(state, invokers=invokers, tasks=replace(state.tasks, end=freed))
    last = ends & (world.successors[queue, 0] < 0)
    return replace(state, tally=_finish(world, state, row, last), ran_on=_remember(world, state, row, ends))


def _finish(world: World, state: State, row: jax.Array, last: jax.Array) -> Tally:
    members = row[MEMBERS:]
    there = jnp.arange(members.shape[0], dtype=jnp.int32) < row[BATCH]
    requests = jnp.where(there, members, world.arrival.shape[0] - 1)
    counted = world.counted[requests] & last
    if forks(world):
        counted &= ~state.is_shed[requests]
    latency = state.now - world.arrival[requests]
    hit = counted & (latency <= world.deadline_ticks[world.queue_workflow[row[QUEUE]]])
    served, hits = jnp.sum(counted, dtype=jnp.int32), jnp.sum(hit, dtype=jnp.int32)
    tally = state.tally
    return replace(
        tally,
        ended=tally.ended + served,
        served=tally.served + served,
        hits=tally.hits + hits,
        new_hits=tally.new_hits + hits,
    )


def _remember(world: World, state: State, row: jax.Array, ends: jax.Array) -> jax.Array:
    """Record the invoker on which a stage ran; only workflows that fork need it."""
    if not forks(world):
        return state.ran_on
    members = row[MEMBERS:]
    there = jnp.arange(members.shape[0], dtype=jnp.int32) < row[BATCH]
    stages = state.ran_on.shape[1]
    at = jnp.where(there & ends, members * stages + world.queue_stage[row[QUEUE]], -1)
    return put_all(state.ran_on.ravel(), at, jnp.full(at.shape, row[INVOKER])).reshape(-1, stages)


def _move_on(world: World, state: State, row: jax.Array, ends: jax.Array, joins: jax.Array) -> State:
    """Add requests to queues: those of an ended task to their next queues, or a new request to its first."""
    most = most_jobs(world)
    at = jnp.arange(most, dtype=jnp.int32)
    fresh = jnp.where(at == 0, state.next_request - joins.astype(jnp.int32), -1)
    entry = world.entry_queue[world.workflow[fresh[0]]]
    queues = state.queues
    for branch in range(world.successors.shape[1]):
        following = world.successors[row[QUEUE], branch]
        request, origin, count = _ready_jobs(world, state, row, following)
        count = jnp.where(ends & (following >= 0), count, 0)
        if branch == 0:
            following = jnp.where(joins, entry, following)
            request = jnp.where(joins, fresh, request)
            origin = jnp.where(joins, -1, origin)
            count = jnp.where(joins, 1, count)
        following = jnp.maximum(following, 0)
        queues = push(queues, following, request, origin, count, deadline_of(world, following, request[0]))
    return replace(state, queues=queues)


def _ready_jobs(world: World, state: State, row: jax.Array, queue: jax.Array) -> tuple[jax.Array, jax.Array, jax.Array]:
    """Return (requests [L], origins [L, P], count) of an ended task that may join `queue`, with all inputs complete."""
    members, there = row[MEMBERS:], jnp.arange(row.shape[0] - MEMBERS, dtype=jnp.int32) < row[BATCH]
    if not forks(world):
        return members, jnp.broadcast_to(row[INVOKER], (members.shape[0], 1)), row[BATCH]
    requests = jnp.where(there, members, world.arrival.shape[0] - 1)
    before = world.predecessors[queue]
    origin = jnp.where(before >= 0, state.ran_on[requests][:, jnp.maximum(before, 0)], -1)
    complete = jnp.all((origin >= 0) | (before < 0)[None], axis=1)
    joins = there & complete & ~state.is_shed[requests]
    place = jnp.cumsum(joins, dtype=jnp.int32) - 1
    # A sort would keep XLA from compiling an episode as one function.
    order = jnp.argmax(joins[None] & (place[None] == jnp.arange(joins.shape[0], dtype=jnp.int32)[:, None]), axis=1)
    return requests[order], origin[order], jnp.sum(joins, dtype=jnp.int32)
