"""What a scheduler may know when it decides about a queue: never the future, never the noise."""

from __future__ import annotations

import jax
import jax.numpy as jnp

from ..core import pytree
from .dispatch import Site, legal_configs
from .state import State, World
from .world import RATE_S


@pytree
class View:
    """The queue at the cursor and the platform around it. Times are ticks of 10 us."""

    queue: jax.Array  # [] int32
    workflow: jax.Array  # [] int32
    function: jax.Array  # [] int32
    length: jax.Array  # [] int32 jobs that wait here, at least 1
    fails: jax.Array  # [] int32 visits without a task since the last one
    waited: jax.Array  # [] int32 age of the head request, since its arrival
    slack: jax.Array  # [] int32 ticks until its deadline; negative if that has passed
    legal: jax.Array  # [X] bool configurations that can be run now
    rate_per_s: jax.Array  # [] float32 arrivals of this workflow over the last 10 s
    lengths: jax.Array  # [Q] int32
    free_vcpu: jax.Array  # [I] int32
    free_vgpu: jax.Array  # [I] int32
    now: jax.Array  # [] int32


@pytree
class Decision:
    """A configuration, WAIT (X) or DROP (X + 1); `missed`: it differs from the planned one."""

    action: jax.Array  # [] int32
    missed: jax.Array  # [] bool


def observe(world: World, state: State, site: Site) -> View:
    """Return the view at `site`."""
    workflow = world.queue_workflow[site.queue]
    seen = jnp.minimum(jnp.maximum(state.now, 1), RATE_S * 100_000).astype(jnp.float32) / 100_000
    return View(
        queue=site.queue,
        workflow=workflow,
        function=site.function,
        length=site.length,
        fails=state.queues.fails[site.queue],
        waited=state.now - world.arrival[site.request[0]],
        slack=site.deadline - state.now,
        legal=legal_configs(world, state, site),
        rate_per_s=world.recent[state.next_request, workflow].astype(jnp.float32) / seen,
        lengths=state.queues.length,
        free_vcpu=state.invokers.free_vcpu,
        free_vgpu=state.invokers.free_vgpu,
        now=state.now,
    )
