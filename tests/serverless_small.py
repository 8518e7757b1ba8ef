"""Small serverless worlds of two shapes (few compilations), and the environment on them."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np
from numpy.random import Generator
from serverless_worlds import random_function, random_transfer
from varigym.envs.serverless.mdp.faces import ServerlessGpuEnv
from varigym.registration import make_serverless
from varigym.scenarios.serverless.configs import ConfigGrid
from varigym.scenarios.serverless.requests import make_requests
from varigym.scenarios.serverless.scenario import Prices, Scan, ServerlessScenario
from varigym.scenarios.serverless.workflows import Workflow

CHAIN, FORK = "chain", "fork"
WORLDS = 12
REQUESTS = 30
STEP_MS = 5.0
LEAST_MS = 0.01
GRID = ConfigGrid((1, 2), (1, 2), (1, 2))
EDGES = {CHAIN: (((0, 1), (1, 2)), ((0, 1),)), FORK: (((0, 1), (0, 2), (1, 3), (2, 3)), ((0, 1),))}
"""Of the two workflows of each shape."""
STEP_INFO = {"action_mask", "reward_raw", "time_s", "world", "illegal", "elapsed_ms", "shed", "reward_terms"}


@dataclass(frozen=True)
class Given:
    """A source of given scenarios: seed s builds scenario s."""

    scenarios: tuple[ServerlessScenario, ...]
    name: str = "given"

    def build(self, seed: int) -> ServerlessScenario:
        return self.scenarios[seed]

    def history(self) -> None:
        return None


def small_world(seed: int, shape: str = FORK) -> ServerlessScenario:
    """World `seed` of a shape: the platform is the shape's, requests and rules are drawn, ticks often coincide."""
    rng = np.random.default_rng([3, seed])
    arrival_ms = np.sort(rng.integers(0, int(rng.choice([20, 60, 150])), REQUESTS)) * STEP_MS
    window_ms, horizon_ms = _window(rng, arrival_ms)
    noise = rng.lognormal(0.0, 0.3, (REQUESTS, 4)) if seed % 2 else np.ones((REQUESTS, 4))
    functions, workflows = _workload(shape, rng)
    return ServerlessScenario(
        name=f"{shape}-{seed}",
        grid=GRID,
        functions=functions,
        workflows=workflows,
        vcpu=np.array([3, 2], np.int32),
        vgpu=np.array([2, 3], np.int32),
        requests=make_requests(
            arrival_ms, rng.integers(0, 2, REQUESTS, dtype=np.int32), window_ms, np.asarray(noise, np.float32)
        ),
        horizon_ms=horizon_ms,
        window_ms=window_ms,
        prices=Prices(0.05, 0.5),
        transfer=random_transfer(rng),
        warm=1,
        keep_alive_s=600.0 if rng.random() < 0.5 else float(rng.integers(0, 60)) * STEP_MS / 1000,
        prewarm=bool(rng.random() < 0.6),
        bill_cold=bool(rng.random() < 0.5),
        overhead_ms=float(rng.choice([0.0, 0.0, 0.15, 5.0])),
        scan=Scan(str(rng.choice([scan.value for scan in Scan]))),
        locality=bool(rng.random() < 0.8),
    )


def _workload(shape: str, rng: Generator) -> tuple[Any, Any]:
    """Functions of the shape, and its workflows under promises that are drawn."""
    own = np.random.default_rng([4, shape == FORK])
    functions = tuple(random_function(own, k, GRID.size, STEP_MS) for k in range(3))
    workflows = []
    for number, edges in enumerate(EDGES[shape]):
        stages = max(v for _, v in edges) + 1
        of = tuple(int(f) for f in own.integers(0, 3, stages))
        workflows.append(Workflow(f"w{number}", of, edges, float(rng.integers(20, 80)) * STEP_MS))
    return functions, tuple(workflows)


def _window(rng: Generator, arrival_ms: Any) -> tuple[tuple[float, float], float]:
    """(measured window, horizon): sometimes a part, sometimes a near horizon."""
    spare_ms = STEP_MS * (int(rng.integers(0, 15)) if rng.random() < 0.4 else 5000)
    horizon_ms = float(arrival_ms[-1]) + LEAST_MS + spare_ms
    if rng.random() < 0.3:
        first, last = sorted(rng.integers(0, len(arrival_ms), 2))
        return (float(arrival_ms[first]), float(arrival_ms[last]) + LEAST_MS), horizon_ms
    return (0.0, horizon_ms), horizon_ms


@cache
def source(shape: str) -> Given:
    return Given(tuple(small_world(seed, shape) for seed in range(WORLDS)))


MADE: list[dict[str, Any]] = [
    {"scenario": source(FORK), "base": "min-config", "log": True},
    {"scenario": source(FORK), "base": "infless", "log": True, "choose_invoker": True, "price_weight": 0.0},
    {"scenario": source(CHAIN), "base": "esg"},
]
"""What is compiled."""


def make(number: int = 0, **options: Any) -> ServerlessGpuEnv:
    """The environment of `MADE[number]`; presentation may differ, which compiles nothing."""
    return make_serverless(**{"worlds": WORLDS, "window_s": None, **MADE[number], **options})


def legal(env: ServerlessGpuEnv) -> list[int]:
    return np.flatnonzero(env.action_masks()).tolist()


def go_on(env: ServerlessGpuEnv, rng: np.random.Generator) -> Iterator[Any]:
    """(action, observation, reward, terminated, truncated, info) of random legal actions to the end."""
    over = False
    while not over:
        action = int(rng.choice(legal(env)))
        stepped = env.step(action)
        over = stepped[2] or stepped[3]
        yield action, *stepped


def episode(env: ServerlessGpuEnv, seed: int | None, rng_seed: int = 0) -> list[Any]:
    """The reset and the steps of a random masked episode."""
    return [env.reset(seed=seed), *go_on(env, np.random.default_rng(rng_seed))]


def same(a: Any, b: Any) -> bool:
    """Deep equality of snapshots, observations and infos; NaN equals NaN."""
    if isinstance(a, dict):
        return a.keys() == b.keys() and all(same(a[k], b[k]) for k in a)
    if isinstance(a, list | tuple):
        return len(a) == len(b) and all(same(x, y) for x, y in zip(a, b, strict=True))
    if isinstance(a, np.ndarray):
        return np.array_equal(a, b, equal_nan=a.dtype.kind == "f")
    return bool(a == b) or (isinstance(a, float) and np.isnan(a) and np.isnan(b))
