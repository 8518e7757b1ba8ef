"""Frozen arrays of the serverless platform: `World` is constant during an episode, and `State` changes.

I invokers, F functions, X configurations, Q queues, R requests, S stages, T task slots, B batch levels; L most requests
of a batch, D most successors, P most predecessors of a stage. Times are whole ticks of 10 us.
"""

from __future__ import annotations

import jax

from ..core import pytree

NEVER = 2**31 - 1
"""A tick that is never reached."""
EMPTY = -(2**31) + 1
"""Stamp of a place without a container."""
NO_TICKET = 2**30
TICKS_PER_MS = 100
TICKS_PER_S = 100_000
QUEUE, INVOKER, CONFIG, BATCH, MEMBERS = range(5)
"""Columns of a task row; the members begin at the last one."""


@pytree
class World:
    """A prepared scenario."""

    # requests, plus one last entry that never arrives
    arrival: jax.Array  # [R+1] int32 tick
    workflow: jax.Array  # [R+1] int32
    counted: jax.Array  # [R+1] bool
    noise: jax.Array  # [R+1, S] float32 run-time factor
    recent: jax.Array  # [R+1, A] int32 requests of each workflow in the 10 s up to the previous request
    deadline_ticks: jax.Array  # [A] int32 SLO of a workflow
    # queues
    queue_function: jax.Array  # [Q] int32
    queue_workflow: jax.Array  # [Q] int32
    queue_stage: jax.Array  # [Q] int32
    successors: jax.Array  # [Q, D] int32 queue, -1 for none
    predecessors: jax.Array  # [Q, P] int32 stage, -1 for none
    entry_queue: jax.Array  # [A] int32
    fastest_ticks: jax.Array  # [Q] int32 fewest ticks from here to the end of the workflow, at any cost
    cheapest_usd: jax.Array  # [Q] float least cost of a job from here to the end, at any speed
    stages_left: jax.Array  # [Q] int32 stages on the longest path from here to the end, including this one
    transfer_ticks: jax.Array  # [Q, 2, L*P+1] int32 by local / remote and pieces
    # functions
    latency_ticks: jax.Array  # [F, X] int32 mean run time of a batch
    cold_ticks: jax.Array  # [F] int32
    walk: jax.Array  # [F, I] int32 place of an invoker in the function's walk
    # configurations
    batches: jax.Array  # [B] int32
    vcpus: jax.Array  # [C] int32
    vgpus: jax.Array  # [G] int32
    usd_per_tick: jax.Array  # [X] float
    # platform
    vcpu: jax.Array  # [I] int32
    vgpu: jax.Array  # [I] int32
    warm: jax.Array  # [N] int32 stamps of a function's containers on an invoker at time 0
    keep_alive: jax.Array  # [] int32 ticks
    prewarm: jax.Array  # [] bool
    bill_cold: jax.Array  # [] bool
    locality: jax.Array  # [] bool
    overhead: jax.Array  # [] int32 ticks of the controller per visit
    scan: jax.Array  # [] int32 index into `SCANS`
    plan_delay: jax.Array  # [] int32 ticks between a request's arrival and its joining the first queue
    horizon: jax.Array  # [] int32
    task_slots: jax.Array  # [T] int8; only its length matters


@pytree
class Queues:
    """The AFW queues: circular buffers of K places whose ends are stored twice, so that L jobs are one slice."""

    request: jax.Array  # [Q, K+3L] int32
    origin: jax.Array  # [Q, K+3L, P] int32 invoker that ran each predecessor, -1 for none
    head: jax.Array  # [Q] int32 index of the first job
    length: jax.Array  # [Q] int32
    waiting: jax.Array  # [Q] bool, until something is released or joins
    ticket: jax.Array  # [Q] int32, NO_TICKET where the last visit served it
    fails: jax.Array  # [Q] int32 visits without a task since the last one
    due: jax.Array  # [Q] int32 deadline of the head request; undefined for empty queues


@pytree
class Tasks:
    """Running tasks."""

    end: jax.Array  # [T] int32, NEVER where the slot is free
    row: jax.Array  # [T, 4+L] int32, see the constants of this module


@pytree
class Invokers:
    """Free resources and idle containers."""

    free_vcpu: jax.Array  # [I] int32
    free_vgpu: jax.Array  # [I] int32
    stamp: jax.Array  # [I, F, N] int32 idle since; in the future: ready then; EMPTY: no container


@pytree
class Tally:
    """Totals of counted requests so far, and the amounts not yet reported as reward."""

    ended: jax.Array  # [] int32 finished or shed
    served: jax.Array  # [] int32
    hits: jax.Array  # [] int32
    shed: jax.Array  # [] int32
    cold: jax.Array  # [] int32 tasks of counted requests that started cold
    usd: jax.Array  # [] float
    new_hits: jax.Array  # [] int32 since the last report
    new_shed: jax.Array  # [] int32
    new_usd: jax.Array  # [] float


@pytree
class Log:
    """The decisions, one row per task or shed request: start, end, billed ticks, cold, then a task row."""

    row: jax.Array  # [jobs or 0, 8+L] int32
    count: jax.Array  # [] int32


@pytree
class State:
    """The platform between two decisions or events."""

    now: jax.Array  # [] int32 tick
    next_request: jax.Array  # [] int32
    ready: jax.Array  # [] int32 tick at which the next container under preparation is ready
    controller_free: jax.Array  # [] int32
    last_served: jax.Array  # [] int32 queue
    tickets: jax.Array  # [] int32 tickets given so far
    cursor: jax.Array  # [] int32 queue that needs a decision; -1 when the episode is over
    # The first jobs at the cursor. They are read once, when the cursor is set: reading a queue in the same program part
    # that changes it would copy the whole queue.
    line: jax.Array  # [L+1] int32 requests; undefined beyond the queue's length
    sources: jax.Array  # [L, P] int32 origins
    visits: jax.Array  # [] int32 decisions so far
    queues: Queues
    tasks: Tasks
    invokers: Invokers
    tally: Tally
    log: Log
    ran_on: jax.Array  # [R+1 or 0, S] int32 invoker of each ended stage, -1; only where workflows fork
    is_shed: jax.Array  # [R+1 or 0] bool
    terminated: jax.Array  # [] bool
    truncated: jax.Array  # [] bool
    overflow: jax.Array  # [] bool: a queue needs more places; nothing has been lost
