"""The levers of ESG that a network sets at every visit, and ESG's decision under them; levers of 0 give ESG itself."""

from __future__ import annotations

from enum import IntEnum

import jax
import jax.numpy as jnp

from ....envs.serverless.state import TICKS_PER_S
from ....envs.serverless.view import Decision, View
from ..costs import NO_PATH
from .features import PlatformFacts
from .scoring import EsgData, costs_within, pick, target


class Lever(IntEnum):
    """The outputs of the network, in order."""

    MARGIN = 0
    """T* is multiplied by exp(margin)."""
    BORROW = 1
    """Fraction by which T* moves from the group's deadline to the latest time that the later stages can still meet."""
    RESCUE = 2
    """The same if T* is too short for any path: the group is late, but the request may not be lost."""
    TRIED = 3
    """The number of configurations tried is multiplied by exp(tried)."""
    BATCH = 4
    """The cost of paths is multiplied by batch ** lever; the next three levers work the same way."""
    VCPU = 5
    VGPU = 6
    TIME = 7
    """This one uses the run time relative to the smallest configuration's."""
    LATE = 8
    """The head request is dropped if it is late against its plan by over `LATENESS` / (exp(late) - 1) of its SLO."""
    HOLD = 9
    """If almost no vGPU is free, a single request waits for a second one to share a task with. It waits while the slack
    left after the next expected arrival exceeds the time of the cheapest way to the end by more than the factor
    exp(`SPARE` / (exp(hold) - 1)).
    """


LEVERS = len(Lever)
"""L, the number of levers."""
GAIN = (0.08, 0.15, 0.5, 1.0, 0.05, 0.03, 0.05, 0.05, 3.0, 1.0)
"""Factors of the network's outputs, so that equal noise on all weights moves each lever by a useful amount."""
LATENESS, SPARE = 0.25, 0.5
BUSY = 0.1
"""Below this share of free vGPUs the platform is busy, and one task for two requests leaves room for others."""
LEAST_RATE = 1e-2
"""Lower arrival rates, in requests per second, are raised to this value."""
MOST_MARGIN, MOST_TRIED, MOST_LEAN, MOST_LATE, MOST_HOLD = 2.0, 3.0, 3.0, 5.0, 5.0
MOST_CHANGE = 2.0**29
"""Bound on the change of a cost, so that sums stay within 32 bits."""


def decide(esg: EsgData, facts: PlatformFacts, tilt: jax.Array, view: View, lever: jax.Array) -> Decision:
    """Return ESG's choice under the levers [L]; `tilt` [4, X] holds the logarithms that the levers weight."""
    cost = tilted(costs_within(esg, view, goal(esg, facts, view, lever)), tilt, lever)
    tried = jnp.round(esg.candidates * jnp.exp(_within(lever[Lever.TRIED], MOST_TRIED))).astype(jnp.int32)
    found = pick(esg, view, cost, jnp.maximum(tried, 1))
    wait, drop = cost.shape[0], cost.shape[0] + 1
    action = jnp.where(holds(facts, view, lever), wait, found.action)
    return Decision(jnp.where(gives_up(facts, view, lever), drop, action), found.missed)


def goal(esg: EsgData, facts: PlatformFacts, view: View, lever: jax.Array) -> jax.Array:
    """Return the ticks that the group's paths may take [] int32."""
    planned = target(esg, view)
    own = planned.astype(jnp.float32)
    last = view.slack.astype(jnp.float32) - facts.fastest_rest[view.queue]
    usual = own * jnp.expm1(_within(lever[Lever.MARGIN], MOST_MARGIN)) + _within(lever[Lever.BORROW], 1) * (last - own)
    rescue = jnp.clip(lever[Lever.RESCUE], 0, 1) * (last - own)
    more = jnp.where(own < facts.fastest_group[view.queue], rescue, usual)
    return planned + jnp.round(more).astype(jnp.int32)


def tilted(cost: jax.Array, tilt: jax.Array, lever: jax.Array) -> jax.Array:
    """Change the costs [X, K] of paths by their first configuration; entries without a path keep their value."""
    lean = sum((lever[Lever.BATCH + n] * tilt[n] for n in range(tilt.shape[0])), jnp.zeros(tilt.shape[1]))
    change = cost.astype(jnp.float32) * jnp.expm1(_within(lean, MOST_LEAN))[:, None]
    # Costs are whole numbers that need more than 24 bits; a change of 0 must keep every one of them exactly.
    moved = cost + jnp.round(jnp.clip(change, -MOST_CHANGE, MOST_CHANGE)).astype(jnp.int32)
    return jnp.where(cost < NO_PATH, jnp.clip(moved, 0, NO_PATH - 1), cost)


def gives_up(facts: PlatformFacts, view: View, lever: jax.Array) -> jax.Array:
    """Whether the head request is too late against its plan to be worth its place."""
    slack, waited = view.slack.astype(jnp.float32), view.waited.astype(jnp.float32)
    behind = waited - facts.begins[view.queue] * (slack + waited)
    return behind * jnp.expm1(jnp.clip(lever[Lever.LATE], 0, MOST_LATE)) > LATENESS * (slack + waited)


def holds(facts: PlatformFacts, view: View, lever: jax.Array) -> jax.Array:
    """Whether the head request is alone on a busy platform and has time to wait for another one."""
    left = view.slack.astype(jnp.float32) - TICKS_PER_S / jnp.maximum(view.rate_per_s, LEAST_RATE)
    spare = jnp.log(jnp.maximum(left, 1.0) / facts.cheapest_end[view.queue])
    patient = spare * jnp.expm1(jnp.clip(lever[Lever.HOLD], 0, MOST_HOLD)) > SPARE
    busy = jnp.sum(view.free_vgpu).astype(jnp.float32) < BUSY * facts.vgpus
    return patient & busy & (view.length == 1)


def _within(x: jax.Array, most: float) -> jax.Array:
    return jnp.clip(x, -most, most)
