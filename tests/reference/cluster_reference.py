"""An independent, slow and literal cluster simulator: the oracle that the tests compare the fast one with.

Rules: the public simulator of PAL (hal-uw/blox-pal) behind PAL, SC 2024, described in our own words; sticky and
backfilling variants of every placement, the orders of two dimensions and a restart cost are added to them.
"""

from collections.abc import Callable
from dataclasses import dataclass, field
from math import sqrt

ORDERS = ("fifo", "las", "las-2d", "srtf", "srsf", "sqrt")
PLACEMENTS = ("packed", "pm-first", "pal")
STARVED_AFTER_S = 3_600_000.0
WITHIN, ACROSS = "within", "across"
ONE_NODE_PENALTY = 1.0

Gangs = dict[int, list[int]]  # job index -> its GPU ids, ascending; only jobs that run


@dataclass(frozen=True)
class RefJob:
    """What a user submits: `iterations` of `iter_s` seconds each on median GPUs of one node."""

    arrival_s: float
    demand: int
    iterations: float
    iter_s: float
    app_class: int
    tracked: bool = True


@dataclass(frozen=True)
class RefWorld:
    """The cluster: node of GPU g is g // gpus_per_node; scores and bins are [class][gpu]."""

    nodes: int
    gpus_per_node: int
    pm_score: list[list[float]]  # true slowdown
    pm_bin: list[list[float]]  # what the scheduler sees
    locality_penalty: list[float]  # [class]
    round_s: float
    restart_s: float = 0.0
    artifact: bool = False


@dataclass
class RefResult:
    """What became of a finished tracked job.

    `run_slowdown` is the mean of score x penalty over the rounds it ran, `contention` that of max(1, demand of all who
    are active / GPUs) over all its rounds.
    """

    start_s: float
    finish_s: float
    preemptions: int
    run_slowdown: float
    contention: float


@dataclass
class JobState:
    """A job that has joined; `gpus` is its gang of the round that just passed, empty if it did not run."""

    index: int
    job: RefJob
    gpus: list[int] = field(default_factory=list)
    done: float = 0.0
    attained_rounds: int = 0
    debt_s: float = 0.0
    starved_s: float = 0.0
    promoted: bool = False
    start_s: float | None = None
    preemptions: int = 0
    slowdown_sum: float = 0.0
    contention: list[float] = field(default_factory=list)  # of each of its rounds


Allocator = Callable[[RefWorld, list[int], RefJob], list[int] | None]  # (world, free ids ascending, job) -> gang


def simulate(
    world: RefWorld,
    jobs: list[RefJob],
    order: str,
    placement: str,
    sticky: bool = False,
    backfill: bool = False,
    trace: list[tuple[float, Gangs]] | None = None,
) -> dict[int, RefResult]:
    """Run rounds until every tracked job has finished (the round loop of the public simulator of PAL).

    Never returns if jobs livelock: with restart_s >= round_s attained-service orders can move every gang each round.
    """
    _check(world, jobs, order, placement)
    unfinished = {index for index, job in enumerate(jobs) if job.tracked}
    waiting_to_join = sorted(range(len(jobs)), key=lambda index: (jobs[index].arrival_s, index))
    active: list[JobState] = []
    results: dict[int, RefResult] = {}
    round_index = 0
    while True:
        now_s = round_index * world.round_s
        for state in list(active):
            _progress(world, state)
            if state.done >= state.job.iterations:
                active.remove(state)
                if state.job.tracked:
                    results[state.index] = _result(state, now_s)
                    unfinished.remove(state.index)
        if not unfinished:
            return results
        while waiting_to_join and jobs[waiting_to_join[0]].arrival_s <= now_s:
            index = waiting_to_join.pop(0)
            active.append(JobState(index, jobs[index]))
        queue = sorted(active, key=lambda state: (not state.promoted, order_key(world, state, order), state.index))
        gangs = plan(world, queue, placement, sticky, backfill)
        contention = max(1.0, sum(state.job.demand for state in active) / len(all_gpus(world)))
        for state in queue:
            state.contention.append(contention)
            _execute(world, state, gangs.get(state.index, []), now_s)
        if trace is not None:
            trace.append((now_s, {index: list(gangs[index]) for index in sorted(gangs)}))
        round_index += 1


