"""Static sizes that follow from the shapes of a world, and the meaning of a configuration's number."""

from __future__ import annotations

import jax
import jax.numpy as jnp

from .state import World


def most_jobs(world: World) -> int:
    """Return L, the size of the largest batch (static)."""
    return (world.transfer_ticks.shape[2] - 1) // world.predecessors.shape[1]


def forks(world: World) -> bool:
    """Whether any workflow is more than a chain (static)."""
    return world.successors.shape[1] > 1 or world.predecessors.shape[1] > 1


def shares(world: World, config: jax.Array) -> tuple[jax.Array, jax.Array, jax.Array]:
    """Return (batch level, vCPUs, vGPUs) of a configuration."""
    vcpus, vgpus = world.vcpus.shape[0], world.vgpus.shape[0]
    return (
        config // (vcpus * vgpus),
        world.vcpus[(config // vgpus) % vcpus],
        world.vgpus[config % vgpus],
    )


def deadline_of(world: World, queue: jax.Array, request: jax.Array) -> jax.Array:
    """Return the tick by which a request [] that waits in `queue` should be finished."""
    return world.arrival[jnp.maximum(request, 0)] + world.deadline_ticks[world.queue_workflow[queue]]
