"""The round's plan of every ORDER+PLACEMENT[+sticky][+backfill] policy: order, admit, place.

One program serves all of them. Order, placement, sticky and backfill are array arguments, so that a new combination
needs no compilation. A learned rule changes the keys of an order and decides which gangs stay where they are; its
weights are array arguments too.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import lru_cache
from typing import Any

import jax
import jax.numpy as jnp
from jax import lax

from ...envs.cluster.mdp.base import BaseProgram
from ...envs.cluster.state import BROKEN, FREE
from ...envs.cluster.view import View
from ...envs.core import pytree
from ...envs.loops import add, put, sequence_of
from .admission import ALWAYS_FREE, Admission, admit
from .gittins import History, add_finished
from .orders import Order
from .placements import Placement

PICKS_UNROLL = 8
"""Number of steps of the admission scan that are unrolled into one."""


Learned = Callable[[Any, View, History, jax.Array], tuple[jax.Array, jax.Array]]
"""(weights, view, history, key of the order [A]) -> the key to use [A], lower goes first; gangs to keep [A] bool."""


@pytree
class ListData:
    """The data of a policy that is bound to a bank."""

    order: jax.Array  # [] int32 index into the orders
    placement: jax.Array  # [] int32 index into the placements
    sticky: jax.Array  # [] bool
    backfill: jax.Array  # [] bool
    history: History
    weights: Any = None  # of the `Learned` rule, if the program has one


@pytree
class ListMemory:
    """What one round passes to the next: the order that it used, and the service history."""

    sequence: jax.Array  # [A] int32 slots
    history: History
    keep: jax.Array | None = None  # [A] bool, in slots: jobs that keep their gangs if they run on, by a `Learned` rule


@lru_cache
def list_program(
    orders: tuple[Order, ...], placements: tuple[Placement, ...], learned: Learned | None = None
) -> BaseProgram:
    """Return the program of list policies over these orders and placements; equal arguments give the same object."""
    class_first = tuple(p.class_first for p in placements)
    random = tuple(p.random for p in placements)

    def act(data: ListData, view: View, memory: ListMemory, key: jax.Array) -> tuple[jax.Array, ListMemory]:
        """Return the owner [N, P] of every GPU for the next round, and the memory."""
        now = order(data, view, memory)
        known = ~view.changed & jnp.all(now.sequence == memory.sequence) & ~jnp.asarray(random)[data.placement]
        # Admission and deterministic placement depend only on the order and the running set: the same jobs in the
        # same order get the same plan, and a sticky policy repeats its last plan. For learned policies we define it
        # this way: while the order stays the same, no gang moves.
        empty = jnp.full_like(view.owner, FREE)
        return lax.cond(known, lambda *_: view.owner, complete, data, view, now, key, empty), now

    def order(data: ListData, view: View, memory: ListMemory) -> ListMemory:
        """Return the memory of this round: the scheduling order and the service history."""
        history = _update_history(data, view, memory)
        if learned is None:
            return ListMemory(_sequence(orders, data, view, history, memory.sequence), history)
        key, keep = learned(data.weights, view, history, _key(orders, data, view, history))
        return ListMemory(_sorted(view, key, memory.sequence), history, keep)

    def complete(data: ListData, view: View, memory: ListMemory, key: jax.Array, plan: jax.Array) -> jax.Array:
        """Return the plan [N, P] with all gangs added that this policy would add."""
        sequence = memory.sequence
        mine, intact = _beside(plan, view)
        demand, running = jnp.where(mine, view.demand, 0)[sequence], (view.running & intact)[sequence]
        free = jnp.sum(plan == FREE, dtype=jnp.int32)
        admission = admit(demand, running & (demand > 0), free, data.sticky, data.backfill)
        if memory.keep is not None:
            admission = _keeping(admission, running & memory.keep[sequence])
        by_class = jnp.asarray(class_first)[data.placement]
        return _place(placements, data.placement, by_class, view, sequence, admission, plan, key)

    return BaseProgram(_start, act, _grow, order, complete, _picks)


def _picks(data: ListData, demand: jax.Array, free: jax.Array) -> jax.Array:
    """Return the jobs [W] that admission would take from a queue of `demand` [W], ignoring running gangs."""

    def look(left: tuple[jax.Array, jax.Array], n: jax.Array) -> tuple[tuple[jax.Array, jax.Array], jax.Array]:
        free, going_on = left
        fits = (n <= free) & going_on
        return (jnp.where(fits, free - n, free), going_on & (fits | data.backfill)), fits & (n > 0)

    return lax.scan(look, (free, jnp.bool_(True)), demand, unroll=PICKS_UNROLL)[1]


def _beside(plan: jax.Array, view: View) -> tuple[jax.Array, jax.Array]:
    """Return the slots [A] that the plan has not placed, and the slots whose current gang it leaves untouched."""
    slots = view.demand.shape[0]
    planned = jnp.where(plan == FREE, slots, plan).ravel()
    unplaced = add(jnp.zeros(slots, jnp.int32), planned, jnp.ones_like(planned)) == 0
    taken = jnp.where((view.owner == FREE) | (plan == FREE), slots, view.owner).ravel()
    return unplaced, add(jnp.zeros(slots, jnp.int32), taken, jnp.ones_like(taken)) == 0


def _start(data: ListData, slots: int) -> ListMemory:
    keep = None if data.weights is None else jnp.zeros(slots, bool)
    return ListMemory(sequence=jnp.zeros(slots, jnp.int32), history=data.history, keep=keep)


def _grow(memory: ListMemory, slots: int) -> ListMemory:
    # New arrivals force the next round to sort again, so the old sequence is not needed.
    keep = None if memory.keep is None else jnp.zeros(slots, bool)
    return ListMemory(sequence=jnp.zeros(slots, jnp.int32), history=memory.history, keep=keep)


def _update_history(data: ListData, view: View, memory: ListMemory) -> History:
    ledger = view.ledger
    return lax.cond(
        data.history.online & (view.finished != memory.history.seen),
        lambda: add_finished(data.history, ledger.app_class, ledger.demand, ledger.service),
        lambda: memory.history,
    )


def _keeping(admission: Admission, keep: jax.Array) -> Admission:
    """Admit the same jobs, but let those in `keep` [A] that would be placed anew stay where they are."""
    stay = admission.placed & keep
    return replace(admission, kept=admission.kept | stay, placed=admission.placed & ~stay)


def _sequence(
    orders: tuple[Order, ...], data: ListData, view: View, history: History, previous: jax.Array
) -> jax.Array:
    """Return the slots in scheduling order [A]."""
    slot = jnp.arange(view.demand.shape[0], dtype=jnp.int32)
    by_arrival = jnp.asarray([order.fixed for order in orders])[data.order] & ~jnp.any(view.promoted)
    return lax.cond(by_arrival, lambda: slot, lambda: _sorted(view, _key(orders, data, view, history), previous))


def _key(orders: tuple[Order, ...], data: ListData, view: View, history: History) -> jax.Array:
    return lax.switch(data.order, [order.key for order in orders], view, history)


def _sorted(view: View, key: jax.Array, previous: jax.Array) -> jax.Array:
    """Sort the slots into scheduling order [A]: promoted jobs, then by key, ties by arrival; empty slots last."""
    slot = jnp.arange(view.demand.shape[0], dtype=jnp.int32)
    group = jnp.where(slot >= view.count, 2, jnp.where(view.promoted, 0, 1)).astype(jnp.int32)
    # Sorting is the most expensive part of a round, and often the previous order is still correct.
    stands = ~view.changed & _ascending(group[previous], key[previous], previous)
    return lax.cond(stands, lambda: previous, lambda: sequence_of(group, key))


def _ascending(group: jax.Array, key: jax.Array, slot: jax.Array) -> jax.Array:
    """Whether the rows (group, key, slot) [A] are in strictly ascending order."""
    same_group, same_key = group[:-1] == group[1:], key[:-1] == key[1:]
    by_key = (key[:-1] < key[1:]) | (same_key & (slot[:-1] < slot[1:]))
    return jnp.all((group[:-1] < group[1:]) | (same_group & by_key))


def _place(
    placements: tuple[Placement, ...],
    placement: jax.Array,
    by_class: jax.Array,
    view: View,
    sequence: jax.Array,
    admission: Admission,
    plan: jax.Array,
    key: jax.Array,
) -> jax.Array:
    """Place the admitted jobs one after the other on the GPUs that are free at their turn."""
    capacity = sequence.shape[0]
    position = jnp.arange(capacity, dtype=jnp.int32)
    position_of = put(jnp.zeros(capacity, jnp.int32), sequence, position)

    held = view.owner != FREE
    holder = position_of[jnp.where(held, view.owner, 0)]
    keeps = held & admission.kept[holder]
    # Class-first placements see the GPUs of all stopped gangs at once; others only of gangs stopped by their turn.
    released = jnp.where(held & ~by_class, admission.released_at[holder], ALWAYS_FREE)

    group = jnp.where(by_class, view.app_class[sequence], 0)
    turns = sequence_of(jnp.where(admission.placed, group, 2**30), position)
    branches = [p.place for p in placements]

    def step(i: jax.Array, owner: jax.Array) -> jax.Array:
        at = turns[i]
        slot = sequence[at]
        free = (owner == FREE) & (released <= at)
        lot = jax.random.fold_in(key, i)
        gang = lax.switch(placement, branches, view.profile, view.app_class[slot], free, view.demand[slot], lot)
        whole = (jnp.sum(gang, dtype=jnp.int32) == view.demand[slot]) & ~jnp.any(gang & ~free)
        return jnp.where(whole, jnp.where(gang, slot, owner), BROKEN)

    placed = jnp.sum(admission.placed, dtype=jnp.int32)
    return lax.fori_loop(0, placed, step, jnp.where(keeps, view.owner, plan))
