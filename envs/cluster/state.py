"""The state of a training cluster: frozen arrays without behaviour.

Axes: C app classes, N nodes, P GPUs per node (G = N * P, GPU id = node * P + place), J jobs, A slots for
active jobs, V bins of the widest class. Times are whole rounds; only work and slowdowns are floats.
"""

from __future__ import annotations

import jax
import jax.numpy as jnp

from ..core import pytree

FREE = -1
"""The owner of a GPU that no gang holds."""
BROKEN = -2
"""The owner in a plan that the policy itself marks as invalid."""
NEVER = 2**30
"""A round that no episode reaches: the arrival of padding jobs, and the start of jobs that never ran."""


@pytree
class Profile:
    """What the scheduler believes about the GPUs: their bins, and the order of the L x V cells that follows."""

    level: jax.Array  # [C, N, P] int32, rank of the GPU's bin within its class, 0 = fastest
    value: jax.Array  # [C, V] slowdown of the bin
    within_rank: jax.Array  # [C, V] int32, step of the cell (within one node, bin) in PAL's walk
    across_rank: jax.Array  # [C, V] int32, step of the cell (across nodes, bin)


@pytree
class World:
    """One prepared scenario. A bank stacks M of them on a leading axis. Row J of the job arrays is padding."""

    arrival_s: jax.Array  # [J+1]
    arrival_round: jax.Array  # [J+1] int32, first round boundary at or after the arrival
    demand: jax.Array  # [J+1] int32 GPUs
    iterations: jax.Array  # [J+1] work in iterations
    iter_s: jax.Array  # [J+1] ideal seconds per iteration
    app_class: jax.Array  # [J+1] int32
    tracked: jax.Array  # [J+1] bool
    pm_score: jax.Array  # [C, N, P] true slowdown of each GPU
    profile: Profile
    locality_penalty: jax.Array  # [C] slowdown of a gang that spans nodes
    first_arrival_s: jax.Array  # [] first arrival of a tracked job
    round_s: jax.Array  # []
    restart_s: jax.Array  # [] seconds lost when a gang is moved or resumed
    starving_rounds: jax.Array  # [] int32, waiting rounds after which a job is promoted permanently
    nominal_remaining: jax.Array  # [] bool, remaining time ignores slowdown (artifact)
    horizon_round: jax.Array  # [] int32, the episode is truncated here


@pytree
class Slots:
    """Active jobs in arrival order; slots beyond `State.count` are empty."""

    job: jax.Array  # [A] int32 index into the job arrays, J where empty
    demand: jax.Array  # [A] int32, 0 where empty
    app_class: jax.Array  # [A] int32
    iterations: jax.Array  # [A]
    iter_s: jax.Array  # [A]
    done: jax.Array  # [A] iterations finished
    attained: jax.Array  # [A] int32 rounds scheduled
    running: jax.Array  # [A] bool
    slowdown: jax.Array  # [A] of the current gang (PM score x penalty); 0 where not running
    slowdown_sum: jax.Array  # [A] over the rounds run
    start_round: jax.Array  # [A] int32, NEVER before the first start
    waited: jax.Array  # [A] int32 rounds since last scheduled
    promoted: jax.Array  # [A] bool
    tracked: jax.Array  # [A] bool, False where empty
    debt_s: jax.Array  # [A] restart seconds that remain to be spent
    preemptions: jax.Array  # [A] int32
    contended_gpu_rounds: jax.Array  # [A] int32, the cluster's total before the job's first round


@pytree
class Ledger:
    """Results of finished jobs; rows of unfinished jobs hold initial values only."""

    app_class: jax.Array  # [J+1] int32
    demand: jax.Array  # [J+1] int32
    start_round: jax.Array  # [J+1] int32
    finish_round: jax.Array  # [J+1] int32, NEVER while unfinished
    service: jax.Array  # [J+1] int32 rounds scheduled, 0 while unfinished
    slowdown_sum: jax.Array  # [J+1]
    preemptions: jax.Array  # [J+1] int32
    contended_gpu_rounds: jax.Array  # [J+1] int32 from the job's first round to its finish, 0 while unfinished


@pytree
class Contention:
    """The contended GPUs per round: the larger of the cluster's GPUs and the total demand of the active jobs.

    The values are updated only when jobs arrive or finish.
    """

    gpus: jax.Array  # [] int32, in every round from `since` on
    since: jax.Array  # [] int32
    gpu_rounds: jax.Array  # [] int32, summed over the rounds before `since`; may wrap around, differences stay correct


@pytree
class State:
    """A cluster at a round boundary, after completions and arrivals, before planning."""

    round: jax.Array  # [] int32
    next_job: jax.Array  # [] int32, jobs with a lower index have arrived
    count: jax.Array  # [] int32 active jobs
    slots: Slots
    owner: jax.Array  # [N, P] int32 slot that holds the GPU, or FREE
    changed: jax.Array  # [] bool, the active set changed since the last plan
    unfinished: jax.Array  # [] int32 tracked jobs still to finish
    flow: jax.Array  # [2] time of tracked jobs in the system since last read: in s, in ideal run times
    finished: jax.Array  # [] int32 jobs finished, tracked or not
    busy_gpu_rounds: jax.Array  # [] int32, allocated GPUs summed over rounds
    contention: Contention
    overflow: jax.Array  # [] bool, arrived jobs found no slot: call `grow` before the next plan
    broken: jax.Array  # [] bool, a policy made an invalid plan: incomplete gangs, or GPUs that were not free
    profile: Profile
    ledger: Ledger


def empty_slots(world: World, capacity: int) -> Slots:
    """Return `capacity` slots that hold no job."""
    whole = jnp.zeros(capacity, jnp.int32)
    real = jnp.zeros(capacity, world.iterations.dtype)
    no = jnp.zeros(capacity, bool)
    return Slots(
        job=jnp.full(capacity, world.demand.shape[0] - 1, jnp.int32),
        demand=whole,
        app_class=whole,
        iterations=real,
        iter_s=jnp.ones_like(real),
        done=real,
        attained=whole,
        running=no,
        slowdown=real,
        slowdown_sum=real,
        start_round=jnp.full(capacity, NEVER, jnp.int32),
        waited=whole,
        promoted=no,
        tracked=no,
        debt_s=real,
        preemptions=whole,
        contended_gpu_rounds=whole,
    )


def empty_ledger(world: World) -> Ledger:
    """Return a ledger in which no job has finished."""
    rows = world.demand.shape[0]
    whole = jnp.zeros(rows, jnp.int32)
    return Ledger(
        app_class=whole,
        demand=whole,
        start_round=jnp.full(rows, NEVER, jnp.int32),
        finish_round=jnp.full(rows, NEVER, jnp.int32),
        service=whole,
        slowdown_sum=jnp.zeros(rows, world.iterations.dtype),
        preemptions=whole,
        contended_gpu_rounds=whole,
    )
