"""Which invoker gets a task: first by locality, then warm containers, then free room (ESG_Dispatch, reconstructed)."""

from __future__ import annotations

import jax
import jax.numpy as jnp

from ..core import pytree
from .containers import is_warm
from .state import State, World

NOWHERE = 2**30
_TIER = 2**24
_PIECES = 2**12


@pytree
class Site:
    """What dispatch needs to know about the queue at the cursor."""

    queue: jax.Array  # [] int32
    function: jax.Array  # [] int32
    length: jax.Array  # [] int32
    line: jax.Array  # [L+1] int32 requests from the head on; undefined beyond the length
    deadline: jax.Array  # [] int32 tick of the head request
    warm: jax.Array  # [I] bool the invoker has a warm container of the function
    local: jax.Array  # [I, B] int32 input pieces on the invoker, for a batch of each level
    anywhere: jax.Array  # [] bool any invoker may run it (tier 3): an entry stage, or no warm container
    in_time: jax.Array  # [] bool a cold start ends before the head request's deadline

    @property
    def request(self) -> jax.Array:
        """The first requests of the queue, as many as the largest batch holds [L]."""
        return self.line[:-1]


def site_of(world: World, state: State) -> Site:
    """Return the site of the queue at the cursor (of queue 0 if the episode is over)."""
    queue = jnp.maximum(state.cursor, 0)
    most = state.tasks.row.shape[1] - 4
    function = world.queue_function[queue]
    warm = jnp.any(is_warm(state.invokers.stamp[:, function], state.now, world.keep_alive), axis=1)
    lies = state.sources[None] == jnp.arange(warm.shape[0], dtype=jnp.int32)[:, None, None]  # [I, L, P]
    pieces = jnp.sum(lies, axis=2, dtype=jnp.int32)
    within = jnp.arange(most, dtype=jnp.int32)[None, :] < world.batches[:, None]  # [B, L]
    return Site(
        queue=queue,
        function=function,
        length=state.queues.length[queue],
        line=state.line,
        deadline=state.queues.due[queue],
        warm=warm,
        local=jnp.sum(jnp.where(within[None], pieces[:, None], 0), axis=2, dtype=jnp.int32),
        anywhere=(world.queue_stage[queue] == 0) | ~jnp.any(warm),
        in_time=world.cold_ticks[function] < state.queues.due[queue] - state.now,
    )


def dispatchable(world: World, state: State, site: Site) -> jax.Array:
    """Return the configurations [B, C, G] that some invoker could run now, ignoring the queue's length."""
    invokers = state.invokers
    fits = (invokers.free_vcpu[:, None, None] >= world.vcpus[None, :, None]) & (
        invokers.free_vgpu[:, None, None] >= world.vgpus[None, None, :]
    )  # [I, C, G]
    usable = jnp.any(fits & (site.warm | site.anywhere)[:, None, None], axis=0)
    near = (site.local > 0) & world.locality & site.in_time
    nearby = jnp.any(fits[:, None] & near[:, :, None, None], axis=0)  # [B, C, G]
    return usable[None] | nearby


def legal_configs(world: World, state: State, site: Site) -> jax.Array:
    """Return the legal configurations [X]: dispatchable ones whose batch the queue holds."""
    enough = world.batches <= site.length
    return (dispatchable(world, state, site) & enough[:, None, None]).ravel()


def legal_invokers(world: World, state: State, site: Site) -> jax.Array:
    """Return the legal pairs of configuration and invoker [X * I]: the invoker has room, the queue holds the batch."""
    invokers = state.invokers
    fits = (invokers.free_vcpu[None, None] >= world.vcpus[:, None, None]) & (
        invokers.free_vgpu[None, None] >= world.vgpus[None, :, None]
    )  # [C, G, I]
    enough = world.batches <= site.length
    return (enough[:, None, None, None] & fits[None]).ravel()


def invoker_for(
    world: World, state: State, site: Site, level: jax.Array, vcpu: jax.Array, vgpu: jax.Array
) -> tuple[jax.Array, jax.Array]:
    """Return (invoker, whether there is one) for a batch of `level` on `vcpu` and `vgpu`; ties go to the lowest id."""
    invokers, number = state.invokers, jnp.arange(site.warm.shape[0], dtype=jnp.int32)
    fits = (invokers.free_vcpu >= vcpu) & (invokers.free_vgpu >= vgpu)
    pieces = jnp.where(world.locality, site.local[:, level], 0)
    near, most_pieces = pieces > 0, _PIECES - pieces
    rank = jnp.where(
        site.warm,
        jnp.where(near, most_pieces, _TIER + invokers.free_vgpu),
        jnp.where(
            near & site.in_time,
            2 * _TIER + most_pieces,
            jnp.where(site.anywhere, 3 * _TIER + world.walk[site.function], NOWHERE),
        ),
    )
    # The walk visits warm invokers too, but they already have a better tier of their own.
    rank = jnp.where(fits, rank, NOWHERE)
    best = jnp.min(rank)
    return jnp.min(jnp.where(rank == best, number, NOWHERE)), best < NOWHERE
