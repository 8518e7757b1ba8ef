"""What a scheduler may know at a decision point: never true scores, never future arrivals."""

from __future__ import annotations

import jax
import jax.numpy as jnp

from ..core import pytree
from .state import Ledger, Profile, State, World


@pytree
class View:
    """A cluster as its scheduler sees it. Slots are in arrival order; those from `count` on are empty."""

    round: jax.Array  # [] int32
    round_s: jax.Array  # []
    count: jax.Array  # [] int32
    changed: jax.Array  # [] bool, a job arrived or finished since the last plan
    demand: jax.Array  # [A] int32, 0 where empty
    app_class: jax.Array  # [A] int32
    attained: jax.Array  # [A] int32 rounds scheduled so far
    waited: jax.Array  # [A] int32 rounds since last scheduled
    promoted: jax.Array  # [A] bool
    running: jax.Array  # [A] bool
    remaining_s: jax.Array  # [A] ideal seconds of work left; NaN unless the policy is clairvoyant
    owner: jax.Array  # [N, P] int32 slot or FREE
    profile: Profile
    locality_penalty: jax.Array  # [C]
    restart_s: jax.Array  # [] seconds lost when a gang is moved or resumed
    finished: jax.Array  # [] int32 jobs finished so far
    ledger: Ledger


def observe(world: World, state: State, clairvoyant: jax.Array) -> View:
    """Return the view of `state`; `clairvoyant` [] bool reveals remaining work."""
    slots = state.slots
    left = jnp.where(
        world.nominal_remaining,
        slots.iter_s * slots.iterations - slots.attained.astype(world.round_s.dtype) * world.round_s,
        slots.iter_s * (slots.iterations - slots.done),
    )
    return View(
        round=state.round,
        round_s=world.round_s,
        count=state.count,
        changed=state.changed,
        demand=slots.demand,
        app_class=slots.app_class,
        attained=slots.attained,
        waited=slots.waited,
        promoted=slots.promoted,
        running=slots.running,
        remaining_s=jnp.where(clairvoyant, left, jnp.nan),
        owner=state.owner,
        profile=state.profile,
        locality_penalty=world.locality_penalty,
        restart_s=world.restart_s,
        finished=state.finished,
        ledger=state.ledger,
    )
