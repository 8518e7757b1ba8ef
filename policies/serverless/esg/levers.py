"""The knobs of ESG that a network sets anew at every visit, and ESG's decision under them; all at 0 are ESG itself."""

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
    """What a network says, in its sequence."""

    MARGIN = 0
    """T* grows by the factor exp(margin)."""
    BORROW = 1
    """Part of the way that T* moves from the group's deadline to the last moment at which the rest can still be met."""
    RESCUE = 2
    """The same where T* is too short for any path: the group is late, the request perhaps not lost."""
    TRIED = 3
    """The number of configurations tried grows by the factor exp(tried)."""
    BATCH = 4
    """Paths cost more by the factor batch ** lever; the next three alike."""
    VCPU = 5
    VGPU = 6
    TIME = 7
    """By run time against the smallest configuration's."""
    LATE = 8
    """The head is given up once it is behind its plan by more than `LATENESS` / (exp(late) - 1) of its SLO."""
    HOLD = 9
    """Where next to no vGPU is free, a lone request waits for a second one, to share a task with, while the slack that
    will be left when another has come, by the workflow's rate, is more than the cheapest way to the end takes by the
    factor exp(`SPARE` / (exp(hold) - 1)).
    """


LEVERS = len(Lever)
"""L."""
GAIN = (0.08, 0.15, 0.5, 1.0, 0.05, 0.03, 0.05, 0.05, 3.0, 1.0)
"""What a network's outputs are multiplied by, so that equal noise on all weights moves all levers sensibly."""
LATENESS, SPARE = 0.25, 0.5
BUSY = 0.1
"""Share of the vGPUs below which next to none is free: a task for two then makes room for others."""
LEAST_RATE = 1e-2
"""Requests per second that a workflow counts as having at least."""
MOST_MARGIN, MOST_TRIED, MOST_LEAN, MOST_LATE, MOST_HOLD = 2.0, 3.0, 3.0, 5.0, 5.0
MOST_CHANGE = 2.0**29
"""Bound on what a cost changes by, so that sums stay within 32 bits."""


def decide(esg: EsgData, facts: PlatformFacts, tilt: jax.Array, view: View, lever: jax.Array) -> Decision:
    """ESG's choice under the levers [L]; `tilt` [4, X] are the logarithms that configurations are tilted by."""
    cost = tilted(costs_within(esg, view, goal(esg, facts, view, lever)), tilt, lever)
    tried = jnp.round(esg.candidates * jnp.exp(_within(lever[Lever.TRIED], MOST_TRIED))).astype(jnp.int32)
    found = pick(esg, view, cost, jnp.maximum(tried, 1))
    wait, drop = cost.shape[0], cost.shape[0] + 1
    action = jnp.where(holds(facts, view, lever), wait, found.action)
    return Decision(jnp.where(gives_up(facts, view, lever), drop, action), found.missed)


def goal(esg: EsgData, facts: PlatformFacts, view: View, lever: jax.Array) -> jax.Array:
    """Ticks that the group's paths may take [] int32."""
    planned = target(esg, view)
    own = planned.astype(jnp.float32)
    last = view.slack.astype(jnp.float32) - facts.fastest_rest[view.queue]
    usual = own * jnp.expm1(_within(lever[Lever.MARGIN], MOST_MARGIN)) + _within(lever[Lever.BORROW], 1) * (last - own)
    rescue = jnp.clip(lever[Lever.RESCUE], 0, 1) * (last - own)
    more = jnp.where(own < facts.fastest_group[view.queue], rescue, usual)
    return planned + jnp.round(more).astype(jnp.int32)


def tilted(cost: jax.Array, tilt: jax.Array, lever: jax.Array) -> jax.Array:
    """Costs [X, K] of paths, dearer or cheaper by their first configuration; what is no path stays none."""
    lean = sum((lever[Lever.BATCH + n] * tilt[n] for n in range(tilt.shape[0])), jnp.zeros(tilt.shape[1]))
    change = cost.astype(jnp.float32) * jnp.expm1(_within(lean, MOST_LEAN))[:, None]
    # Costs are whole numbers beyond what 24 bits hold; a change of nothing must leave every one of them as it is.
    moved = cost + jnp.round(jnp.clip(change, -MOST_CHANGE, MOST_CHANGE)).astype(jnp.int32)
    return jnp.where(cost < NO_PATH, jnp.clip(moved, 0, NO_PATH - 1), cost)


def gives_up(facts: PlatformFacts, view: View, lever: jax.Array) -> jax.Array:
    """The head request is too far behind its plan to be worth its place."""
    slack, waited = view.slack.astype(jnp.float32), view.waited.astype(jnp.float32)
    behind = waited - facts.begins[view.queue] * (slack + waited)
    return behind * jnp.expm1(jnp.clip(lever[Lever.LATE], 0, MOST_LATE)) > LATENESS * (slack + waited)


def holds(facts: PlatformFacts, view: View, lever: jax.Array) -> jax.Array:
    """The head request is alone on a busy platform, and has time to wait for another."""
    left = view.slack.astype(jnp.float32) - TICKS_PER_S / jnp.maximum(view.rate_per_s, LEAST_RATE)
    spare = jnp.log(jnp.maximum(left, 1.0) / facts.cheapest_end[view.queue])
    patient = spare * jnp.expm1(jnp.clip(lever[Lever.HOLD], 0, MOST_HOLD)) > SPARE
    busy = jnp.sum(view.free_vgpu).astype(jnp.float32) < BUSY * facts.vgpus
    return patient & busy & (view.length == 1)


def _within(x: jax.Array, most: float) -> jax.Array:
    return jnp.clip(x, -most, most)
