"""Demonstrations: an expert's plan as a sequence of environment actions (micro-steps).

At every decision point the expert plans the round. The plan is then built action by action, in the order in which the
expert places its jobs. For each job the action is the cell that gives exactly the planned gang, else KEEP, else the
job's legal cell with most of the planned GPUs. Jobs that the window does not show, or that no legal action can place,
are left out. `exact` says whether an action did exactly what was planned.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from ...envs.cluster.mdp.action import ActionMode, legal_actions
from ...envs.cluster.mdp.cells import gang_of
from ...envs.cluster.mdp.env import ClusterProcess, EnvState
from ...envs.cluster.mdp.faces import GpuClusterEnv
from ...envs.cluster.state import FREE, World
from ...envs.cluster.view import observe
from ...policies.cluster.list_policy import ListPolicy
from ...scenarios.errors import InputError
from ..steps import Ending, Follow, MicroStep, obey


def demonstrate(
    env: GpuClusterEnv,
    expert: ListPolicy,
    seed: int | None = None,
    world: int | None = None,
    follow: Follow = obey,
) -> Iterator[MicroStep]:
    """Run one episode of `expert` in `env`, from `reset(seed=seed)`; `world` selects a world of the bank.

    If `follow` takes other actions, the expert still says at every step what it would do next.

    Under `decide_every=1`, with the expert as the environment's base and a window that holds its admitted jobs, the
    episode is the expert's own, job by job. Raises `InputError` if the environment hides information the expert uses.
    """
    _refuse(env, expert)
    if expert.clairvoyant and not env.kind.options.clairvoyant:
        raise InputError(f"expert {expert.name} is clairvoyant; make the environment with clairvoyant=True")
    if env.kind.options.action_mode is not ActionMode.CELL:
        raise InputError(f"action_mode = '{env.kind.options.action_mode}'; demonstrations need cell")
    observation, info = env.reset(seed=seed, options=None if world is None else {"world": world})
    data = expert.bind(env.kind.bank)
    memory = expert.program.start(data, env.kind.process.slots)
    over, fresh, owner = False, True, jnp.zeros(())
    while not over:
        if fresh:
            owner, memory = env.lane.ask(_Plan(expert.program, expert.clairvoyant), data, memory)
        action, score, exact = env.lane.ask(_Next(expert.placement.class_first, expert.sticky), owner)
        number = int(action)
        mask = np.asarray(info["action_mask"], bool)
        seen = observation
        taken = follow(seen, number)
        observation, _, terminated, truncated, info = env.step(taken)
        over, fresh = terminated or truncated, taken >= env.kind.process.space.rest
        ending = Ending(observation, terminated) if over else None
        yield MicroStep(seen, mask, number, np.asarray(score), bool(exact), info["reward_raw"], ending)


def _refuse(env: GpuClusterEnv, expert: ListPolicy) -> None:
    """Raise `InputError` if `env` is no cluster environment or `expert` is no policy."""
    if not isinstance(env, GpuClusterEnv):
        raise InputError(f"env = {env!r}; legal: one environment of varigym/GpuCluster-v0, unwrapped (env.unwrapped)")
    if not isinstance(expert, ListPolicy):
        raise InputError(f"expert = {expert!r}; legal: a policy object, as varigym.find_policy gives it for a name")


@dataclass(frozen=True)
class _Plan:
    program: Any
    clairvoyant: bool

    def __call__(
        self, process: ClusterProcess, world: World, base: Any, state: EnvState, data: Any, memory: Any
    ) -> Any:
        cluster = state.settled.cluster
        view = observe(world, cluster, jnp.bool_(self.clairvoyant))
        lot = jax.random.fold_in(jax.random.wrap_key_data(state.settled.key), cluster.round)
        return self.program.act(data, view, memory, lot)


@dataclass(frozen=True)
class _Next:
    """Finds the next action towards the plan `owner` [N, P], its scores, and whether it is exact."""

    class_first: bool
    sticky: bool

    def __call__(self, process: ClusterProcess, world: World, base: Any, state: EnvState, owner: jax.Array) -> Any:
        space, cluster, plan, window = process.space, state.settled.cluster, state.draft.plan, state.draft.window
        legal = legal_actions(space, cluster, plan, window)
        rows = legal[: space.rest].reshape(space.window, space.per_slot)
        planned = owner[None] == window.slot[:, None, None]  # [W, N, P]
        open_rows = jnp.any(planned, axis=(1, 2)) & jnp.any(rows, axis=1)
        turn = jnp.arange(space.window, dtype=jnp.int32) + (space.window * window.app_class if self.class_first else 0)
        if self.sticky:  # gangs that stay are placed first
            present = cluster.owner[None] == window.slot[:, None, None]
            turn = jnp.where(jnp.all(planned == present, axis=(1, 2)), -1, turn)
        row = jnp.argmin(jnp.where(open_rows, turn, jnp.iinfo(jnp.int32).max))

        cells = jnp.arange(space.keep, dtype=jnp.int32)
        free, n = plan.owner == FREE, window.demand[row]
        gangs = jax.vmap(lambda cell: gang_of(cluster.profile, window.app_class[row], free, n, cell))(cells)
        present = cluster.owner == window.slot[row]
        gangs = jnp.concatenate([gangs, present[None]])  # KEEP is last: a cell with the same gang is preferred
        right = jnp.sum(gangs & planned[row][None], axis=(1, 2), dtype=jnp.int32)
        part = jnp.argmax(jnp.where(rows[row], right, -1))

        done = ~jnp.any(open_rows)
        action = jnp.where(done, space.commit, row * space.per_slot + part)
        exact = jnp.where(done, True, right[part] == n)
        return action, self._scores(process, world, state, legal, row, done), exact

    def _scores(
        self,
        process: ClusterProcess,
        world: World,
        state: EnvState,
        legal: jax.Array,
        row: jax.Array,
        done: jax.Array,
    ) -> jax.Array:
        space, cluster, window = process.space, state.settled.cluster, state.draft.window
        c = window.app_class[row]
        value = cluster.profile.value[c]
        penalty = world.locality_penalty[c]
        held = cluster.owner == window.slot[row]
        worst = jnp.max(jnp.where(held, cluster.profile.level[c], 0))
        nodes = jnp.sum(jnp.any(held, axis=1))
        kept = value[worst] * jnp.where(nodes > 1, penalty, 1.0)
        own = -jnp.log(jnp.concatenate([value, value * penalty, kept[None]]))
        at = jnp.arange(space.size, dtype=jnp.int32)
        mine = (at // space.per_slot == row) & (at < space.rest) & ~done
        score = jnp.where(mine, own[at % space.per_slot], jnp.where(done & (at == space.commit), 0.0, -jnp.inf))
        return jnp.where(legal, score, -jnp.inf).astype(jnp.float32)
