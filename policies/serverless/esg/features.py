"""What the learned ESG sees at a visit: the view, relative to what the group and the workflow still need.

Times are given as fractions of the SLO or as ratios to the fastest possible, and sizes as shares of the platform, so
that weights learned on one platform mean the same on another.
"""

from __future__ import annotations

import jax
import jax.numpy as jnp

from ....envs.core import pytree
from ....envs.serverless.view import View

NAMES = (
    "slack over SLO",
    "T* against the fastest way through the group, log",
    "slack against the fastest way to the end, log",
    "slack against the cheapest way to the end, log",
    "time ahead of the stage's planned begin, over SLO",
    "jobs in the queue, log",
    "jobs in the queue against those that arrive within the SLO, log",
    "work in all queues against the SLO, log",
    "work in the workflow's later queues against the SLO, log",
    "work that all waiting jobs still need against the SLO, log",
    "the same at an entry stage",
    "work to the end against the mean workflow's, log",
    "load by the workflow's arrivals, log",
    "free vGPUs",
    "free vCPUs",
    "largest free share of an invoker",
    "invokers with a free vGPU",
    "visits without a task, log",
    "entry stage",
    "last stage",
    "fastest way to the end over SLO",
    "one",
)
FEATURES = len(NAMES)
"""F, the number of features."""
LEAST = 1e-3
"""Smaller ratios are raised to this value."""


@pytree
class PlatformFacts:
    """Constants of a platform that features are measured against. Q queues."""

    fastest_group: jax.Array  # [Q] float32 fewest ticks through the rest of the group
    fastest_rest: jax.Array  # [Q] float32 fewest ticks from the group's end to the workflow's
    cheapest_end: jax.Array  # [Q] float32 ticks to the end of the workflow by cheapest configurations of one request
    work: jax.Array  # [Q] float32 vGPU-ticks of a job in its cheapest configuration of one request
    work_to_end: jax.Array  # [Q] float32 the same from here to the end of the workflow
    mean_work: jax.Array  # [] float32 work of a request, averaged over workflows
    begins: jax.Array  # [Q] float32 share of the SLO at which the stage should begin
    entry: jax.Array  # [Q] bool
    final: jax.Array  # [Q] bool
    workflow: jax.Array  # [Q] int32
    workflows: jax.Array  # [] float32 number of workflows
    vcpus: jax.Array  # [] float32 of all invokers
    vgpus: jax.Array  # [] float32
    largest: jax.Array  # [] float32 vGPUs of the largest configuration


def esg_features(facts: PlatformFacts, view: View, goal: jax.Array) -> jax.Array:
    """Return the features [F] float32 of the queue at the cursor; `goal` is ESG's T* in ticks."""
    queue, slack, waited = view.queue, _float(view.slack), _float(view.waited)
    slo = jnp.maximum(slack + waited, 1.0)
    group, rest = facts.fastest_group[queue], facts.fastest_rest[queue]
    lengths, length = _float(view.lengths), _float(view.length)
    backlog = facts.work * lengths / facts.vgpus
    to_come = jnp.log1p(jnp.sum(facts.work_to_end * lengths) / facts.vgpus / slo)
    later = (facts.workflow == view.workflow) & (jnp.arange(lengths.shape[0], dtype=jnp.int32) > queue)
    per_tick = view.rate_per_s * 1e-5
    entry_work = jnp.max(jnp.where(facts.workflow == view.workflow, facts.work_to_end, 0.0))
    free = _float(view.free_vgpu)
    columns = (
        jnp.clip(slack / slo, -1, 1),
        _log_ratio(_float(goal), group),
        _log_ratio(slack, group + rest),
        _log_ratio(slack, facts.cheapest_end[queue]),
        jnp.clip(facts.begins[queue] - waited / slo, -1, 1),
        jnp.log1p(length) / 3,
        jnp.log1p(length / jnp.maximum(per_tick * slo, LEAST)),
        jnp.log1p(jnp.sum(backlog) / slo),
        jnp.log1p(jnp.sum(jnp.where(later, backlog, 0.0)) * facts.workflows / slo),
        to_come,
        jnp.where(facts.entry[queue], to_come, 0.0),
        jnp.log(jnp.maximum(facts.work_to_end[queue], 1.0) / facts.mean_work),
        jnp.clip(jnp.log(jnp.maximum(per_tick * entry_work * facts.workflows / facts.vgpus, 0.05)), -2, 2),
        jnp.sum(free) / facts.vgpus,
        jnp.sum(_float(view.free_vcpu)) / facts.vcpus,
        jnp.clip(jnp.max(free) / facts.largest, 0, 1),
        jnp.mean(_float(view.free_vgpu > 0)),
        jnp.log1p(_float(view.fails)) / 3,
        facts.entry[queue],
        facts.final[queue],
        jnp.clip((group + rest) / slo, 0, 1),
        jnp.float32(1),
    )
    return jnp.stack([_float(column) for column in columns])


def _float(x: jax.Array) -> jax.Array:
    return x.astype(jnp.float32)


def _log_ratio(time: jax.Array, needed: jax.Array) -> jax.Array:
    """Return the log of `time` over the time needed, clipped to [-2, 2]; -2 if no time is left."""
    return jnp.clip(jnp.log(jnp.maximum(time / jnp.maximum(needed, 1.0), LEAST)), -2, 2)
