"""What a learner sees at a visit: every configuration, the queue, the other queues and the platform, as flat arrays.

An observation reveals nothing about the future: no noise, no later requests. Values are scaled to about [-1, 1].

Apart from the base scheduler's preferences, the features describe the profiles, the workflows and the current state, in
a form independent of the number of functions, stages or invokers. They suffice to reproduce a scheduler that is not
shown: ESG, for example, compares a configuration's cost and time with the least that later stages need.
"""

from __future__ import annotations

from dataclasses import dataclass

import jax
import jax.numpy as jnp

from ..dispatch import Site
from ..state import State, World
from ..view import Decision, View
from .platform_features import INVOKER_FEATURES, OTHER_FEATURES, PLATFORM_FEATURES, cut, invokers, others, platform

CONFIG_FEATURES = (
    "legal where the dispatch rule chooses the invoker",
    "the queue holds its batch",
    "log batch",
    "vCPU share of the largest",
    "vGPU share of the largest",
    "mean run time over SLO",
    "log mean run time over the slack",
    "slack less it and the fastest later stages over SLO",
    "ends before the deadline, later stages at their fastest",
    "log cost per job over the cheapest",
    "cost per job over the cheapest way to the end",
    "base scheduler's score less its best",
    "base scheduler has a score",
    "base scheduler would choose it",
)
QUEUE_FEATURES = (
    "log length",
    "log failed visits",
    "age over SLO",
    "slack over SLO",
    "fastest way to the end over the slack",
    "share of the way done before this stage",
    "share of the way done after it",
    "log arrivals per second",
    "base scheduler would wait",
    "fastest run of this stage over SLO",
    "fastest later stages over SLO",
    "cheapest run of this stage over the cheapest way to the end",
    "log stages left",
    "first stage",
    "log gain from batching",
    "log gain from vCPUs",
    "log gain from vGPUs",
    "share of invokers with a warm container",
)
LOG_JOBS, LOG_STAGES = 6.0, 3.0


@dataclass(frozen=True)
class Layout:
    """Sizes of the observation's parts: X configurations, I invokers, Q queues, vGPUs of the largest configuration."""

    configs: int
    invokers: int
    queues: int
    vgpus: int
    choose_invoker: bool = False
    """Whether actions choose an invoker, so that the observation describes each."""

    @property
    def sizes(self) -> dict[str, int]:
        """Length of every flat part; 0 for a part that is not shown."""
        return {
            "configs": self.configs * len(CONFIG_FEATURES),
            "invokers": self.invokers * len(INVOKER_FEATURES) if self.choose_invoker else 0,
            "queue": len(QUEUE_FEATURES),
            "others": self.queues * len(OTHER_FEATURES),
            "platform": len(PLATFORM_FEATURES) + self.vgpus,
        }


def observation(
    layout: Layout, world: World, state: State, site: Site, view: View, decision: Decision, score: jax.Array
) -> dict[str, jax.Array]:
    """Return flat float32 arrays. `decision` and `score` [X] come from the base scheduler."""
    slo = jnp.maximum((view.slack + view.waited).astype(jnp.float32), 1.0)
    parts = {
        "configs": _configs(world, site, view, decision, score, slo),
        "queue": _queue(layout, world, site, view, decision, slo),
        "others": others(world, state, site),
        "platform": platform(layout.vgpus, world, state),
    }
    if layout.choose_invoker:
        parts["invokers"] = invokers(world, state, site, slo)
    return {name: part.astype(jnp.float32).ravel() for name, part in sorted(parts.items())}


