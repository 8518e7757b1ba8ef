"""The cluster as a decision process, pure and jittable: reset, step, observe.

A decision point is a round in which the active set changed, at the latest every `decide_every` rounds. A decision is a
sequence of actions that build the round's plan; REST or COMMIT ends it and lets time pass.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import jax
import jax.numpy as jnp
from jax import lax

from ..core import pytree
from .action import ActionSpace, Plan, Window, empty_plan, extend, free_gpus, legal_actions, place_chosen, window_of
from .bank import pick
from .base import BaseProgram
from .dynamics import advance, apply_plan, initial_state, is_over
from .observation import Layout, observation
from .reward import RewardKind, raw_reward
from .state import NEVER, State, World
from .view import View, observe


@dataclass(frozen=True)
class ClusterProcess:
    """The static part of an environment: one compiled program per value."""

    layout: Layout
    base: BaseProgram
    decide_every: int
    clairvoyant: bool
    reward: RewardKind
    slots: int

    @property
    def space(self) -> ActionSpace:
        """The numbers of its actions."""
        return self.layout.space


@pytree
class EnvState:
    """An episode between two actions."""

    world: jax.Array  # [] int32 index into the bank
    cluster: State
    plan: Plan
    window: Window  # of the plan
    memory: Any  # of the base policy, its order included
    key: jax.Array  # [2] uint32
    paid: jax.Array  # [] what rewards were paid for so far, see `raw_reward`


@pytree
class Step:
    """What an action led to."""

    reward: jax.Array  # [] raw, in the units of its kind
    terminated: jax.Array  # [] bool
    truncated: jax.Array  # [] bool
    illegal: jax.Array  # [] bool, the action was not legal and counted as REST
    rounds: jax.Array  # [] int32 rounds that passed


def reset(process: ClusterProcess, worlds: World, data: Any, index: jax.Array, key: jax.Array) -> EnvState:
    """World `index` at its first decision point. `key` [2] uint32 feeds a base policy that draws lots."""
    cluster = initial_state(pick(worlds, index), process.slots)
    plan, memory = empty_plan(cluster), process.base.start(data, process.slots)
    state = EnvState(
        world=index,
        cluster=cluster,
        plan=plan,
        window=window_of(process.space, cluster, plan, memory.sequence),
        memory=memory,
        key=key,
        paid=jnp.zeros((), cluster.flow.dtype),
    )
    return _decide(process, pick(worlds, index), data, state)


def step(
    process: ClusterProcess, worlds: World, data: Any, state: EnvState, action: jax.Array, mask: jax.Array
) -> tuple[EnvState, Step]:
    """Take `action` [] int32; `mask` is what `observe_env` showed. An illegal action counts as REST and is reported."""
    space = process.space
    world = pick(worlds, state.world)
    known = (action >= 0) & (action < space.size)
    illegal = ~(known & mask[jnp.clip(action, 0, space.size - 1)])
    action = jnp.where(illegal, space.rest, action)
    passes = action >= space.rest
    return lax.cond(
        passes,
        lambda: _pass_time(process, world, data, state, action == space.rest, illegal),
        lambda: (_extend(process, state, action), _nothing_yet(state, illegal)),
    )


def build(process: ClusterProcess, state: EnvState, action: jax.Array) -> tuple[EnvState, Step]:
    """`step` for an action that is known to be legal and to let no time pass: a far smaller program."""
    return _extend(process, state, action), _nothing_yet(state, jnp.bool_(False))


def observe_env(
    process: ClusterProcess, worlds: World, data: Any, state: EnvState
) -> tuple[dict[str, jax.Array], jax.Array]:
    """(flat observation without the mask, mask of legal actions [A])."""
    world, cluster = pick(worlds, state.world), state.cluster
    window = state.window
    mask = legal_actions(process.space, cluster, state.plan, window)
    picked = process.base.picks(data, window.demand, free_gpus(cluster, state.plan))
    parts = observation(process.layout, world, cluster, state.plan, window, mask, picked, process.clairvoyant)
    return parts, mask


def _extend(process: ClusterProcess, state: EnvState, action: jax.Array) -> EnvState:
    plan = extend(process.space, state.cluster, state.plan, state.window, action)
    return replace(state, plan=plan, window=window_of(process.space, state.cluster, plan, state.memory.sequence))


def _pass_time(
    process: ClusterProcess, world: World, data: Any, state: EnvState, rest: jax.Array, illegal: jax.Array
) -> tuple[EnvState, Step]:
    """Complete the plan if asked to, and run it until the next decision point."""
    cluster = state.cluster
    owner = place_chosen(process.space, cluster, state.plan, state.memory.sequence)
    lot = jax.random.fold_in(jax.random.wrap_key_data(state.key), cluster.round)
    view = _view(process, world, cluster)
    owner = lax.cond(
        rest,
        lambda: process.base.complete(data, view, state.memory, lot, owner),
        lambda: owner,
    )
    start = cluster.round
    cluster = _run(process, world, cluster, owner)
    over = is_over(world, cluster)
    reward, paid = raw_reward(process.reward, world, cluster, state.paid)
    done = Step(
        reward=reward,
        terminated=cluster.unfinished == 0,
        truncated=over & (cluster.unfinished > 0),
        illegal=illegal,
        rounds=cluster.round - start,
    )
    cluster = replace(cluster, flow=jnp.zeros_like(cluster.flow))
    return _decide(process, world, data, replace(state, cluster=cluster, paid=paid)), done


def _run(process: ClusterProcess, world: World, cluster: State, owner: jax.Array) -> State:
    """One round under the new plan, then more of the same until something changes or a decision is due."""
    start = cluster.round

    def once(cluster: State) -> State:
        return advance(world, apply_plan(world, cluster, cluster.owner))

    def waits(cluster: State) -> jax.Array:
        due = (cluster.round - start >= process.decide_every) if process.decide_every else jnp.bool_(False)
        # With nobody running and nobody to come only the learner can change anything.
        dead = ~jnp.any(cluster.slots.running) & (world.arrival_round[cluster.next_job] == NEVER)
        return ~(cluster.changed | due | dead | is_over(world, cluster))

    first = advance(world, apply_plan(world, cluster, owner))
    return lax.while_loop(waits, once, first)


def _decide(process: ClusterProcess, world: World, data: Any, state: EnvState) -> EnvState:
    """Begin a decision: an empty plan, and the base order of the jobs that are here."""
    memory = process.base.order(data, _view(process, world, state.cluster), state.memory)
    plan = empty_plan(state.cluster)
    window = window_of(process.space, state.cluster, plan, memory.sequence)
    return replace(state, plan=plan, window=window, memory=memory)


def _view(process: ClusterProcess, world: World, cluster: State) -> View:
    return observe(world, cluster, jnp.bool_(process.clairvoyant))


def _nothing_yet(state: EnvState, illegal: jax.Array) -> Step:
    no = jnp.bool_(False)
    return Step(jnp.zeros((), state.cluster.flow.dtype), no, no, illegal, jnp.int32(0))
