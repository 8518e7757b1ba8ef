"""How an episode begins, and what happens between two decisions.

`events` holds the events, and `decisions` the effects of a scheduler's decisions.
"""

from __future__ import annotations

from dataclasses import replace

import jax
import jax.numpy as jnp
from jax import lax

from .decisions import LOG_COLUMNS
from .events import next_event, next_join
from .layout import forks, most_jobs
from .queues import empty_queues, first_jobs
from .state import MEMBERS, NEVER, NO_TICKET, Invokers, Log, State, Tally, Tasks, World
from .world import SCANS


def initial_state(world: World, places: int, logged: int) -> State:
    """Return the state at time 0, before the first event: K = `places` per queue, `logged` rows of log (0: no log)."""
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
        line=jnp.full(most + 1, -1, jnp.int32),
        sources=jnp.full((most, world.predecessors.shape[1]), -1, jnp.int32),
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


def settle(world: World, state: State) -> State:
    """Process events until a queue needs a decision, the episode is over, or a queue needs more places."""

    def goes_on(state: State) -> jax.Array:
        return (state.cursor < 0) & ~(state.terminated | state.truncated | state.overflow)

    return lax.while_loop(goes_on, lambda state: _aim(world, next_event(world, state)), _aim(world, state))


def _aim(world: World, state: State) -> State:
    """Point the cursor at the next queue, once all events of the tick have been processed."""
    now, queues = state.now, state.queues
    coming = jnp.minimum(next_join(world, state), jnp.minimum(jnp.min(state.tasks.end), state.ready))
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
    return replace(point(world, state, cursor), terminated=state.terminated | (done & ~state.truncated))


def point(world: World, state: State, queue: jax.Array) -> State:
    """Point the cursor at `queue` (-1: at none) and read its first jobs."""
    line, sources = first_jobs(state.queues, jnp.maximum(queue, 0), most_jobs(world))
    return replace(state, cursor=queue, line=line, sources=sources)


def _turn(world: World, state: State) -> jax.Array:
    """Return the visiting order's key per queue [Q]: the smallest is visited first, ties go to the lowest number."""
    queues, number = state.queues, jnp.arange(state.queues.length.shape[0], dtype=jnp.int32)
    fresh = NO_TICKET + (number - state.last_served - 1) % number.shape[0]
    robin = jnp.where(queues.ticket < NO_TICKET, queues.ticket, fresh)
    by_scan = {"rr": robin, "slack": queues.due, "longest": -queues.length}
    return jnp.stack([by_scan[scan] for scan in SCANS])[world.scan]
