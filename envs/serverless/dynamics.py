"""The only code that makes a new state: events, and decisions about the queue at the cursor."""

from __future__ import annotations

from dataclasses import replace

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

from .containers import is_kept, next_ready, put, stamps_of, take
from .dispatch import Site, invoker_for
from .queues import empty_queues, has_room, head_deadlines, pop, push
from .state import (
    BATCH,
    CONFIG,
    INVOKER,
    MEMBERS,
    NEVER,
    NO_TICKET,
    QUEUE,
    Invokers,
    Log,
    State,
    Tally,
    Tasks,
    World,
)
from .world import SCANS

LOG_COLUMNS = 4
"""start, end, billed ticks, cold; a task row follows."""


def most_jobs(world: World) -> int:
    """L, the largest batch (static)."""
    return (world.transfer_ticks.shape[2] - 1) // world.predecessors.shape[1]


def forks(world: World) -> bool:
    """Whether any workflow is more than a chain (static)."""
    return world.successors.shape[1] > 1 or world.predecessors.shape[1] > 1


def initial_state(world: World, places: int, logged: int) -> State:
    """Time 0, before the first event. `places` K per queue; `logged` rows of log, 0 for none."""
    most, queues = most_jobs(world), world.queue_stage.shape[0]
    slots, requests = world.task_slots.shape[0], world.arrival.shape[0] if forks(world) else 0
    stages = world.noise.shape[1]
    zero, no = jnp.int32(0), jnp.bool_(False)
    return State(
        now=zero,
        next_request=zero,
        ready=jnp.int32(NEVER),
        controller_free=zero,
        last_served=jnp.int32(queues - 1),
        tickets=zero,
        cursor=jnp.int32(-1),
        visits=zero,
        queues=empty_queues(queues, places, most, world.predecessors.shape[1]),
        tasks=Tasks(jnp.full(slots, NEVER, jnp.int32), jnp.zeros((slots, MEMBERS + most), jnp.int32)),
        invokers=Invokers(
            world.vcpu,
            world.vgpu,
            jnp.broadcast_to(world.warm, (world.vcpu.shape[0], world.cold_ticks.shape[0], world.warm.shape[0])),
        ),
        tally=_no_tally(world),
        log=Log(jnp.zeros((logged, LOG_COLUMNS + MEMBERS + most), jnp.int32), zero),
        ran_on=jnp.full((requests, stages), -1, jnp.int32),
        is_shed=jnp.zeros(requests, bool),
        terminated=no,
        truncated=no,
        overflow=no,
    )


def _no_tally(world: World) -> Tally:
    none, no_usd = jnp.int32(0), jnp.zeros((), world.usd_per_tick.dtype)
    return Tally(
        ended=none,
        served=none,
        hits=none,
        shed=none,
        cold=none,
        usd=no_usd,
        new_hits=none,
        new_shed=none,
        new_usd=no_usd,
    )


def reported(tally: Tally) -> Tally:
    """The same totals, with nothing left to report."""
    return replace(tally, new_hits=jnp.int32(0), new_shed=jnp.int32(0), new_usd=jnp.zeros_like(tally.new_usd))


def settle(world: World, state: State) -> State:
    """Let events happen until a queue must be decided about, the episode is over, or a queue needs more places."""

    def goes_on(state: State) -> jax.Array:
        return (state.cursor < 0) & ~(state.terminated | state.truncated | state.overflow)

    return lax.while_loop(goes_on, lambda state: _aim(world, _next_event(world, state)), _aim(world, state))


def _aim(world: World, state: State) -> State:
    """Point the cursor at the next queue, once all events of the tick are through."""
    now, queues = state.now, state.queues
    coming = jnp.minimum(_next_join(world, state), jnp.minimum(jnp.min(state.tasks.end), state.ready))
    quiet = coming > now
    done = quiet & (state.tally.ended == jnp.sum(world.counted, dtype=jnp.int32))
    room = (state.invokers.free_vcpu >= world.vcpus[0]) & (state.invokers.free_vgpu >= world.vgpus[0])
    free = state.controller_free <= now
    eligible = (queues.length > 0) & ~queues.waiting & jnp.any(room) & quiet & free & ~done
    turn = jnp.where(eligible, _turn(world, state), NEVER)
    best = jnp.min(turn)
    first = jnp.min(jnp.where(turn == best, jnp.arange(turn.shape[0], dtype=jnp.int32), NEVER))
    over = state.terminated | state.truncated
    cursor = jnp.where((best < NEVER) & ~over, first, -1)
    return replace(state, cursor=cursor, terminated=state.terminated | (done & ~state.truncated))


