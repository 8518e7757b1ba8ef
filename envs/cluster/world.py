"""Turns a scenario on the host into a prepared world on the device, and stacks worlds of one shape into banks."""

from __future__ import annotations

from collections.abc import Sequence

import jax
import jax.numpy as jnp
import numpy as np
from numpy.typing import NDArray

from ...scenarios.checks import as_whole
from ...scenarios.cluster.scenario import ClusterScenario, Compat
from ...scenarios.errors import InputError
from .state import NEVER, Profile, World

STARVING_S = 3_600_000.0
"""Waiting time after which the artifact promotes a job permanently (hal-uw/blox-pal)."""
MOST_BINS = 1024
HORIZON = 20
"""An episode is truncated after this many times the time that its work needs at ideal speed."""
GANGS = 2
"""List scheduling of gangs takes at most about this many times the ideal time, if all run as slowly as the slowest."""


def prepare(scenario: ClusterScenario, rows: int | None = None, bins: int | None = None) -> World:
    """Prepare the world of `scenario`; its jobs are padded to `rows` and its bins to `bins` (default: no padding)."""
    jobs = scenario.jobs
    rows = rows or len(jobs)
    grid = (-1, scenario.nodes, scenario.gpus_per_node)
    artifact = scenario.compat is Compat.ARTIFACT
    starving = int(np.ceil(STARVING_S / scenario.round_s)) if artifact else NEVER

    def padded(values: NDArray[np.generic], blank: float) -> jax.Array:
        return jnp.asarray(np.concatenate([values, np.full(rows + 1 - len(jobs), blank, values.dtype)]))

    return World(
        arrival_s=padded(jobs.arrival_s, 0.0),
        arrival_round=padded(arrival_rounds(jobs.arrival_s, scenario.round_s), NEVER),
        demand=padded(jobs.demand, 0),
        iterations=padded(jobs.iterations, 0.0),
        iter_s=padded(jobs.iter_s, 1.0),
        app_class=padded(jobs.app_class, 0),
        tracked=padded(jobs.tracked, False),
        pm_score=jnp.asarray(scenario.pm_score.reshape(grid)),
        profile=make_profile(scenario, bins or bin_count(scenario)),
        locality_penalty=jnp.asarray(scenario.locality_penalty),
        first_arrival_s=jnp.asarray(jobs.arrival_s[jobs.tracked].min()),
        round_s=jnp.asarray(np.float64(scenario.round_s)),
        restart_s=jnp.asarray(np.float64(scenario.restart_s)),
        starving_rounds=jnp.int32(min(starving, NEVER)),
        nominal_remaining=jnp.bool_(artifact),
        horizon_round=jnp.int32(horizon_round(scenario)),
    )


def stack(scenarios: Sequence[ClusterScenario], bins: int | None = None) -> World:
    """Stack the worlds of scenarios with equal GPU grids on a leading axis M, padded to one shape.

    There is room for `bins` bins (default: as many as needed, in steps of 4). Raises `InputError` if a world has more.
    """
    rows = bucket(max(len(s.jobs) for s in scenarios), 32)
    most = max(bin_count(s) for s in scenarios)
    bins = bucket(most, 4) if bins is None else as_whole("bins", bins, 1, MOST_BINS)
    if bins < most:
        raise InputError(f"a world has {most} bins in one app class, and there is room for {bins}; give bins={most}")
    worlds = [prepare(s, rows, bins) for s in scenarios]
    return jax.tree.map(lambda *leaves: jnp.stack(leaves), *worlds)


def horizon_round(scenario: ClusterScenario) -> int:
    """Return the round of truncation: 20 times what an episode's work needs, so that only a stuck policy reaches it.

    If a gang can be more than 10 times slower than ideal, twice that slowdown replaces the factor 20.

    Under `artifact` the endless stream after the trace may bring more work than the cluster can do, and orders that
    favour new jobs then never finish the old ones. The stream therefore does not change the horizon.
    """
    own = len(scenario.jobs) - scenario.streamed
    work_s, demand = scenario.jobs.work_s[:own], scenario.jobs.demand[:own]
    needed_s = scenario.jobs.arrival_s[:own].max() + (work_s * demand).sum() / scenario.gpus + work_s.max()
    worst = scenario.pm_score.max() * max(1.0, scenario.locality_penalty.max())
    factor = max(HORIZON, GANGS * worst)
    return int(min(np.ceil(factor * needed_s / scenario.round_s) + HORIZON * own, NEVER - 1))


def bucket(size: int, step: int) -> int:
    """Round `size` up to one of a few standard sizes, so that few programs are compiled."""
    if size <= 8 * step:
        return -(-size // step) * step
    return int(2 ** np.ceil(np.log2(size)))


def arrival_rounds(arrival_s: NDArray[np.float64], round_s: float) -> NDArray[np.int32]:
    """Return the first round boundary at or after each arrival."""
    return np.ceil(arrival_s / round_s).astype(np.int32)


def bin_count(scenario: ClusterScenario) -> int:
    """Return the number of bins of the class that has most."""
    return max(len(np.unique(row)) for row in scenario.pm_bin)


def make_profile(scenario: ClusterScenario, bins: int) -> Profile:
    """Return the bins as levels, and each cell's step in PAL's walk: by bin x penalty, ties by the bin's first GPU."""
    classes, gpus = scenario.pm_bin.shape
    level = np.zeros((classes, gpus), np.int32)
    value = np.full((classes, bins), np.inf)
    steps = np.full((classes, 2, bins), 2 * bins, np.int32)
    for c, (row, penalty) in enumerate(zip(scenario.pm_bin, scenario.locality_penalty, strict=True)):
        values, first, level[c] = np.unique(row, return_index=True, return_inverse=True)
        value[c, : len(values)] = values
        met = np.argsort(first)  # levels in order of first appearance
        cost = np.stack([values[met], values[met] * penalty], axis=1).ravel()
        walk = np.argsort(np.argsort(cost, kind="stable"), kind="stable").reshape(-1, 2)
        steps[c, :, met] = walk
    grid = (classes, scenario.nodes, scenario.gpus_per_node)
    return Profile(
        level=jnp.asarray(level.reshape(grid)),
        value=jnp.asarray(value),
        within_rank=jnp.asarray(steps[:, 0]),
        across_rank=jnp.asarray(steps[:, 1]),
    )
