"""Decisions about the queue at the cursor: start a task, wait, or drop a request."""

from __future__ import annotations

from dataclasses import replace

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

from ..core import pytree
from .containers import is_kept, put, stamps_of, take
from .dispatch import Site, invoker_for
from .layout import deadline_of, forks, most_jobs, shares
from .queues import pop
from .state import NEVER, NO_TICKET, Invokers, Log, State, Tally, Tasks, World

LOG_COLUMNS = 4
"""Columns of a log row before its task row: start, end, billed ticks, cold."""


@pytree
class Task:
    """A task that is about to start, or no task if `starts` is False."""

    starts: jax.Array  # [] bool
    invoker: jax.Array  # [] int32
    config: jax.Array  # [] int32
    count: jax.Array  # [] int32 jobs
    start: jax.Array  # [] int32 tick
    end: jax.Array  # [] int32
    billed: jax.Array  # [] int32 ticks
    is_cold: jax.Array  # [] bool


def decide(world: World, state: State, site: Site, action: jax.Array, invoker: jax.Array | None = None) -> State:
    """Take a legal decision for the queue of `site`: a configuration, WAIT (X) or DROP (X + 1).

    The dispatch rule chooses the invoker, unless the caller gives one that has room.
    """
    configs = world.usd_per_tick.shape[0]
    serves, drops = action < configs, action == configs + 1
    config, start = jnp.where(serves, action, 0), state.now + world.overhead
    where = invoker_for(world, state, site, *shares(world, config))[0] if invoker is None else invoker
    task = _task(world, site, config, jnp.minimum(where, world.vcpu.shape[0] - 1), start, serves)
    count = jnp.where(serves, task.count, drops.astype(jnp.int32))
    log = _write_log(state.log, _log_row(state, site, task, action), serves | drops)
    state = replace(state, controller_free=start, visits=state.visits + 1, log=log)
    state = _shed(world, _start(world, state, site, task), site, drops)
    return replace(_leave(world, state, site, count), cursor=jnp.int32(-1))


def reported(tally: Tally) -> Tally:
    """Return the same totals, with the unreported amounts set to 0."""
    return replace(tally, new_hits=jnp.int32(0), new_shed=jnp.int32(0), new_usd=jnp.zeros_like(tally.new_usd))


def _task(world: World, site: Site, config: jax.Array, invoker: jax.Array, start: jax.Array, serves: jax.Array) -> Task:
    level, _, _ = shares(world, config)
    cold = jnp.where(site.warm[invoker], 0, world.cold_ticks[site.function])
    factor = world.noise[site.request[0], world.queue_stage[site.queue]]
    run = jnp.maximum(1, jnp.rint(world.latency_ticks[site.function, config].astype(jnp.float32) * factor))
    work = _transfer(world, site, level, invoker) + run.astype(jnp.int32)
    return Task(
        starts=serves,
        invoker=invoker,
        config=config,
        count=world.batches[level],
        start=start,
        end=start + cold + work,
        billed=work + jnp.where(world.bill_cold, cold, 0),
        is_cold=cold > 0,
    )


def _transfer(world: World, site: Site, level: jax.Array, invoker: jax.Array) -> jax.Array:
    """Return the ticks until all inputs have arrived; the sources send at the same time."""
    pieces = site.local[:, level]
    away = jnp.max(jnp.where(jnp.arange(pieces.shape[0], dtype=jnp.int32) == invoker, 0, pieces))
    table = world.transfer_ticks[site.queue]
    return jnp.maximum(table[0, pieces[invoker]], table[1, away])


def _start(world: World, state: State, site: Site, task: Task) -> State:
    """Take the invoker's resources and a container for a batch from the head of the queue."""
    _, vcpu, vgpu = shares(world, task.config)
    here = (jnp.arange(world.vcpu.shape[0], dtype=jnp.int32) == task.invoker) & task.starts
    stamp = take(state.invokers.stamp, task.invoker, site.function, state.now, world.keep_alive, task.starts)
    stamp, ready = _prewarm(world, state, stamp, site.queue, task)
    row = jnp.concatenate([jnp.stack([site.queue, task.invoker, task.config, task.count]), site.request])
    return replace(
        state,
        ready=ready,
        invokers=Invokers(
            jnp.where(here, state.invokers.free_vcpu - vcpu, state.invokers.free_vcpu),
            jnp.where(here, state.invokers.free_vgpu - vgpu, state.invokers.free_vgpu),
            stamp,
        ),
        tasks=_add_task(state.tasks, task, row),
        tally=_charge(world, state.tally, site, task),
    )


def _add_task(tasks: Tasks, task: Task, row: jax.Array) -> Tasks:
    """Put the task into the lowest free slot."""
    number = jnp.arange(tasks.end.shape[0], dtype=jnp.int32)
    slot = jnp.min(jnp.where(tasks.end == NEVER, number, number.shape[0] - 1))
    end = jnp.where((number == slot) & task.starts, task.end, tasks.end)
    return Tasks(end, put_row(tasks.row, row, slot, task.starts))