def _turn(world: World, state: State) -> jax.Array:
    """The queue with the smallest is visited first [Q]; ties go to the lowest number."""
    queues, number = state.queues, jnp.arange(state.queues.length.shape[0], dtype=jnp.int32)
    fresh = NO_TICKET + (number - state.last_served - 1) % number.shape[0]
    robin = jnp.where(queues.ticket < NO_TICKET, queues.ticket, fresh)
    by_scan = {"rr": robin, "slack": head_deadlines(world, queues), "longest": -queues.length}
    return jnp.stack([by_scan[scan] for scan in SCANS])[world.scan]


def _next_join(world: World, state: State) -> jax.Array:
    arrival = world.arrival[state.next_request]
    return jnp.where(arrival < NEVER, arrival + world.plan_delay, NEVER)


def _next_event(world: World, state: State) -> State:
    """Process one event: the earliest; at one tick task ends, then containers, then requests, then the controller."""
    slot = jnp.argmin(state.tasks.end).astype(jnp.int32)
    end, join = state.tasks.end[slot], _next_join(world, state)
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
        next_request=state.next_request + joins,
        ready=lax.cond(prepared, lambda: next_ready(state.invokers.stamp, tick), lambda: state.ready),
    )
    row = state.tasks.row[slot]
    return _move_on(world, _end_task(world, state, slot, row, ends), row, ends, joins)


def _end_task(world: World, state: State, slot: jax.Array, row: jax.Array, ends: jax.Array) -> State:
    """Free what the task of `slot` held; count the requests that it finished."""
    queue, invoker = row[QUEUE], row[INVOKER]
    _, vcpu, vgpu = shares(world, row[CONFIG])
    here = (jnp.arange(world.vcpu.shape[0]) == invoker) & ends
    invokers = Invokers(
        jnp.where(here, state.invokers.free_vcpu + vcpu, state.invokers.free_vcpu),
        jnp.where(here, state.invokers.free_vgpu + vgpu, state.invokers.free_vgpu),
        put(state.invokers.stamp, invoker, world.queue_function[queue], state.now, ends),
    )
    freed = jnp.where((jnp.arange(state.tasks.end.shape[0]) == slot) & ends, NEVER, state.tasks.end)
    state = replace(state, invokers=invokers, tasks=replace(state.tasks, end=freed))
    last = ends & (world.successors[queue, 0] < 0)
    return replace(state, tally=_finish(world, state, row, last), ran_on=_remember(world, state, row, ends))


def _finish(world: World, state: State, row: jax.Array, last: jax.Array) -> Tally:
    members, there = row[MEMBERS:], jnp.arange(row.shape[0] - MEMBERS) < row[BATCH]
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
    """Where a stage of forking workflows ran."""
    if not forks(world):
        return state.ran_on
    members, there = row[MEMBERS:], jnp.arange(row.shape[0] - MEMBERS) < row[BATCH]
    at = jnp.where(there & ends, members, state.ran_on.shape[0])
    return state.ran_on.at[at, world.queue_stage[row[QUEUE]]].set(row[INVOKER], mode="drop")


def _move_on(world: World, state: State, row: jax.Array, ends: jax.Array, joins: jax.Array) -> State:
    """Requests join queues: those of an ended task their next ones, or a new one its first."""
    most = most_jobs(world)
    at = jnp.arange(most, dtype=jnp.int32)
    fresh = jnp.where(at == 0, state.next_request - joins, -1)
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
        queues = push(queues, jnp.maximum(following, 0), request, origin, count)
    return replace(state, queues=queues)


def _ready_jobs(world: World, state: State, row: jax.Array, queue: jax.Array) -> tuple[jax.Array, jax.Array, jax.Array]:
    """(requests [L], origins [L, P], how many) of an ended task that may join `queue`: nothing else is missing."""
    members, there = row[MEMBERS:], jnp.arange(row.shape[0] - MEMBERS, dtype=jnp.int32) < row[BATCH]
    if not forks(world):
        return members, jnp.broadcast_to(row[INVOKER], (members.shape[0], 1)), row[BATCH]
    requests = jnp.where(there, members, world.arrival.shape[0] - 1)
    before = world.predecessors[queue]
    origin = jnp.where(before >= 0, state.ran_on[requests][:, jnp.maximum(before, 0)], -1)
    complete = jnp.all((origin >= 0) | (before < 0)[None], axis=1)
    joins = there & complete & ~state.is_shed[requests]
    order = jnp.argsort(~joins, stable=True)
    return requests[order], origin[order], jnp.sum(joins, dtype=jnp.int32)


