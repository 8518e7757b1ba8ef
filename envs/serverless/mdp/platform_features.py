"""What a learner sees in addition to the queue at the cursor: the other queues, the whole platform, its invokers."""

from __future__ import annotations

import jax
import jax.numpy as jnp

from ..dispatch import Site
from ..state import State, World

OTHER_FEATURES = ("log length", "slack of the head over SLO", "waiting", "is at the cursor")
PLATFORM_FEATURES = ("free vCPUs", "free vGPUs", "log jobs in queues", "running tasks over slots")
"""Features of the platform; the shares of invokers with at least 1, 2, ... free vGPUs follow them."""
INVOKER_FEATURES = (
    "free vCPUs over the largest configuration's",
    "free vGPUs over the largest configuration's",
    "has a warm container of the function",
    "share of the head request's inputs that lie there",
    "share of the largest batch's inputs that lie there",
    "reading the head request's inputs there over SLO",
    "place in the function's walk",
)
"""Features of every invoker, shown if actions choose an invoker."""
LOG_JOBS, CUT = 6.0, 2.0


def others(world: World, state: State, site: Site) -> jax.Array:
    """Return the features of every queue [Q, features]."""
    queues = state.queues
    slo = world.deadline_ticks[world.queue_workflow].astype(jnp.float32)
    slack = (queues.due - state.now).astype(jnp.float32)
    columns = [
        jnp.log1p(queues.length) / LOG_JOBS,
        jnp.where(queues.length > 0, cut(slack / slo), 0.0),
        queues.waiting,
        jnp.arange(queues.length.shape[0], dtype=jnp.int32) == site.queue,
    ]
    return jnp.stack([column.astype(jnp.float32) for column in columns], axis=1)


def platform(vgpus: int, world: World, state: State) -> jax.Array:
    """Return the features of the whole platform [features + vgpus]."""
    free = state.invokers
    held = jnp.mean((state.tasks.end < jnp.iinfo(jnp.int32).max).astype(jnp.float32))
    head = [
        jnp.sum(free.free_vcpu) / jnp.sum(world.vcpu),
        jnp.sum(free.free_vgpu) / jnp.sum(world.vgpu),
        jnp.log1p(jnp.sum(state.queues.length)) / LOG_JOBS,
        held,
    ]
    at_least = free.free_vgpu[None] >= jnp.arange(1, vgpus + 1, dtype=jnp.int32)[:, None]
    return jnp.concatenate([jnp.stack([x.astype(jnp.float32) for x in head]), jnp.mean(at_least, axis=1)])


def invokers(world: World, state: State, site: Site, slo: jax.Array) -> jax.Array:
    """Return the features of every invoker as a place for the next task of the queue at the cursor [I, features]."""
    free, count = state.invokers, world.vcpu.shape[0]
    pieces = site.local[:, 0]  # of the head request
    elsewhere = jnp.max(jnp.where(jnp.eye(count, dtype=bool), 0, pieces[None]), axis=1)
    table = world.transfer_ticks[site.queue]
    reading = jnp.maximum(table[0, pieces], table[1, elsewhere]).astype(jnp.float32)
    level = jnp.maximum(jnp.sum(world.batches <= site.length) - 1, 0)
    columns = [
        cut(free.free_vcpu / world.vcpus[-1]),
        cut(free.free_vgpu / world.vgpus[-1]),
        site.warm,
        _share(pieces),
        _share(jnp.take(site.local, level, axis=1)),
        cut(reading / slo),
        world.walk[site.function] / count,
    ]
    return jnp.stack([column.astype(jnp.float32) for column in columns], axis=1)


def cut(x: jax.Array) -> jax.Array:
    """Clip to [-2, 2]."""
    return jnp.clip(x, -CUT, CUT)


def _share(pieces: jax.Array) -> jax.Array:
    """Return each invoker's share of all pieces; 0 if there are no pieces."""
    return pieces / jnp.maximum(jnp.sum(pieces), 1)
