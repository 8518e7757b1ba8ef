"""The only code that makes a new cluster state: arrivals, plans, progress, completions.

Rules: round-based simulation of PAL (Jain et al., SC 2024; public simulator hal-uw/blox-pal), section
"round loop". Progress is quantised to rounds: a job that completes within a round leaves at the end of that round.
"""

from __future__ import annotations

from dataclasses import replace

import jax
import jax.numpy as jnp
from jax import lax

from ..loops import add, most, put
from .fairness import contended_gpu_rounds, recount
from .state import FREE, NEVER, Contention, Ledger, Slots, State, World, empty_ledger, empty_slots


def initial_state(world: World, capacity: int) -> State:
    """Return the state at round 0, the first arrivals seated; `capacity` is A, the number of slots."""
    nodes, places = world.pm_score.shape[1:]
    zero = jnp.int32(0)
    state = State(
        round=zero,
        next_job=zero,
        count=zero,
        slots=empty_slots(world, capacity),
        owner=jnp.full((nodes, places), FREE, jnp.int32),
        changed=jnp.bool_(False),
        unfinished=jnp.sum(world.tracked, dtype=jnp.int32),
        flow=jnp.zeros(2, world.iterations.dtype),
        finished=zero,
        busy_gpu_rounds=zero,
        contention=Contention(gpus=jnp.int32(nodes * places), since=zero, gpu_rounds=zero),
        overflow=jnp.bool_(False),
        broken=jnp.bool_(False),
        profile=world.profile,
        ledger=empty_ledger(world),
    )
    return _arrive(world, state)


def apply_plan(world: World, state: State, owner: jax.Array) -> State:
    """Start, stop and move jobs so that each GPU belongs to the slot in `owner` [N, P]; gangs must be complete."""
    moved = jnp.any(owner != state.owner)
    slots, broken = lax.cond(
        moved, _regang, lambda world, state, owner: (state.slots, jnp.bool_(False)), world, state, owner
    )
    idle = ~(slots.running | state.slots.running)
    waited = jnp.where(idle, state.slots.waited + 1, 0)
    slots = replace(slots, waited=waited, promoted=slots.promoted | (waited >= world.starving_rounds))
    return replace(state, slots=slots, owner=owner, broken=state.broken | broken)


def advance(world: World, state: State) -> State:
    """Run the planned gangs for one round, then complete and admit jobs; rounds without active jobs are skipped."""
    slots = _progress(world, state.slots)
    over = slots.running & (slots.done >= slots.iterations)
    busy = jnp.sum(jnp.where(slots.running, slots.demand, 0), dtype=jnp.int32)
    state = replace(
        state,
        round=state.round + 1,
        slots=slots,
        flow=state.flow + _flow(slots, jnp.where(slots.tracked, world.round_s, 0.0)),
        busy_gpu_rounds=state.busy_gpu_rounds + busy,
        changed=jnp.any(over),
    )
    state = lax.cond(state.changed, _complete, lambda world, state, over: state, world, state, over)
    return _arrive(world, state)


def grow(world: World, state: State, capacity: int) -> State:
    """Make room for `capacity` active jobs and seat the jobs that found no slot, so that the episode can go on."""
    blank = empty_slots(world, capacity - state.slots.job.shape[0])
    slots = jax.tree.map(lambda old, new: jnp.concatenate([old, new]), state.slots, blank)
    return _arrive(world, replace(state, slots=slots, overflow=jnp.bool_(False)))


def is_over(world: World, state: State) -> jax.Array:
    """True when all tracked jobs have finished, at the horizon, if jobs lack slots (see `grow`) or a plan is broken."""
    return (state.unfinished == 0) | (state.round >= world.horizon_round) | state.overflow | state.broken


def _progress(world: World, slots: Slots) -> Slots:
    lost_s = jnp.minimum(slots.debt_s, world.round_s)
    pace = jnp.where(slots.running, slots.slowdown * slots.iter_s, jnp.inf)
    return replace(
        slots,
        done=slots.done + (world.round_s - lost_s) / pace,
        attained=slots.attained + slots.running.astype(jnp.int32),
        slowdown_sum=slots.slowdown_sum + slots.slowdown,
        debt_s=jnp.where(slots.running, slots.debt_s - lost_s, slots.debt_s),
    )


def _regang(world: World, state: State, owner: jax.Array) -> tuple[Slots, jax.Array]:
    """Return the slots under a plan that differs from the running one, and whether the plan is broken."""
    slots = state.slots
    capacity = slots.job.shape[0]
    nodes, places = owner.shape
    flat = owner.ravel()
    seat = jnp.where(flat < 0, capacity, flat)
    node = jnp.repeat(jnp.arange(nodes, dtype=jnp.int32), places)

    score = world.pm_score.reshape(-1, nodes * places)
    app_class = slots.app_class.at[seat].get(mode="fill", fill_value=0)
    gpu_score = score[app_class, jnp.arange(nodes * places, dtype=jnp.int32)]
    none = jnp.zeros(capacity, jnp.int32)
    worst = most(jnp.zeros(capacity, gpu_score.dtype), seat, gpu_score)
    first = nodes - most(none, seat, nodes - node)
    last = most(none - 1, seat, node)
    kept = (owner == state.owner).ravel().astype(jnp.int32)
    held, size = add((none, none), seat, (kept, jnp.ones_like(kept)))
    broken = jnp.any(flat < FREE) | jnp.any((size > 0) & (size != slots.demand))
    running = last >= 0
    same = running & slots.running & (held == slots.demand)
    penalty = jnp.where(first == last, 1.0, world.locality_penalty[slots.app_class])
    resumed = running & ~same & (slots.start_round != NEVER)
    slots = replace(
        slots,
        running=running,
        slowdown=worst * penalty,
        start_round=jnp.where(running, jnp.minimum(slots.start_round, state.round), slots.start_round),
        debt_s=jnp.where(resumed, world.restart_s, slots.debt_s),
        preemptions=slots.preemptions + (slots.running & ~same).astype(jnp.int32),
    )
    return slots, broken


