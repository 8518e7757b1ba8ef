"""Frozen arrays of the serverless platform: what never changes in an episode (`World`) and what does (`State`).

I invokers, F functions, X configurations, Q queues, R requests, S stages, T task slots, B batch levels; L most requests
of a batch, D most successors, P most predecessors of a stage. Times are whole ticks of 10 us.
"""

from __future__ import annotations

import jax

from ..core import pytree

NEVER = 2**31 - 1
"""A tick that does not come."""
EMPTY = -(2**31) + 1
"""Stamp of a container that is not there."""
NO_TICKET = 2**30
TICKS_PER_MS = 100
TICKS_PER_S = 100_000
QUEUE, INVOKER, CONFIG, BATCH, MEMBERS = range(5)
"""Columns of a task row; the members follow."""


@pytree
class World:
    """A prepared scenario."""

    # requests; one more than there are, and that one never comes
    arrival: jax.Array  # [R+1] int32 tick
    workflow: jax.Array  # [R+1] int32
    counted: jax.Array  # [R+1] bool
    noise: jax.Array  # [R+1, S] float32 run-time factor
    recent: jax.Array  # [R+1, A] int32 requests of each workflow in the 10 s up to the one before
    deadline_ticks: jax.Array  # [A] int32 SLO of a workflow
    # queues
    queue_function: jax.Array  # [Q] int32
    queue_workflow: jax.Array  # [Q] int32
    queue_stage: jax.Array  # [Q] int32
    successors: jax.Array  # [Q, D] int32 queue, -1 for none
    predecessors: jax.Array  # [Q, P] int32 stage, -1 for none
    entry_queue: jax.Array  # [A] int32
    fastest_ticks: jax.Array  # [Q] int32 fewest from here to the end of the workflow, whatever the cost
    cheapest_usd: jax.Array  # [Q] float least cost of a job from here to the end, however long it takes
    stages_left: jax.Array  # [Q] int32 on the longest way from here to the end, this one included
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
    """The AFW queues. A queue lies in a circle of K places whose ends are kept twice, so that L jobs are one slice."""

    request: jax.Array  # [Q, K+3L] int32
    origin: jax.Array  # [Q, K+3L, P] int32 invoker that ran each predecessor, -1 for none
    head: jax.Array  # [Q] int32 place of the first job
    length: jax.Array  # [Q] int32
    waiting: jax.Array  # [Q] bool, until something is released or joins
    ticket: jax.Array  # [Q] int32, NO_TICKET where the last visit served it
    fails: jax.Array  # [Q] int32 visits without a task since the last one
    due: jax.Array  # [Q] int32 deadline of the head request; rubbish for empty queues


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
    """Counted requests so far, and what has not been reported as reward."""

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
    """What was decided, a row per task or shed request: start, end, billed ticks, cold, then a task row."""

    row: jax.Array  # [jobs or 0, 8+L] int32
    count: jax.Array  # [] int32


@pytree
class State:
    """A moment between two decisions or events."""

    now: jax.Array  # [] int32 tick
    next_request: jax.Array  # [] int32
    ready: jax.Array  # [] int32 tick at which the next container under preparation is ready
    controller_free: jax.Array  # [] int32
    last_served: jax.Array  # [] int32 queue
    tickets: jax.Array  # [] int32 given so far
    cursor: jax.Array  # [] int32 queue that is asked about; -1 when the episode is over
    # The first jobs at the cursor. They are read once, when it is set: a queue that is read where it also changes would
    # be copied as a whole.
    line: jax.Array  # [L+1] int32 requests; rubbish beyond the queue's length
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
