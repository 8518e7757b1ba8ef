"""Small random path spaces, full of ties, and brute force over them."""

from __future__ import annotations

from itertools import product

import numpy as np
from varigym.policies.serverless.costs import NO_PATH
from varigym.policies.serverless.frontier import FAR, SuffixTables, suffix_tables
from varigym.policies.serverless.paths import LaterBatch, PathSpace

Path = tuple[int, tuple[int, ...], int]
"""Cost, configurations, time."""


def random_space(rng: np.random.Generator, stages: int | None = None, pareto: bool = False) -> PathSpace:
    """One to three stages; a few configurations per batch in mixed order; small numbers, so that ties are common."""
    n = stages or int(rng.integers(1, 4))
    batches = rng.permutation([1, 2, 4])[: rng.integers(1, 4)]
    batch = rng.permutation(np.repeat(batches, rng.integers(1, 4))).astype(np.int32)
    top = int(rng.choice([4, 12, 60]))
    time, cost = (rng.integers(1, top + 1, (n, len(batch))).astype(np.int32) for _ in range(2))
    return PathSpace(time, cost, batch, LaterBatch(rng.choice(list(LaterBatch))), pareto)


def random_visit(rng: np.random.Generator, space: PathSpace) -> tuple[int, int]:
    """T* from hopeless to ample, and a queue length."""
    low, high = int(space.time.min(axis=1).sum()), int(space.time.max(axis=1).sum())
    return int(rng.integers(low - 2, high + 2)), int(rng.integers(1, 6))


def all_paths(space: PathSpace, target: int, length: int) -> list[Path]:
    """Every legal path in time, in the order of paths."""
    n, configs = space.time.shape
    found: list[Path] = []
    for path in product(range(configs), repeat=n):
        first_batch = space.batch[path[0]]
        travels = space.later_batch is LaterBatch.FREE or all(space.batch[x] <= first_batch for x in path[1:])
        ticks = int(sum(space.time[stage, x] for stage, x in enumerate(path)))
        if first_batch <= length and travels and ticks <= target:
            found.append((int(sum(space.cost[stage, x] for stage, x in enumerate(path))), path, ticks))
    return sorted(found)


def tables_of(space: PathSpace, k: int, longest: int = FAR) -> SuffixTables:
    """Tables of one queue whose group is the space: its stages are functions 0 .. n - 1."""
    suffix = tuple(range(len(space.time)))
    return suffix_tables([suffix], space.time, space.cost, space.batch, k, space.later_batch, longest)


def costs_by_first(paths: list[Path], configs: int, k: int) -> np.ndarray:
    """The `k` smallest costs of the paths that begin with each configuration [X, K]."""
    rows = [[cost for cost, path, _ in paths if path[0] == x][:k] for x in range(configs)]
    return np.array([row + [NO_PATH] * (k - len(row)) for row in rows])