def _configs(world: World, site: Site, view: View, decision: Decision, score: jax.Array, slo: jax.Array) -> jax.Array:
    levels, vcpus, vgpus = world.batches.shape[0], world.vcpus.shape[0], world.vgpus.shape[0]
    shape = (levels, vcpus, vgpus)
    batch = jnp.broadcast_to(world.batches[:, None, None], shape).ravel().astype(jnp.float32)
    vcpu = jnp.broadcast_to(world.vcpus[None, :, None], shape).ravel() / world.vcpus[-1]
    vgpu = jnp.broadcast_to(world.vgpus[None, None, :], shape).ravel() / world.vgpus[-1]
    time = world.latency_ticks[site.function].astype(jnp.float32)
    cost = jnp.maximum(time * world.usd_per_tick.astype(jnp.float32) / batch, 1e-30)
    whole = jnp.maximum(world.cheapest_usd[site.queue].astype(jnp.float32), 1e-30)
    left = view.slack - world.latency_ticks[site.function] - _later(world, site)
    number, known = jnp.arange(batch.shape[0], dtype=jnp.int32), score > -jnp.inf
    liked = jnp.where(known, score - jnp.max(score), -jnp.inf)  # only differences between scores have a meaning
    columns = [
        view.legal,
        batch <= site.length.astype(jnp.float32),
        jnp.log2(batch) / 4.0,
        vcpu,
        vgpu,
        cut(time / slo),
        cut(jnp.log(time / jnp.maximum(view.slack, 100).astype(jnp.float32))),
        cut(left.astype(jnp.float32) / slo),
        left >= 0,
        cut(jnp.log(cost / jnp.min(cost))),
        cut(cost / whole),
        cut(liked),
        known,
        number == decision.action,
    ]
    return jnp.stack([column.astype(jnp.float32) for column in columns], axis=1)


def _later(world: World, site: Site) -> jax.Array:
    """Return the fewest ticks that the stages after this one take."""
    return world.fastest_ticks[site.queue] - jnp.min(world.latency_ticks[site.function])


def _queue(layout: Layout, world: World, site: Site, view: View, decision: Decision, slo: jax.Array) -> jax.Array:
    fastest, later = world.fastest_ticks[view.queue].astype(jnp.float32), _later(world, site).astype(jnp.float32)
    whole = world.fastest_ticks[world.entry_queue[view.workflow]].astype(jnp.float32)
    left = world.stages_left[view.queue]
    columns = [
        jnp.log1p(view.length) / LOG_JOBS,
        jnp.log1p(view.fails) / LOG_JOBS,
        cut(view.waited.astype(jnp.float32) / slo),
        cut(view.slack.astype(jnp.float32) / slo),
        cut(fastest / jnp.maximum(view.slack, 100).astype(jnp.float32)),
        1.0 - fastest / whole,
        1.0 - later / whole,
        jnp.log1p(view.rate_per_s) / LOG_JOBS,
        decision.action >= layout.configs,
        cut((fastest - later) / slo),
        cut(later / slo),
        _cheapest(world, site),
        cut(jnp.log2(left.astype(jnp.float32)) / LOG_STAGES),
        world.queue_stage[view.queue] == 0,
        *_gains(world, site),
        jnp.mean(site.warm.astype(jnp.float32)),
    ]
    return jnp.stack([column.astype(jnp.float32) for column in columns])


def _cheapest(world: World, site: Site) -> jax.Array:
    """Return the cost of this stage's cheapest run over that of the cheapest way to the end; 1 if all is free."""
    levels = world.batches.shape[0]
    time = world.latency_ticks[site.function].astype(jnp.float32).reshape(levels, -1)
    price = world.usd_per_tick.astype(jnp.float32).reshape(levels, -1)
    own = jnp.min(time * price / world.batches[:, None].astype(jnp.float32))
    whole = world.cheapest_usd[site.queue].astype(jnp.float32)
    return jnp.where(whole > 0, own / jnp.maximum(whole, 1e-30), 1.0)


def _gains(world: World, site: Site) -> tuple[jax.Array, jax.Array, jax.Array]:
    """Return how the function scales: log ratios of time per request (batch) and time (vCPU, vGPU), least over most."""
    shape = (world.batches.shape[0], world.vcpus.shape[0], world.vgpus.shape[0])
    time = world.latency_ticks[site.function].astype(jnp.float32).reshape(shape)
    batches = world.batches[-1].astype(jnp.float32)
    first = time[0, 0, 0]
    per_request = first * batches / time[-1, 0, 0]
    return cut(jnp.log(per_request)), cut(jnp.log(first / time[0, -1, 0])), cut(jnp.log(first / time[0, 0, -1]))
