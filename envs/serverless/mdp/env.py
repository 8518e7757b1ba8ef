"""The serverless platform as a decision process, pure and jittable.

A decision point is a visit: the controller is free, some queue holds jobs and does not wait, and some invoker has room.
The action names a configuration (and, by option, an invoker), WAIT or DROP; then events happen until the next visit.
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
    """The static part of an environment: one compiled program per value."""

    layout: Layout
    base: BaseProgram
    choose_invoker: bool
    drop: bool
    usd_weight: float
    """Reward taken off per USD."""
    places: int
    logged: int

    @property
    def targets(self) -> int:
        """Invokers that an action may name; 1 where the dispatch rule chooses."""
        return self.layout.invokers if self.choose_invoker else 1

    @property
    def wait(self) -> int:
        """Number of WAIT; DROP follows."""
        return self.layout.configs * self.targets

    @property
    def actions(self) -> int:
        """Configurations (on each invoker), WAIT and DROP."""
        return self.wait + 2

    @property
    def sizes(self) -> dict[str, int]:
        """Of the parts of an observation."""
        return self.layout.sizes

    @property
    def columns(self) -> tuple[Column, ...]:
        """Time that passed, and the terms of the reward."""
        return (
            Column("elapsed_ms"),
            Column("hits", int, term=True),
            Column("cost_usd", float, term=True),
            Column("shed", int),
        )

    def reset(self, world: World, data: Any, key: jax.Array) -> State:
        """The world at its first visit; nobody draws lots."""
        return settle(world, initial_state(world, self.places, self.logged))

    def step(self, world: World, data: Any, state: State, action: jax.Array, mask: jax.Array) -> tuple[State, Step]:
        """Decide, and let events happen until the next visit. An illegal action counts as WAIT."""
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
        """(flat observation without the mask, mask). WAIT is always legal, DROP by option."""
        site = site_of(world, state)
        view = observe(world, state, site)
        decision, score = self.base.act_now(data, view), self.base.scores(data, view)
        parts = observation(self.layout, world, state, site, view, decision, score)
        mask = jnp.concatenate([self._legal(world, state, site), jnp.array([True, self.drop])])
        return parts, mask & (state.cursor >= 0)

    def clock(self, world: World, state: State) -> tuple[jax.Array, jax.Array]:
        """(seconds since the world began, whether a queue needs more places)."""
        return state.now.astype(float) / TICKS_PER_S, state.overflow

    def is_over(self, world: World, state: State) -> jax.Array:
        """Whether nothing is left to decide."""
        return state.cursor < 0

    def _legal(self, world: World, state: State, site: Site) -> jax.Array:
        if self.choose_invoker:
            return legal_invokers(world, state, site)
        return legal_configs(world, state, site)
