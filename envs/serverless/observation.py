"""What a learner sees at a visit: every configuration, the queue, the other queues and the platform, as flat arrays.

Nothing of the future is in it: no noise, no request to come. Values are scaled to about [-1, 1].
"""

from __future__ import annotations

from dataclasses import dataclass

import jax
import jax.numpy as jnp

from .dispatch import Site
from .state import State, World
from .view import Decision, View

CONFIG_FEATURES = (
    "legal where the dispatch rule chooses the invoker",
    "log batch",
    "vCPU share of the largest",
    "vGPU share of the largest",
    "log mean run time over the slack",
    "ends before the deadline, later stages at their fastest",
    "log cost per job over the cheapest",
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
    "share of stages done",
    "log arrivals per second",
    "base scheduler would wait",
)
OTHER_FEATURES = ("log length", "slack of the head over SLO", "waiting", "is at the cursor")
PLATFORM_FEATURES = ("free vCPUs", "free vGPUs", "log jobs in queues", "running tasks over slots")
"""Before the share of invokers with at least 1, 2, ... free vGPUs."""
LOG_JOBS, CUT = 6.0, 2.0


@dataclass(frozen=True)
class Layout:
    """Sizes of the parts: X configurations, I invokers, Q queues, vGPUs of the largest configuration."""

    configs: int
    invokers: int
    queues: int
    vgpus: int

    @property
    def sizes(self) -> dict[str, int]:
        """Length of every flat part."""
        return {
            "configs": self.configs * len(CONFIG_FEATURES),
            "queue": len(QUEUE_FEATURES),
            "others": self.queues * len(OTHER_FEATURES),
            "platform": len(PLATFORM_FEATURES) + self.vgpus,
        }


def observation(
    layout: Layout, world: World, state: State, site: Site, view: View, decision: Decision, score: jax.Array
) -> dict[str, jax.Array]:
    """Flat float32 arrays. `decision` and `score` [X] are the base scheduler's."""
    slo = jnp.maximum((view.slack + view.waited).astype(jnp.float32), 1.0)
    parts = {
        "configs": _configs(world, site, view, decision, score),
        "queue": _queue(layout, world, view, decision, slo),
        "others": _others(world, state, site),
        "platform": _platform(layout, world, state),
    }
    return {name: part.astype(jnp.float32).ravel() for name, part in sorted(parts.items())}


def _configs(world: World, site: Site, view: View, decision: Decision, score: jax.Array) -> jax.Array:
    levels, vcpus, vgpus = world.batches.shape[0], world.vcpus.shape[0], world.vgpus.shape[0]
    shape = (levels, vcpus, vgpus)
    batch = jnp.broadcast_to(world.batches[:, None, None], shape).ravel().astype(jnp.float32)
    vcpu = jnp.broadcast_to(world.vcpus[None, :, None], shape).ravel() / world.vcpus[-1]
    vgpu = jnp.broadcast_to(world.vgpus[None, None, :], shape).ravel() / world.vgpus[-1]
    time = world.latency_ticks[site.function].astype(jnp.float32)
    cost = time * world.usd_per_tick.astype(jnp.float32) / batch
    later = world.fastest_ticks[site.queue] - jnp.min(world.latency_ticks[site.function])
    number, known = jnp.arange(batch.shape[0]), score > -jnp.inf
    liked = jnp.where(known, score - jnp.max(score), -CUT)  # only differences mean anything
    columns = [
        view.legal,
        jnp.log2(batch) / 4.0,
        vcpu,
        vgpu,
        _cut(jnp.log(time / jnp.maximum(view.slack, 100).astype(jnp.float32))),
        time.astype(jnp.int32) + later <= view.slack,
        _cut(jnp.log(jnp.maximum(cost, 1e-30) / jnp.maximum(jnp.min(cost), 1e-30))),
        _cut(liked),
        known,
        number == decision.action,
    ]
    return jnp.stack([column.astype(jnp.float32) for column in columns], axis=1)


def _queue(layout: Layout, world: World, view: View, decision: Decision, slo: jax.Array) -> jax.Array:
    fastest = world.fastest_ticks[view.queue].astype(jnp.float32)
    whole = world.fastest_ticks[world.entry_queue[view.workflow]]
    columns = [
        jnp.log1p(view.length) / LOG_JOBS,
        jnp.log1p(view.fails) / LOG_JOBS,
        _cut(view.waited / slo),
        _cut(view.slack / slo),
        _cut(fastest / jnp.maximum(view.slack, 100)),
        1.0 - fastest / whole,
        jnp.log1p(view.rate_per_s) / LOG_JOBS,
        decision.action >= layout.configs,
    ]
    return jnp.stack([column.astype(jnp.float32) for column in columns])


def _others(world: World, state: State, site: Site) -> jax.Array:
    queues = state.queues
    slo = world.deadline_ticks[world.queue_workflow].astype(jnp.float32)
    slack = (queues.due - state.now).astype(jnp.float32)
    columns = [
        jnp.log1p(queues.length) / LOG_JOBS,
        jnp.where(queues.length > 0, _cut(slack / slo), 0.0),
        queues.waiting,
        jnp.arange(queues.length.shape[0]) == site.queue,
    ]
    return jnp.stack([column.astype(jnp.float32) for column in columns], axis=1)


def _platform(layout: Layout, world: World, state: State) -> jax.Array:
    free = state.invokers
    held = jnp.mean((state.tasks.end < jnp.iinfo(jnp.int32).max).astype(jnp.float32))
    head = [
        jnp.sum(free.free_vcpu) / jnp.sum(world.vcpu),
        jnp.sum(free.free_vgpu) / jnp.sum(world.vgpu),
        jnp.log1p(jnp.sum(state.queues.length)) / LOG_JOBS,
        held,
    ]
    at_least = free.free_vgpu[None] >= jnp.arange(1, layout.vgpus + 1)[:, None]
    return jnp.concatenate([jnp.stack([x.astype(jnp.float32) for x in head]), jnp.mean(at_least, axis=1)])


def _cut(x: jax.Array) -> jax.Array:
    return jnp.clip(x, -CUT, CUT)