def _check(world: RefWorld, jobs: list[RefJob], order: str, placement: str) -> None:
    """Refuse what the simulator has no rule for, or what would never end."""
    if order not in ORDERS:
        raise ValueError(f"order {order!r} is not one of {ORDERS}")
    if placement not in PLACEMENTS:
        raise ValueError(f"placement {placement!r} is not one of {PLACEMENTS}")
    for index, job in enumerate(jobs):
        if not 1 <= job.demand <= len(all_gpus(world)):
            raise ValueError(f"job {index} demands {job.demand} of {len(all_gpus(world))} GPUs")


# --- the round: progress, completion, execution, waiting (the public simulator of PAL, round loop) ---


def _progress(world: RefWorld, state: JobState) -> None:
    """Credit the round that just passed; what a restart took is lost (the public simulator of PAL, progress)."""
    if not state.gpus:
        return
    slowdown = gang_slowdown(world, state.job, state.gpus)
    lost_s = min(state.debt_s, world.round_s)
    state.debt_s -= lost_s
    state.done += (world.round_s - lost_s) / (slowdown * state.job.iter_s)
    state.attained_rounds += 1
    state.slowdown_sum += slowdown


def gang_slowdown(world: RefWorld, job: RefJob, gpus: list[int]) -> float:
    """Worst true score of the gang x the penalty if it spans nodes (PAL, SC 2024: bulk-synchronous gangs)."""
    one_node = len({node_of(world, gpu) for gpu in gpus}) == 1
    penalty = ONE_NODE_PENALTY if one_node else world.locality_penalty[job.app_class]
    return max(world.pm_score[job.app_class][gpu] for gpu in gpus) * penalty


def _result(state: JobState, now_s: float) -> RefResult:
    """A job finishes at a round boundary (the public simulator of PAL, completion)."""
    assert state.start_s is not None
    contention = sum(state.contention) / len(state.contention)
    run_slowdown = state.slowdown_sum / state.attained_rounds
    return RefResult(state.start_s, now_s, state.preemptions, run_slowdown, contention)


def _execute(world: RefWorld, state: JobState, gpus: list[int], now_s: float) -> None:
    """Put a job on its GPUs of this round and keep its books (the public simulator of PAL, execution)."""
    changed = gpus != state.gpus
    if state.gpus and changed:
        state.preemptions += 1
    if gpus and changed and state.start_s is not None:
        state.debt_s = world.restart_s
    if gpus and state.start_s is None:
        state.start_s = now_s
    if gpus or state.gpus:  # launched, running or terminated just now
        state.starved_s = 0.0
    else:
        state.starved_s += world.round_s
    if world.artifact and state.starved_s >= STARVED_AFTER_S:
        state.promoted = True
    state.gpus = gpus


# --- who is next (the public simulator of PAL, scheduling policies) ---


def order_key(world: RefWorld, state: JobState, order: str) -> float:
    """The smaller, the earlier (the public simulator of PAL, scheduling policies; two-dimensional ones added)."""
    keys: dict[str, float] = {
        "fifo": state.job.arrival_s,
        "las": state.attained_rounds,
        "las-2d": state.attained_rounds * state.job.demand,
        "srtf": remaining_s(world, state),
        "srsf": remaining_s(world, state) * state.job.demand,
        "sqrt": remaining_s(world, state) * sqrt(state.job.demand),
    }
    return keys[order]


def remaining_s(world: RefWorld, state: JobState) -> float:
    """Ideal time left; the artifact takes off wall time, so a slow job goes negative (its SRTF)."""
    if world.artifact:
        return state.job.iter_s * state.job.iterations - state.attained_rounds * world.round_s
    return state.job.iter_s * (state.job.iterations - state.done)


# --- on which GPUs: one plan per round (the public simulator of PAL, placement policies) ---


