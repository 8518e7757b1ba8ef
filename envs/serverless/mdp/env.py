"""The serverless platform as a decision process, pure and jittable.

A decision point is a visit: the controller is free, a queue holds jobs and does not wait, and an invoker has room.
The action is a configuration (and, by option, an invoker), WAIT or DROP. Then events run until the next visit.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import jax
import jax.numpy as jnp

from ...process import Column, EveryActionTakesTime, Step
from ..decisions import decide, reported
from ..dispatch import Site, legal_configs, legal_invokers, site_of
from ..dynamics import initial_state, settle
from ..state import TICKS_PER_MS, TICKS_PER_S, State, World
from ..view import observe
from .base import BaseProgram
from .observation import Layout, observation


@dataclass(frozen=True)
class ServerlessProcess(EveryActionTakesTime):
    """The static part of an environment; one program is compiled per value."""

    layout: Layout
    base: BaseProgram
    choose_invoker: bool
    drop: bool
    usd_weight: float
    """Reward subtracted per USD of cost."""
    places: int
    logged: int

    @property
    def targets(self) -> int:
        """Number of invokers that an action can choose from; 1 if the dispatch rule chooses."""
        return self.layout.invokers if self.choose_invoker else 1

    @property
    def wait(self) -> int:
        """The number of the action WAIT; DROP is the next one."""
        return self.layout.configs * self.targets

    @property
    def actions(self) -> int:
        """Number of actions: configurations (on each invoker), WAIT and DROP."""
        return self.wait + 2

    @property
    def sizes(self) -> dict[str, int]:
        """Length of every flat part of an observation."""
        return self.layout.sizes

    @property
    def columns(self) -> tuple[Column, ...]:
        """Figures that a step reports: the time that passed, and the terms of the reward."""
        return (
            Column("elapsed_ms"),
            Column("hits", int, term=True),
            Column("cost_usd", float, term=True),
            Column("shed", int),
        )

    def reset(self, world: World, data: Any, key: jax.Array) -> State:
        """Return the world at its first visit; nothing is random, so `key` is unused."""
        return settle(world, initial_state(world, self.places, self.logged))

    def step(self, world: World, data: Any, state: State, action: jax.Array, mask: jax.Array) -> tuple[State, Step]:
        """Take the action and process events until the next visit. An illegal action counts as WAIT."""
        known = (action >= 0) & (action < self.actions)
        illegal = ~(known & mask[jnp.clip(action, 0, self.actions - 1)])
        action = jnp.where(illegal, self.wait, action)
        serves = action < self.wait
        config = jnp.where(serves, action // self.targets, action - self.wait + self.layout.configs)
        invoker = jnp.where(serves, action % self.targets, 0) if self.choose_invoker else None
        before, site = state.now, site_of(world, state)
        state = settle(world, decide(world, state, site, config, invoker))
        tally = state.tally
        done = Step(
            reward=tally.new_hits.astype(tally.new_usd.dtype) - self.usd_weight * tally.new_usd,
            terminated=state.terminated,
            truncated=state.truncated,
            illegal=illegal,
            extra=((state.now - before).astype(float) / TICKS_PER_MS, tally.new_hits, tally.new_usd, tally.new_shed),
        )
        return replace(state, tally=reported(tally)), done

    def observe(self, world: World, data: Any, state: State) -> tuple[dict[str, jax.Array], jax.Array]:
        """Return (flat observation without the mask, mask). WAIT is always legal, DROP if the option allows it."""
        site = site_of(world, state)
        view = observe(world, state, site)
        decision, score = self.base.act_now(data, view), self.base.scores(data, view)
        parts = observation(self.layout, world, state, site, view, decision, score)
        mask = jnp.concatenate([self._legal(world, state, site), jnp.array([True, self.drop])])
        return parts, mask & (state.cursor >= 0)

    def clock(self, world: World, state: State) -> tuple[jax.Array, jax.Array]:
        """Return (seconds since the world began, whether a queue needs more places)."""
        return state.now.astype(float) / TICKS_PER_S, state.overflow

    def is_over(self, world: World, state: State) -> jax.Array:
        """Whether nothing is left to decide."""
        return state.cursor < 0

    def _legal(self, world: World, state: State, site: Site) -> jax.Array:
        if self.choose_invoker:
            return legal_invokers(world, state, site)
        return legal_configs(world, state, site)
