"""Measures the simulator's speed on this machine, with a fixed NumPy yardstick measured in the same run."""

from __future__ import annotations

import os
import platform
import resource
import time
from collections.abc import Callable
from dataclasses import asdict
from functools import partial
from pathlib import Path

import jax
import jax.numpy as jnp
import numpy as np

from ...envs.cluster import allocation
from ...envs.cluster.bank import Bank, make_bank, pick
from ...envs.cluster.episode import run_episodes
from ...envs.cluster.state import World
from ...policies.cluster.catalog import find_policy
from ...scenarios.cluster.scenario import ClusterScenario
from ...scenarios.cluster.source import Source
from ...scenarios.seeds import HELD_OUT
from ..grid.provenance import commit, version
from .serverless.readings import serverless_readings
from .serverless.search_times import search_readings
from .serverless.stepping_rates import lane_readings
from .stepping import cluster_rates
from .timing import Reading, rate

GRID = tuple(
    f"{order}+{placement}{habit}"
    for order in ("fifo", "las", "srtf")
    for placement in ("pal", "pm-first", "packed")
    for habit in ("", "+sticky")
)
"""Policies whose total compilation time is measured."""
TIMED = "fifo+pal"
BASE = "las-2d+pal+backfill"
"""Base policy of the timed environment."""
FULL_S, QUICK_S = 2.0, 0.3
"""Seconds for which each rate is measured."""
PLACEMENTS = 2000


def measure(source: Source, quick: bool, serverless: bool) -> list[Reading]:
    """Measure a cluster on `source` and, if `serverless`, the serverless platform and ESG's search."""
    seconds = QUICK_S if quick else FULL_S
    scenario = source.build(HELD_OUT.first)
    bank = make_bank([scenario], source.history(), getattr(source, "bins", None))
    compile_s = _compile_s(bank)
    return [
        Reading("cluster.rounds_per_s", rate(partial(_rounds, bank), seconds), "1/s"),
        Reading("cluster.placements_per_s", _placement_rate(bank, scenario, seconds), "1/s"),
        Reading("cluster.compile_s", compile_s, "s"),
        *_env_readings(bank, seconds),
        *([*serverless_readings(seconds), *lane_readings(seconds), *search_readings(quick)] if serverless else []),
        Reading("peak_rss_mb", resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024, "MB"),
        Reading("numpy_loop_per_s", rate(_numpy_loop(), seconds), "1/s"),
    ]


def _env_readings(bank: Bank, seconds: float) -> list[Reading]:
    readings = []
    for name, (per_s, passing) in cluster_rates(bank, find_policy(BASE), seconds).items():
        readings += [
            Reading(f"cluster.env_steps_per_s.{name}", per_s, "1/s"),
            Reading(f"cluster.env_steps_rest_or_commit.{name}", passing, "share"),
        ]
    return readings


def machine() -> dict[str, str | int]:
    """Describe the machine and the software of the measurements."""
    return {
        "processor": _processor(),
        "cores": len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1,
        "system": platform.platform(),
        "python": platform.python_version(),
        "jax": jax.__version__,
        "numpy": np.__version__,
        "device": jax.devices()[0].device_kind,
        "x64": str(jnp.zeros(1, float).dtype == jnp.float64),
        "version": version(),
        "commit": commit(),
    }


def as_json(readings: list[Reading]) -> dict[str, object]:
    """Return the readings and machine facts for a JSON file."""
    return {"machine": machine(), "rows": [asdict(reading) for reading in readings]}


def _compile_s(bank: Bank) -> float:
    """Return the time of tracing and compilation: a first run of all policies of the grid minus a second run."""
    runs = []
    for _ in range(2):
        start = time.perf_counter()
        for name in GRID:
            _run(bank, name)
        runs.append(time.perf_counter() - start)
    return runs[0] - runs[1]


def _run(bank: Bank, name: str) -> int:
    policy = find_policy(name)
    outcome = run_episodes(bank, policy.program, policy.bind(bank), clairvoyant=True, seeds=[0])[0]
    return outcome.rounds


def _rounds(bank: Bank) -> int:
    return _run(bank, TIMED)


def _placement_rate(bank: Bank, scenario: ClusterScenario, seconds: float) -> float:
    """Return the gangs placed by PAL per second: the trace's first jobs in turn, on the GPUs that are still free."""
    demand = jnp.asarray(scenario.jobs.demand[:64])
    app_class = jnp.asarray(scenario.jobs.app_class[:64])

    @jax.jit
    def place(world: World) -> jax.Array:
        def step(i: jax.Array, free: jax.Array) -> jax.Array:
            n, c = demand[i % demand.shape[0]], app_class[i % demand.shape[0]]
            free = jnp.where(jnp.sum(free) >= n, free, True)  # if full, start again with an empty cluster
            return free & ~allocation.pal(world.profile, c, free, n)

        return jax.lax.fori_loop(0, PLACEMENTS, step, jnp.ones(world.pm_score.shape[1:], bool))

    world = pick(bank.worlds, jnp.int32(0))

    def batch() -> int:
        place(world).block_until_ready()
        return PLACEMENTS

    batch()
    return rate(batch, seconds)


def _numpy_loop() -> Callable[[], int]:
    """Return the yardstick: argmin over a masked 64 x 160 NumPy array."""
    rng = np.random.default_rng(0)
    values, mask = rng.random((64, 160)), rng.random((64, 160)) < 0.5

    def batch() -> int:
        for _ in range(200):
            np.argmin(np.where(mask, values, np.inf))
        return 200

    return batch


def _processor() -> str:
    try:
        lines = Path("/proc/cpuinfo").read_text().splitlines()
    except OSError:
        return platform.processor() or "unknown"
    return next((line.split(":", 1)[1].strip() for line in lines if line.startswith("model name")), "unknown")
