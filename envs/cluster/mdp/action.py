"""Actions: how they are numbered, which are legal, and how each changes the plan.

`cell`: each of the W window slots has 2V cells (V within one node, V across nodes) and KEEP; then REST and COMMIT.
`select`: each window slot has one action (run this job); then REST and COMMIT. PAL places chosen jobs, class A first.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

import jax
import jax.numpy as jnp
from jax import lax

from ...core import pytree
from ...loops import sequence_of
from ..allocation import pal
from ..state import FREE, State
from .cells import gang_of, legal_cells


class ActionMode(StrEnum):
    """What an action chooses."""

    CELL = "cell"
    SELECT = "select"


@dataclass(frozen=True)
class ActionSpace:
    """The sizes that determine how actions are numbered: W window slots, V bins."""

    mode: ActionMode
    window: int
    bins: int

    @property
    def per_slot(self) -> int:
        """Number of actions per window slot."""
        return 2 * self.bins + 1 if self.mode is ActionMode.CELL else 1

    @property
    def keep(self) -> int:
        """Index of KEEP among a slot's actions (`cell` only)."""
        return 2 * self.bins

    @property
    def rest(self) -> int:
        """Number of REST: the base policy completes the plan and commits it."""
        return self.window * self.per_slot

    @property
    def commit(self) -> int:
        """Number of COMMIT: run the plan as it is."""
        return self.rest + 1

    @property
    def size(self) -> int:
        """Number of actions."""
        return self.rest + 2

    def describe(self, action: int) -> str:
        """Describe an action in words."""
        if action in (self.rest, self.commit):
            return "REST" if action == self.rest else "COMMIT"
        slot, part = divmod(action, self.per_slot)
        if self.mode is ActionMode.SELECT:
            return f"SELECT({slot})"
        if part == self.keep:
            return f"KEEP({slot})"
        return f"PLACE({slot}, {'within' if part < self.bins else 'across'}, {part % self.bins})"


@pytree
class Plan:
    """The plan of a round while it is being built."""

    owner: jax.Array  # [N, P] int32 slot or FREE
    chosen: jax.Array  # [A] bool, placed or (`select`) to be placed at commit


@pytree
class Window:
    """The first W unplaced active jobs in base order, as W rows."""

    slot: jax.Array  # [W] int32, A where the row is empty
    demand: jax.Array  # [W] int32, 0 where the row is empty
    app_class: jax.Array  # [W] int32
    keeps: jax.Array  # [W] bool, the job runs and all its GPUs are free in the plan


def empty_plan(state: State) -> Plan:
    """Return a plan with no job placed and all GPUs free: keeping running gangs is up to the policy, not the world."""
    return Plan(jnp.full_like(state.owner, FREE), jnp.zeros_like(state.slots.running))


def window_of(space: ActionSpace, state: State, plan: Plan, sequence: jax.Array) -> Window:
    """Return the window of a plan; `sequence` [A] is the base order."""
    slots = state.slots
    capacity = sequence.shape[0]
    waiting = (sequence < state.count) & ~plan.chosen[sequence]
    row = jnp.where(waiting, jnp.cumsum(waiting, dtype=jnp.int32) - 1, space.window)
    slot = jnp.full(space.window, capacity, jnp.int32).at[row].set(sequence, mode="drop")
    held = jnp.where((state.owner != FREE) & (plan.owner == FREE), state.owner, capacity).ravel()
    still = jnp.zeros(capacity, jnp.int32).at[held].add(1, mode="drop")
    here = jnp.minimum(slot, capacity - 1)
    there = slot < capacity
    return Window(
        slot=slot,
        demand=jnp.where(there, slots.demand[here], 0),
        app_class=slots.app_class[here],
        keeps=there & slots.running[here] & (still[here] == slots.demand[here]),
    )


def legal_actions(space: ActionSpace, state: State, plan: Plan, window: Window) -> jax.Array:
    """Return the mask [space.size] of legal actions. REST and COMMIT are always legal."""
    always = jnp.ones(2, bool)
    if space.mode is ActionMode.SELECT:
        free = free_gpus(state, plan)
        return jnp.concatenate([(window.demand > 0) & (window.demand <= free), always])
    cells = legal_cells(state.profile, window.app_class, window.demand, plan.owner == FREE)
    return jnp.concatenate([jnp.concatenate([cells, window.keeps[:, None]], axis=1).ravel(), always])


def free_gpus(state: State, plan: Plan) -> jax.Array:
    """Count the GPUs [] int32 that the plan has not yet promised to a job."""
    promised = jnp.sum(jnp.where(plan.chosen, state.slots.demand, 0), dtype=jnp.int32)
    return jnp.int32(plan.owner.size) - promised


def extend(space: ActionSpace, state: State, plan: Plan, window: Window, action: jax.Array) -> Plan:
    """Return the plan after a legal slot action (PLACE, KEEP or SELECT)."""
    row, part = action // space.per_slot, action % space.per_slot
    slot = window.slot[row]
    chosen = plan.chosen | (jnp.arange(plan.chosen.shape[0], dtype=jnp.int32) == slot)
    if space.mode is ActionMode.SELECT:
        return Plan(plan.owner, chosen)
    gang = lax.cond(
        part == space.keep,
        lambda: state.owner == slot,
        lambda: gang_of(state.profile, window.app_class[row], plan.owner == FREE, window.demand[row], part),
    )
    return Plan(jnp.where(gang, slot, plan.owner), chosen)


def place_chosen(space: ActionSpace, state: State, plan: Plan, sequence: jax.Array) -> jax.Array:
    """Return the plan's owners [N, P]; `select` now places the chosen jobs, class A first, then in base order."""
    if space.mode is ActionMode.CELL:
        return plan.owner
    slots = state.slots
    position = jnp.arange(sequence.shape[0], dtype=jnp.int32)
    group = jnp.where(plan.chosen[sequence], slots.app_class[sequence], 2**30)
    turns = sequence_of(group, position)

    def place(i: jax.Array, owner: jax.Array) -> jax.Array:
        slot = sequence[turns[i]]
        return jnp.where(pal(state.profile, slots.app_class[slot], owner == FREE, slots.demand[slot]), slot, owner)

    return lax.fori_loop(0, jnp.sum(plan.chosen, dtype=jnp.int32), place, plan.owner)
