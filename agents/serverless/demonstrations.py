"""Demonstrations on the serverless platform: a scheduler's decision at every visit."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from ...envs.serverless.dispatch import invoker_for, site_of
from ...envs.serverless.layout import shares
from ...envs.serverless.mdp.env import ServerlessProcess
from ...envs.serverless.mdp.faces import ServerlessGpuEnv
from ...envs.serverless.state import State, World
from ...envs.serverless.view import observe
from ...policies.serverless.policy import Scheduler
from ...scenarios.errors import InputError
from ..steps import Ending, Follow, MicroStep, obey


def demonstrate_visits(
    env: ServerlessGpuEnv,
    expert: Scheduler,
    seed: int | None = None,
    world: int | None = None,
    follow: Follow = obey,
) -> Iterator[MicroStep]:
    """Run one episode of `expert` in `env`, from `reset(seed=seed)`; `world` selects a world of the bank.

    If `follow` takes other actions, the expert still says at every step what it would do.

    A visit is one decision of a scheduler, so every step is `exact` and the episode is the expert's own, unless the
    expert adapts its worlds (planning time, no locality). If actions choose an invoker, the dispatch rule's is used.
    Raises `InputError` if `env` is no serverless environment or `expert` is no scheduler.
    """
    if not isinstance(env, ServerlessGpuEnv):
        raise InputError(
            f"env = {env!r}; legal: one environment of varigym/ServerlessGpu-v0, unwrapped (env.unwrapped)"
        )
    if not hasattr(expert, "adapt"):
        raise InputError(f"expert = {expert!r}; legal: a scheduler, as varigym.find_scheduler gives it for a name")
    observation, info = env.reset(seed=seed, options=None if world is None else {"world": world})
    data, question = expert.bind(env.kind.bank), _Visit(expert.program)
    key = jax.random.key(0 if seed is None else seed)
    memory = expert.program.start(data, key)
    over = False
    while not over:
        action, score, memory = env.lane.ask(question, data, memory, key)
        seen, mask, number = observation, np.asarray(info["action_mask"], bool), int(action)
        observation, _, terminated, truncated, info = env.step(follow(seen, number))
        over = terminated or truncated
        ending = Ending(observation, terminated) if over else None
        yield MicroStep(seen, mask, number, np.asarray(score), True, info["reward_raw"], ending)


@dataclass(frozen=True)
class _Visit:
    program: Any

    def __call__(
        self, process: ServerlessProcess, world: World, base: Any, state: State, data: Any, memory: Any, key: jax.Array
    ) -> tuple[jax.Array, jax.Array, Any]:
        """Return (action, score of every action, memory); a score is -inf where the expert has none."""
        site = site_of(world, state)
        view = observe(world, state, site)
        lot = jax.random.fold_in(key, state.visits)
        decision, memory = self.program.act(data, view, memory, lot)
        score = self.program.scores(data, view).astype(jnp.float32)
        action, ends = decision.action, jnp.full(2, -jnp.inf, jnp.float32)
        if not process.choose_invoker:
            return action, jnp.concatenate([score, ends]), memory
        configs, invokers = score.shape[0], process.targets
        where = jax.vmap(lambda x: invoker_for(world, state, site, *shares(world, x))[0])(
            jnp.arange(configs, dtype=jnp.int32)
        )
        at = jnp.minimum(action, configs - 1)
        named = jnp.where(action < configs, at * invokers + where[at], action - configs + process.wait)
        pairs = jnp.where(where[:, None] == jnp.arange(invokers, dtype=jnp.int32)[None], score[:, None], -jnp.inf)
        return named, jnp.concatenate([pairs.ravel(), ends]), memory
