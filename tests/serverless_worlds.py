"""Small random serverless worlds, rich in ties and edge cases, and a random policy for any implementation."""

from __future__ import annotations

import hashlib
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.random import Generator
from varigym.scenarios.serverless.configs import ConfigGrid
from varigym.scenarios.serverless.requests import make_requests
from varigym.scenarios.serverless.scenario import Prices, Scan, ServerlessScenario, Transfer
from varigym.scenarios.serverless.workflows import Function, Workflow

STRUCTURES = 12
"""Worlds of equal seed modulo this share the sizes of all their arrays (few compilations)."""
LEAST_MS = 0.01

RandomPolicy = Callable[[int, Sequence[bool]], int]  # (how many visits were before, legal) -> action


@dataclass(frozen=True)
class Sizes:
    """What decides the shapes of a world's arrays."""

    stages: tuple[int, ...]  # of each workflow
    functions: int
    invokers: int
    axes: tuple[int, int, int]  # batches, vCPUs, vGPUs
    requests: int


def random_world(seed: int, structures: int = STRUCTURES) -> ServerlessScenario:
    """World number `seed`; every choice is drawn, and most times are multiples of one step, so that ticks coincide."""
    sizes = random_sizes(np.random.default_rng([1, seed % structures]))
    rng = np.random.default_rng([2, seed])
    step_ms = float(rng.choice([LEAST_MS, 1.0, 5.0, 5.0]))
    grid = random_grid(rng, sizes.axes)
    steps = np.sort(rng.integers(0, int(rng.choice([1, 20, 100, 300])), sizes.requests))
    arrival_ms = np.asarray(steps * step_ms, np.float64)
    window_ms, horizon_ms = random_window(rng, arrival_ms, step_ms)
    shape = (sizes.requests, max(sizes.stages))
    noise = rng.lognormal(0.0, 0.3, shape) if rng.random() < 0.5 else np.ones(shape)
    workflow = rng.integers(0, len(sizes.stages), sizes.requests, dtype=np.int32)
    return ServerlessScenario(
        name=f"random-{seed}",
        grid=grid,
        functions=tuple(random_function(rng, k, grid.size, step_ms) for k in range(sizes.functions)),
        workflows=tuple(random_workflow(rng, w, n, sizes.functions, step_ms) for w, n in enumerate(sizes.stages)),
        requests=make_requests(arrival_ms, workflow, window_ms, noise),
        horizon_ms=horizon_ms,
        window_ms=window_ms,
        **random_platform(rng, sizes.invokers, grid, step_ms),
    )


def random_sizes(rng: Generator) -> Sizes:
    return Sizes(
        stages=tuple(int(n) for n in rng.integers(1, 6, rng.integers(1, 4))),
        functions=int(rng.integers(1, 6)),
        invokers=int(rng.integers(1, 4)),
        axes=(int(rng.integers(1, 4)), int(rng.integers(1, 3)), int(rng.integers(1, 4))),
        requests=int(rng.integers(5, 31)),
    )


def random_grid(rng: Generator, axes: tuple[int, int, int]) -> ConfigGrid:
    def some(pool: Sequence[int], count: int) -> tuple[int, ...]:
        return tuple(sorted(int(n) for n in rng.choice(pool, count, replace=False)))

    return ConfigGrid((1, *some((2, 3, 4), axes[0] - 1)), some((1, 2, 3), axes[1]), some((1, 2, 3, 4), axes[2]))


def random_window(rng: Generator, arrival_ms: Any, step_ms: float) -> tuple[tuple[float, float], float]:
    """(measured window with a request in it, horizon): often everything, sometimes a part and a near horizon."""
    first, last = sorted(rng.integers(0, len(arrival_ms), 2))
    part = (float(arrival_ms[first]), float(arrival_ms[last]) + LEAST_MS)
    spare_ms = step_ms * (int(rng.integers(0, 15)) if rng.random() < 0.3 else 5000)
    horizon_ms = float(arrival_ms[-1]) + LEAST_MS + spare_ms
    return part if rng.random() < 0.3 else (0.0, horizon_ms), horizon_ms