def plan(world: RefWorld, queue: list[JobState], placement: str, sticky: bool, backfill: bool) -> Gangs:
    """The gangs of this round: those that stay and those that are launched."""
    if sticky and backfill:
        kept = {state.index: state.gpus for state in queue if state.gpus}
        waiting = [state for state in queue if not state.gpus]
        launched = all_that_fit(waiting, len(free_gpus(world, kept)))
        return place_in_turn(world, kept, in_placing_order(launched, placement), placement)
    if backfill:
        admitted = all_that_fit(queue, len(all_gpus(world)))
        return place_in_turn(world, {}, in_placing_order(admitted, placement), placement)
    if sticky and placement == "packed":
        return sticky_walk(world, queue, packed)[0]
    if sticky:
        gangs, launched = sticky_walk(world, queue, any_gpus)
        launched_ids = {state.index for state in launched}
        kept = {index: gpus for index, gpus in gangs.items() if index not in launched_ids}
        return place_in_turn(world, kept, in_placing_order(launched, placement), placement)
    if placement == "packed":
        return place_in_turn(world, {}, queue, placement)
    prefix = longest_prefix(queue, len(all_gpus(world)))
    return place_in_turn(world, {}, in_placing_order(prefix, placement) + queue[len(prefix) :], placement)


def all_that_fit(queue: list[JobState], free: int) -> list[JobState]:
    """Admit by count, in order, every job that still fits; skip the others (backfilling, not in the artifact)."""
    admitted: list[JobState] = []
    for state in queue:
        if state.job.demand <= free:
            admitted.append(state)
            free -= state.job.demand
    return admitted


def longest_prefix(queue: list[JobState], free: int) -> list[JobState]:
    """The longest prefix of the order whose demands fit together (the public simulator of PAL, PM-First)."""
    prefix: list[JobState] = []
    for state in queue:
        if state.job.demand > free:
            break
        prefix.append(state)
        free -= state.job.demand
    return prefix


def in_placing_order(states: list[JobState], placement: str) -> list[JobState]:
    """PAL and PM-First place class A first, else in order; packed places in order (PAL, SC 2024)."""
    if placement == "packed":
        return states
    return sorted(states, key=lambda state: state.job.app_class)


def place_in_turn(world: RefWorld, kept: Gangs, states: list[JobState], placement: str) -> Gangs:
    """Allocate one job after the other beside the kept gangs; stop at the first failure (non-sticky placements)."""
    allocate = ALLOCATORS[placement]
    gangs = dict(kept)
    for state in states:
        gpus = allocate(world, free_gpus(world, gangs), state.job)
        if gpus is None:
            break
        gangs[state.index] = gpus
    return gangs


def sticky_walk(world: RefWorld, queue: list[JobState], allocate: Allocator) -> tuple[Gangs, list[JobState]]:
    """Gangs stay unless a job before them needs their GPUs (the public simulator of PAL, sticky placements).

    Victims are taken from the end of the order; a victim may be launched again later in the same walk.
    Returns all gangs and the launched jobs, in order.
    """
    gangs = {state.index: state.gpus for state in queue if state.gpus}
    launched: list[JobState] = []
    for position, state in enumerate(queue):
        if state.index in gangs:
            continue
        gpus = allocate(world, free_gpus(world, gangs), state.job)
        for victim in reversed(queue[position + 1 :]):
            if gpus is not None:
                break
            if victim.index in gangs:
                del gangs[victim.index]
                gpus = allocate(world, free_gpus(world, gangs), state.job)
        if gpus is None:
            break
        gangs[state.index] = gpus
        launched.append(state)
    return gangs, launched


# --- which GPUs for one gang (the public simulator of PAL, allocators) ---


def all_gpus(world: RefWorld) -> list[int]:
    """GPU ids, ascending."""
    return list(range(world.nodes * world.gpus_per_node))


def free_gpus(world: RefWorld, gangs: Gangs) -> list[int]:
    """GPUs in no gang, ascending."""
    taken = {gpu for gpus in gangs.values() for gpu in gpus}
    return [gpu for gpu in all_gpus(world) if gpu not in taken]


def node_of(world: RefWorld, gpu: int) -> int:
    """Nodes hold consecutive GPU ids."""
    return gpu // world.gpus_per_node