def put_row(table: jax.Array, row: jax.Array, at: jax.Array, wanted: jax.Array) -> jax.Array:
    """Return `table` with `row` written at index `at` if `wanted`."""
    present = lax.dynamic_slice(table, (at, np.int32(0)), (1, row.shape[0]))
    return lax.dynamic_update_slice(table, jnp.where(wanted, row[None], present), (at, np.int32(0)))


def _prewarm(world: World, state: State, stamp: jax.Array, queue: jax.Array, task: Task) -> tuple[jax.Array, jax.Array]:
    """Order containers of the next functions where none is kept; return (stamps, next tick when one is ready)."""
    ready = state.ready
    for branch in range(world.successors.shape[1]):
        following = world.successors[queue, branch]
        function = world.queue_function[jnp.maximum(following, 0)]
        kept = is_kept(stamps_of(stamp, task.invoker, function), state.now, world.keep_alive)
        wanted = task.starts & world.prewarm & (following >= 0) & ~jnp.any(kept)
        tick = state.now + world.cold_ticks[function]
        stamp = put(stamp, task.invoker, function, tick, wanted)
        ready = jnp.where(wanted, jnp.minimum(ready, tick), ready)
    return stamp, ready


def _charge(world: World, tally: Tally, site: Site, task: Task) -> Tally:
    """Charge the counted requests of a batch with their equal parts of the task's cost."""
    members = (jnp.arange(site.request.shape[0], dtype=jnp.int32) < task.count) & task.starts
    counted = jnp.sum(world.counted[jnp.maximum(site.request, 0)] & members, dtype=jnp.int32)
    kind = world.usd_per_tick.dtype
    usd = task.billed.astype(kind) * world.usd_per_tick[task.config] * (counted.astype(kind) / task.count.astype(kind))
    cold = task.is_cold & (counted > 0)
    return replace(tally, usd=tally.usd + usd, new_usd=tally.new_usd + usd, cold=tally.cold + cold.astype(jnp.int32))


def _shed(world: World, state: State, site: Site, drops: jax.Array) -> State:
    """Drop the head request, so that it never finishes."""
    head = jnp.maximum(site.request[0], 0)
    fresh, is_shed, tally = drops, state.is_shed, state.tally
    if forks(world):
        fresh = drops & ~is_shed[head]
        is_shed = lax.dynamic_update_index_in_dim(is_shed, is_shed[head] | drops, head, 0)
    counted = (fresh & world.counted[head]).astype(jnp.int32)
    tally = replace(tally, ended=tally.ended + counted, shed=tally.shed + counted, new_shed=tally.new_shed + counted)
    return replace(state, is_shed=is_shed, tally=tally)


def _leave(world: World, state: State, site: Site, count: jax.Array) -> State:
    """Remove `count` jobs from the queue. If `count` is 0 the queue waits; its ticket says since when."""
    queue = site.queue
    due = deadline_of(world, queue, site.line[count])
    queues = pop(state.queues, queue, count, due, most_jobs(world))
    here, waits = jnp.arange(queues.length.shape[0], dtype=jnp.int32) == queue, count == 0
    needs_ticket = waits & (queues.ticket[queue] == NO_TICKET)
    ticket = jnp.where(waits, jnp.where(needs_ticket, state.tickets, queues.ticket[queue]), NO_TICKET)
    queues = replace(
        queues,
        waiting=jnp.where(here, waits, queues.waiting),
        ticket=jnp.where(here, ticket, queues.ticket),
        fails=jnp.where(here, jnp.where(waits, queues.fails + 1, 0), queues.fails),
    )
    served = jnp.where(waits, state.last_served, queue)
    return replace(state, queues=queues, tickets=state.tickets + needs_ticket.astype(jnp.int32), last_served=served)


def _log_row(state: State, site: Site, task: Task, action: jax.Array) -> jax.Array:
    """Make the log row of a task, or of a dropped request: no invoker, no duration, a batch of one."""
    serves = task.starts
    zero = jnp.int32(0)
    times = jnp.stack([task.start, task.end, task.billed, task.is_cold.astype(jnp.int32)])
    head = jnp.where(serves, times, jnp.stack([state.now, state.now, zero, zero]))
    row = [site.queue, jnp.where(serves, task.invoker, -1), action, jnp.where(serves, task.count, 1)]
    return jnp.concatenate([head, jnp.stack(row), site.request])


def _write_log(log: Log, row: jax.Array, wanted: jax.Array) -> Log:
    count = log.count + wanted.astype(jnp.int32)
    return Log(put_row(log.row, row, log.count, wanted) if log.row.shape[0] else log.row, count)