def random_function(rng: Generator, number: int, configs: int, step_ms: float) -> Function:
    return Function(
        name=f"model {rng.integers(1000)}.{number}",
        latency_ms=np.asarray(rng.integers(1, 20, configs) * step_ms, np.float64),
        cold_start_ms=float(rng.choice([0.0, 1.0, 5.0, 40.0, 200.0])) * step_ms,
        input_mb=float(rng.choice([0.0, 0.3, 2.5, 40.0])),
    )


def random_workflow(rng: Generator, number: int, stages: int, functions: int, step_ms: float) -> Workflow:
    return Workflow(
        name=f"workflow {number}",
        functions=tuple(int(f) for f in rng.integers(0, functions, stages)),
        edges=random_edges(rng, stages),
        slo_ms=float(rng.integers(5, 150)) * step_ms,
    )


def random_edges(rng: Generator, stages: int) -> tuple[tuple[int, int], ...]:
    """A chain, or a graph with forks and joins; stage 0 is its one entry and the last stage its one exit."""
    if rng.random() < 0.3:
        return tuple((stage, stage + 1) for stage in range(stages - 1))
    edges = set()
    for stage in range(1, stages):
        before = rng.choice(stage, int(rng.integers(1, min(stage, 3) + 1)), replace=False)
        edges |= {(int(u), stage) for u in before}
    dead_ends = set(range(stages - 1)) - {u for u, _ in edges}
    return tuple(sorted(edges | {(u, stages - 1) for u in dead_ends}))


def random_platform(rng: Generator, invokers: int, grid: ConfigGrid, step_ms: float) -> dict[str, Any]:
    """One invoker holds the largest configuration, the others perhaps not even the smallest."""
    vcpu, vgpu = (rng.integers(1, axis[-1] + 4, invokers) for axis in (grid.vcpus, grid.vgpus))
    largest = int(rng.integers(invokers))
    vcpu[largest], vgpu[largest] = max(vcpu[largest], grid.vcpus[-1]), max(vgpu[largest], grid.vgpus[-1])
    keep_alive_s = 600.0 if rng.random() < 0.5 else float(rng.integers(0, 60)) * step_ms / 1000
    return {
        "vcpu": vcpu,
        "vgpu": vgpu,
        "prices": Prices(float(rng.uniform(0, 0.1)), float(rng.uniform(0, 1))),
        "transfer": random_transfer(rng),
        "warm": int(rng.integers(0, 4)),
        "keep_alive_s": keep_alive_s,
        "prewarm": bool(rng.random() < 0.6),
        "bill_cold": bool(rng.random() < 0.5),
        "overhead_ms": float(rng.choice([0.0, 0.0, 0.03, 1.0])) * step_ms,
        "scan": Scan(str(rng.choice([scan.value for scan in Scan]))),
        "locality": bool(rng.random() < 0.8),
    }


def random_transfer(rng: Generator) -> Transfer:
    kinds = (Transfer(), Transfer(0.0, math.inf, 0.0, math.inf), Transfer(remote_ms=5.0, remote_gb_s=0.06))
    return kinds[rng.integers(3)] if rng.random() < 0.7 else Transfer(*rng.uniform(0.1, 4.0, 4).tolist())


def random_policy(seed: int) -> RandomPolicy:
    """Mostly any legal configuration, sometimes WAIT, rarely DROP; how often is drawn by the seed."""
    wait = _choice([0.0, 0.1, 0.4], _draw(seed, -1, "wait"))
    drop = _choice([0.0, 0.0, 0.02, 0.1], _draw(seed, -1, "drop"))

    def act(visit: int, legal: Sequence[bool]) -> int:
        configs = [x for x, is_legal in enumerate(legal[:-2]) if is_legal]
        kind = _draw(seed, visit, "kind")
        if kind < drop:
            return len(legal) - 1
        if kind < drop + wait or not configs:
            return len(legal) - 2
        return int(_choice(configs, _draw(seed, visit, "config")))

    return act


def _draw(seed: int, visit: int, what: str) -> float:
    """Uniform in [0, 1), the same on every machine."""
    digest = hashlib.sha256(f"{seed}/{visit}/{what}".encode()).digest()
    return int.from_bytes(digest[:6], "big") / 2**48


def _choice(values: Sequence[float], draw: float) -> float:
    return values[int(draw * len(values))]