def shares(world: World, config: jax.Array) -> tuple[jax.Array, jax.Array, jax.Array]:
    """(batch level, vCPU, vGPU) of a configuration."""
    vcpus, vgpus = world.vcpus.shape[0], world.vgpus.shape[0]
    return (
        config // (vcpus * vgpus),
        world.vcpus[(config // vgpus) % vcpus],
        world.vgpus[config % vgpus],
    )


def decide(world: World, state: State, site: Site, action: jax.Array, invoker: jax.Array | None = None) -> State:
    """Take a legal decision for the queue of `site`: a configuration, WAIT (X) or DROP (X + 1).

    The invoker follows by the dispatch rule, unless one that has room is given.
    """
    configs = world.usd_per_tick.shape[0]
    serves, drops = action < configs, action == configs + 1
    config = jnp.where(serves, action, 0)
    start = state.now + world.overhead
    state = replace(state, controller_free=start, visits=state.visits + 1)
    count = jnp.where(serves, world.batches[shares(world, config)[0]], drops.astype(jnp.int32))
    where = invoker_for(world, state, site, *shares(world, config))[0] if invoker is None else invoker
    state = _start_task(world, state, site, config, where, start, serves)
    state = _shed(world, state, site, drops)
    return replace(_leave(world, state, site.queue, count), cursor=jnp.int32(-1))


def _leave(world: World, state: State, queue: jax.Array, count: jax.Array) -> State:
    """`count` jobs leave the queue; where none does it waits, with a ticket that says since when."""
    queues = pop(state.queues, queue, count, most_jobs(world))
    here, waits = jnp.arange(queues.length.shape[0]) == queue, count == 0
    needs_ticket = waits & (queues.ticket[queue] == NO_TICKET)
    ticket = jnp.where(waits, jnp.where(needs_ticket, state.tickets, queues.ticket[queue]), NO_TICKET)
    queues = replace(
        queues,
        waiting=jnp.where(here, waits, queues.waiting),
        ticket=jnp.where(here, ticket, queues.ticket),
        fails=jnp.where(here, jnp.where(waits, queues.fails + 1, 0), queues.fails),
    )
    return replace(
        state,
        queues=queues,
        tickets=state.tickets + needs_ticket,
        last_served=jnp.where(waits, state.last_served, queue),
    )


def _start_task(
    world: World,
    state: State,
    site: Site,
    config: jax.Array,
    invoker: jax.Array,
    start: jax.Array,
    serves: jax.Array,
) -> State:
    """Claim the invoker's resources and a container for a batch from the head of the queue."""
    level, vcpu, vgpu = shares(world, config)
    invoker = jnp.minimum(invoker, world.vcpu.shape[0] - 1)
    count = world.batches[level]
    cold = jnp.where(site.warm[invoker], 0, world.cold_ticks[site.function])
    factor = world.noise[site.request[0], world.queue_stage[site.queue]]
    run = jnp.maximum(1, jnp.rint(world.latency_ticks[site.function, config].astype(jnp.float32) * factor))
    work = _transfer(world, site, level, invoker) + run.astype(jnp.int32)
    end, billed = start + cold + work, work + jnp.where(world.bill_cold, cold, 0)

    here = (jnp.arange(world.vcpu.shape[0]) == invoker) & serves
    stamp = take(state.invokers.stamp, invoker, site.function, state.now, world.keep_alive, serves)
    stamp, ready = _prewarm(world, state, stamp, site.queue, invoker, serves)
    row = jnp.concatenate([jnp.stack([site.queue, invoker, config, count]), site.request])
    return replace(
        state,
        ready=ready,
        invokers=Invokers(
            jnp.where(here, state.invokers.free_vcpu - vcpu, state.invokers.free_vcpu),
            jnp.where(here, state.invokers.free_vgpu - vgpu, state.invokers.free_vgpu),
            stamp,
        ),
        tasks=_add_task(state.tasks, end, row, serves),
        tally=_charge(world, state, site, config, count, billed, cold > 0, serves),
        log=_write_log(state.log, jnp.stack([start, end, billed, (cold > 0).astype(jnp.int32)]), row, serves),
    )


def _transfer(world: World, site: Site, level: jax.Array, invoker: jax.Array) -> jax.Array:
    """Ticks until the inputs are here; sources send at the same time."""
    pieces = site.local[:, level]
    away = jnp.max(jnp.where(jnp.arange(pieces.shape[0]) == invoker, 0, pieces))
    table = world.transfer_ticks[site.queue]
    return jnp.maximum(table[0, pieces[invoker]], table[1, away])


def _add_task(tasks: Tasks, end: jax.Array, row: jax.Array, serves: jax.Array) -> Tasks:
    slot = jnp.argmax(tasks.end == NEVER).astype(jnp.int32)
    here = (jnp.arange(tasks.end.shape[0]) == slot) & serves
    # A row behind a free slot means nothing, so it may be written whether or not the task starts.
    return Tasks(jnp.where(here, end, tasks.end), _put_row(tasks.row, row, slot, serves))


def _put_row(table: jax.Array, row: jax.Array, at: jax.Array, wanted: jax.Array) -> jax.Array:
    present = lax.dynamic_slice(table, (at, np.int32(0)), (1, row.shape[0]))
    return lax.dynamic_update_slice(table, jnp.where(wanted, row[None], present), (at, np.int32(0)))


def _prewarm(
    world: World, state: State, stamp: jax.Array, queue: jax.Array, invoker: jax.Array, serves: jax.Array
) -> tuple[jax.Array, jax.Array]:
    """Order containers of the next functions on the invoker, where it has none idle."""
    ready = state.ready
    for branch in range(world.successors.shape[1]):
        following = world.successors[queue, branch]
        function = world.queue_function[jnp.maximum(following, 0)]
        kept = is_kept(stamps_of(stamp, invoker, function), state.now, world.keep_alive)
        wanted = serves & world.prewarm & (following >= 0) & ~jnp.any(kept)
        tick = state.now + world.cold_ticks[function]
        stamp = put(stamp, invoker, function, tick, wanted)
        ready = jnp.where(wanted, jnp.minimum(ready, tick), ready)
    return stamp, ready


def _charge(
    world: World,
    state: State,
    site: Site,
    config: jax.Array,
    count: jax.Array,
    billed: jax.Array,
    is_cold: jax.Array,
    serves: jax.Array,
) -> Tally:
    """Bill a task to the counted requests of its batch, in equal parts."""
    members = jnp.arange(site.request.shape[0]) < count
    counted = jnp.sum(world.counted[jnp.maximum(site.request, 0)] & members & serves, dtype=jnp.int32)
    usd = billed * world.usd_per_tick[config] * counted / count
    tally = state.tally
    return replace(tally, usd=tally.usd + usd, new_usd=tally.new_usd + usd, cold=tally.cold + (is_cold & (counted > 0)))


def _shed(world: World, state: State, site: Site, drops: jax.Array) -> State:
    """Give up the head request: it never finishes."""
    head = jnp.maximum(site.request[0], 0)
    fresh = drops
    is_shed = state.is_shed
    if forks(world):
        fresh = drops & ~is_shed[head]
        is_shed = is_shed.at[head].set(is_shed[head] | drops)
    counted = (fresh & world.counted[head]).astype(jnp.int32)
    tally = state.tally
    configs = world.usd_per_tick.shape[0]
    alone = jnp.where(jnp.arange(site.request.shape[0]) == 0, head, -1)
    row = jnp.concatenate([jnp.stack([site.queue, jnp.int32(-1), jnp.int32(configs + 1), jnp.int32(1)]), alone])
    times = jnp.stack([state.now, state.now, jnp.int32(0), jnp.int32(0)])
    return replace(
        state,
        is_shed=is_shed,
        tally=replace(
            tally,
            ended=tally.ended + counted,
            shed=tally.shed + counted,
            new_shed=tally.new_shed + counted,
        ),
        log=_write_log(state.log, times, row, drops),
    )


def _write_log(log: Log, times: jax.Array, row: jax.Array, wanted: jax.Array) -> Log:
    if not log.row.shape[0]:
        return Log(log.row, log.count + wanted)
    full = jnp.concatenate([times, row])
    return Log(_put_row(log.row, full, log.count, wanted), log.count + wanted)