def by_node(world: RefWorld, gpus: list[int]) -> dict[int, list[int]]:
    """Node -> its ids among `gpus`; nodes and ids ascending, nodes without any absent."""
    nodes: dict[int, list[int]] = {}
    for gpu in sorted(gpus):
        nodes.setdefault(node_of(world, gpu), []).append(gpu)
    return nodes


def any_gpus(world: RefWorld, free: list[int], job: RefJob) -> list[int] | None:
    """A stand-in that decides by count alone: it succeeds iff enough GPUs are free."""
    return free[: job.demand] if len(free) >= job.demand else None


def packed(world: RefWorld, free: list[int], job: RefJob) -> list[int] | None:
    """Exact node, else tightest node, else the emptiest nodes (the public simulator of PAL, packed)."""
    nodes = by_node(world, free)
    for gpus in nodes.values():
        if len(gpus) == job.demand:
            return gpus
    roomy = [node for node, gpus in nodes.items() if len(gpus) >= job.demand]
    if roomy:
        tightest = min(roomy, key=lambda node: (len(nodes[node]), node))
        return nodes[tightest][: job.demand]
    if len(free) < job.demand:
        return None
    gang: list[int] = []
    while len(gang) < job.demand:
        emptiest = min(nodes, key=lambda node: (-len(nodes[node]), node))
        gang += nodes.pop(emptiest)[: job.demand - len(gang)]
    return sorted(gang)


def pm_first(world: RefWorld, free: list[int], job: RefJob) -> list[int] | None:
    """The best bins, and in a bin the nodes whose count fits best (the public simulator of PAL, PM-First)."""
    if len(free) < job.demand:
        return None
    bins = world.pm_bin[job.app_class]

    def misfit(gpu: int) -> int:
        alike = [g for g in free if bins[g] == bins[gpu] and node_of(world, g) == node_of(world, gpu)]
        return abs(len(alike) - job.demand)

    return sorted(sorted(free, key=lambda gpu: (bins[gpu], misfit(gpu), gpu))[: job.demand])


def pal(world: RefWorld, free: list[int], job: RefJob) -> list[int] | None:
    """Walk the L x V entries from the fastest to the slowest (PAL, SC 2024; the public simulator of PAL)."""
    if job.demand == 1 or job.demand > world.gpus_per_node:
        return pm_first(world, free, job)
    for level, locality, _ in l_by_v_order(world, job.app_class):
        good = [gpu for gpu in free if world.pm_bin[job.app_class][gpu] <= level]
        gang = pal_within(world, good, job) if locality == WITHIN else pm_first(world, good, job)
        if gang is not None:
            return gang
    return None


def l_by_v_order(world: RefWorld, app_class: int) -> list[tuple[float, str, float]]:
    """(bin, locality, slowdown) of a class by rising slowdown; equal ones as they first appear (PAL, SC 2024)."""
    entries: list[tuple[float, str, float]] = []
    for level in dict.fromkeys(world.pm_bin[app_class]):  # distinct bins, by GPU id of first appearance
        entries.append((level, WITHIN, level * ONE_NODE_PENALTY))
        entries.append((level, ACROSS, level * world.locality_penalty[app_class]))
    return sorted(entries, key=lambda entry: entry[2])


def pal_within(world: RefWorld, good: list[int], job: RefJob) -> list[int] | None:
    """In one node, the emptiest first: the gang whose worst bin is lowest (the public simulator of PAL, PAL)."""
    bins = world.pm_bin[job.app_class]
    nodes = by_node(world, good)
    best_gang: list[int] | None = None
    best_worst_bin = float("inf")
    for node in sorted(nodes, key=lambda node: (-len(nodes[node]), node)):
        if len(nodes[node]) < job.demand:
            continue
        worst_bin = sorted(bins[gpu] for gpu in nodes[node])[job.demand - 1]
        if worst_bin < best_worst_bin:
            best_gang = [gpu for gpu in nodes[node] if bins[gpu] <= worst_bin][: job.demand]
            best_worst_bin = worst_bin
    return best_gang


ALLOCATORS: dict[str, Allocator] = {"packed": packed, "pm-first": pm_first, "pal": pal}