def _complete(world: World, state: State, over: jax.Array) -> State:
    """Write finished jobs to the ledger and close the gaps they leave; slots stay in arrival order."""
    slots, ledger = state.slots, state.ledger
    capacity = over.shape[0]
    contended = contended_gpu_rounds(state.contention, state.round) - slots.contended_gpu_rounds
    rows = Ledger(
        app_class=slots.app_class,
        demand=slots.demand,
        start_round=slots.start_round,
        finish_round=jnp.full(capacity, state.round),
        service=slots.attained,
        slowdown_sum=slots.slowdown_sum,
        preemptions=slots.preemptions,
        contended_gpu_rounds=contended,
    )
    ledger = put(ledger, jnp.where(over, slots.job, -1), rows)
    live = (jnp.arange(capacity, dtype=jnp.int32) < state.count) & ~over
    target = jnp.where(live, jnp.cumsum(live) - 1, capacity).astype(jnp.int32)
    source = put(jnp.full(capacity, capacity, jnp.int32), target, jnp.arange(capacity, dtype=jnp.int32))
    blank = empty_slots(world, 1)
    slots = jax.tree.map(lambda x, b: jnp.concatenate([x, b])[source], slots, blank)
    held = state.owner != FREE
    moved = target[jnp.where(held, state.owner, 0)]
    ended = jnp.sum(over, dtype=jnp.int32)
    return replace(
        state,
        count=state.count - ended,
        slots=slots,
        owner=jnp.where(held & (moved < capacity), moved, FREE),
        unfinished=state.unfinished - jnp.sum(over & state.slots.tracked, dtype=jnp.int32),
        finished=state.finished + ended,
        contention=recount(state.contention, state.round, slots.demand, state.owner.size),
        ledger=ledger,
    )


def _arrive(world: World, state: State) -> State:
    """Seat every job that has arrived by now; if no job is active, the clock first jumps to the next arrival."""
    upcoming = world.arrival_round[state.next_job]
    going_on = state.unfinished > 0  # the episode ends with its last tracked job: later jobs are ignored
    jump = (state.count == 0) & (upcoming != NEVER) & going_on
    now = jnp.where(jump, jnp.maximum(state.round, upcoming), state.round)
    state = replace(state, round=now)
    return lax.cond((upcoming <= now) & going_on, _seat, lambda world, state: state, world, state)


def _seat(world: World, state: State) -> State:
    slots = state.slots
    padding = world.demand.shape[0] - 1
    place = jnp.arange(slots.job.shape[0], dtype=jnp.int32) - state.count
    job = jnp.clip(state.next_job + place, 0, padding)
    new = (place >= 0) & (world.arrival_round[job] <= state.round)
    seated = jnp.sum(new, dtype=jnp.int32)
    next_job = state.next_job + seated
    demand = jnp.where(new, world.demand[job], slots.demand)
    contention = recount(state.contention, state.round, demand, state.owner.size)
    slots = replace(
        slots,
        job=jnp.where(new, job, slots.job),
        demand=demand,
        app_class=jnp.where(new, world.app_class[job], slots.app_class),
        iterations=jnp.where(new, world.iterations[job], slots.iterations),
        iter_s=jnp.where(new, world.iter_s[job], slots.iter_s),
        tracked=jnp.where(new, world.tracked[job], slots.tracked),
        contended_gpu_rounds=jnp.where(new, contention.gpu_rounds, slots.contended_gpu_rounds),
    )
    now_s = state.round.astype(world.round_s.dtype) * world.round_s
    so_far_s = jnp.where(new & slots.tracked, now_s - world.arrival_s[job], 0.0)
    return replace(
        state,
        next_job=next_job,
        count=state.count + seated,
        slots=slots,
        changed=jnp.bool_(True),
        flow=state.flow + _flow(slots, so_far_s),
        contention=contention,
        overflow=state.overflow | (world.arrival_round[next_job] <= state.round),
    )


def _flow(slots: Slots, time_s: jax.Array) -> jax.Array:
    """Sum the time in the system [A] over jobs: in seconds, and in units of each job's ideal run time."""
    ideal_s = jnp.maximum(slots.iterations * slots.iter_s, jnp.finfo(time_s.dtype).tiny)
    return jnp.stack([jnp.sum(time_s), jnp.sum(time_s / ideal_s)])
