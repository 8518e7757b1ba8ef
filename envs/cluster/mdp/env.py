"""The cluster as a decision process, pure and jittable: reset, step, observe.

A decision point is a round in which the set of active jobs has changed, and there is one at least every `decide_every`
rounds. A decision is a sequence of actions that build the round's plan; REST or COMMIT ends it and lets time pass.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import jax
import jax.numpy as jnp
from jax import lax

from ...core import pytree
from ...process import Column, Step
from ..dynamics import advance, apply_plan, initial_state, is_over
from ..state import NEVER, State, World
from ..view import View, observe
from .action import ActionSpace, Plan, Window, empty_plan, extend, free_gpus, legal_actions, place_chosen, window_of
from .base import BaseProgram
from .observation import Layout, observation
from .reward import RewardKind, raw_reward


@pytree
class Settled:
    """The part of the state that stays the same while a plan is built."""

    cluster: State
    memory: Any  # of the base policy, its order included
    key: jax.Array  # [2] uint32
    paid: jax.Array  # [] cost that rewards have covered so far, see `raw_reward`


@pytree
class Draft:
    """The plan while it is being built."""

    plan: Plan
    window: Window  # of the plan


@pytree
class EnvState:
    """The state of an episode between two actions."""

    settled: Settled
    draft: Draft


@dataclass(frozen=True)
class ClusterProcess:
    """The static part of an environment (see `process.Process`); one program is compiled per value."""

    layout: Layout
    base: BaseProgram
    decide_every: int
    clairvoyant: bool
    reward: RewardKind
    slots: int

    @property
    def space(self) -> ActionSpace:
        """The numbering of the actions."""
        return self.layout.space

    @property
    def actions(self) -> int:
        """Number of actions."""
        return self.space.size

    @property
    def sizes(self) -> dict[str, int]:
        """Length of every flat part of an observation."""
        return self.layout.sizes

    @property
    def columns(self) -> tuple[Column, ...]:
        """Figures that a step reports in addition to its reward."""
        return (Column("rounds", int),)

    @property
    def instant(self) -> int:
        """Number of REST, the first action that lets time pass."""
        return self.space.rest

    def reset(self, world: World, data: Any, key: jax.Array) -> EnvState:
        """Return `world` at its first decision point; `key` [2] uint32 is for a randomised base policy."""
        cluster = initial_state(world, self.slots)
        memory = self.base.start(data, self.slots)
        return _decide(self, world, data, Settled(cluster, memory, key, jnp.zeros((), cluster.flow.dtype)))

    def step(
        self, world: World, data: Any, state: EnvState, action: jax.Array, mask: jax.Array
    ) -> tuple[EnvState, Step]:
        """Take `action` [] int32; `mask` comes from `observe`. An illegal action counts as REST and is reported."""
        space = self.space
        known = (action >= 0) & (action < space.size)
        illegal = ~(known & mask[jnp.clip(action, 0, space.size - 1)])
        action = jnp.where(illegal, space.rest, action)
        return lax.cond(
            action >= space.rest,
            lambda: _pass_time(self, world, data, state, action == space.rest, illegal),
            lambda: (self.build(world, data, state, action), _nothing_yet(state)),
        )

    def build(self, world: World, data: Any, state: EnvState, action: jax.Array) -> EnvState:
        """Do what `step` does, for a legal PLACE, KEEP or SELECT."""
        settled, draft = state.settled, state.draft
        plan = extend(self.space, settled.cluster, draft.plan, draft.window, action)
        return replace(state, draft=_draft(self, settled, plan))

    def observe(self, world: World, data: Any, state: EnvState) -> tuple[dict[str, jax.Array], jax.Array]:
        """Return (flat observation without the mask, mask of legal actions [actions])."""
        cluster, plan, window = state.settled.cluster, state.draft.plan, state.draft.window
        mask = legal_actions(self.space, cluster, plan, window)
        picked = self.base.picks(data, window.demand, free_gpus(cluster, plan))
        return observation(self.layout, world, cluster, plan, window, mask, picked, self.clairvoyant), mask

    def clock(self, world: World, state: EnvState) -> tuple[jax.Array, jax.Array]:
        """Return (seconds since the world began, whether jobs found no slot)."""
        cluster = state.settled.cluster
        return cluster.round.astype(world.round_s.dtype) * world.round_s, cluster.overflow

    def is_over(self, world: World, state: EnvState) -> jax.Array:
        """Whether all jobs are done, or the horizon is reached."""
        return is_over(world, state.settled.cluster)

    def split(self, state: EnvState) -> tuple[Settled, Draft]:
        """Split the state; the draft is the part that PLACE, KEEP and SELECT change."""
        return state.settled, state.draft

    def join(self, settled: Settled, draft: Draft) -> EnvState:
        """Join both parts into a state."""
        return EnvState(settled, draft)


def _pass_time(
    process: ClusterProcess, world: World, data: Any, state: EnvState, rest: jax.Array, illegal: jax.Array
) -> tuple[EnvState, Step]:
    """Complete the plan if the action is REST, and run it until the next decision point."""
    settled = state.settled
    cluster = settled.cluster
    owner = place_chosen(process.space, cluster, state.draft.plan, settled.memory.sequence)
    lot = jax.random.fold_in(jax.random.wrap_key_data(settled.key), cluster.round)
    view = _view(process, world, cluster)
    owner = lax.cond(
        rest,
        lambda: process.base.complete(data, view, settled.memory, lot, owner),
        lambda: owner,
    )
    start = cluster.round
    cluster = _run(process, world, cluster, owner)
    over = is_over(world, cluster)
    reward, paid = raw_reward(process.reward, world, cluster, settled.paid)
    done = Step(
        reward=reward,
        terminated=cluster.unfinished == 0,
        truncated=over & (cluster.unfinished > 0),
        illegal=illegal,
        extra=(cluster.round - start,),
    )
    cluster = replace(cluster, flow=jnp.zeros_like(cluster.flow))
    return _decide(process, world, data, replace(settled, cluster=cluster, paid=paid)), done


def _run(process: ClusterProcess, world: World, cluster: State, owner: jax.Array) -> State:
    """Run one round under the new plan, then keep the plan until the active jobs change or a decision is due."""
    start = cluster.round

    def once(cluster: State) -> State:
        return advance(world, apply_plan(world, cluster, cluster.owner))

    def waits(cluster: State) -> jax.Array:
        due = (cluster.round - start >= process.decide_every) if process.decide_every else jnp.bool_(False)
        # If no job runs and no job is to arrive, only the learner can change anything.
        dead = ~jnp.any(cluster.slots.running) & (world.arrival_round[cluster.next_job] == NEVER)
        return ~(cluster.changed | due | dead | is_over(world, cluster))

    first = advance(world, apply_plan(world, cluster, owner))
    return lax.while_loop(waits, once, first)


def _decide(process: ClusterProcess, world: World, data: Any, settled: Settled) -> EnvState:
    """Begin a decision with an empty plan and the base order of the active jobs."""
    memory = process.base.order(data, _view(process, world, settled.cluster), settled.memory)
    settled = replace(settled, memory=memory)
    return EnvState(settled, _draft(process, settled, empty_plan(settled.cluster)))


def _draft(process: ClusterProcess, settled: Settled, plan: Plan) -> Draft:
    return Draft(plan, window_of(process.space, settled.cluster, plan, settled.memory.sequence))


def _view(process: ClusterProcess, world: World, cluster: State) -> View:
    return observe(world, cluster, jnp.bool_(process.clairvoyant))


def _nothing_yet(state: EnvState) -> Step:
    no = jnp.bool_(False)
    return Step(jnp.zeros((), state.settled.cluster.flow.dtype), no, no, no, (jnp.int32(0),))
