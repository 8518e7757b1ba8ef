"""Points of the grid that were tried: Aquatope's measurements so far, and the points it may measure next.

A point is a static plan, written as positions on the axes of the grid: batch, vCPU, vGPU of stage 1, of stage 2, and so
on. N points, D = 3 S coordinates, S stages.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from ....scenarios.serverless.workflows import longest_path
from ....scenarios.types import Floats, Ints
from .problem import PERCENTILE, Configs, PlanProblem

ELITE = 5
"""Number of best points so far whose neighbours are in the pool."""
CHANGES = 3
"""Number of coordinates that a neighbour draws anew, on average."""
Levels = NDArray[np.int64]
"""Positions on the axes [N, D]."""


class Trials:
    """Points of the grid at which the workflow was run, and the measurements."""

    def __init__(self, problem: PlanProblem, runs: int, rng: np.random.Generator) -> None:
        self.problem, self._runs, self._rng = problem, runs, rng
        self.levels: Levels = np.zeros((0, 3 * problem.stages), np.int64)
        """Measured points [N, D]."""
        self.cost = np.zeros(0)
        """Cost of a request, in cost units [N]."""
        self.latency = np.zeros(0)
        """Latency in ticks [N]."""

    @property
    def excess(self) -> Floats:
        """Latency - SLO, as a fraction of the SLO [N]."""
        return self.latency / self.problem.slo_ticks - 1

    @property
    def sizes(self) -> Ints:
        """Number of values on each coordinate's axis [D]."""
        return np.tile(np.array(self.problem.axes, np.int32), self.problem.stages)

    def configs(self, point: int) -> Configs:
        """Return the configurations of a measured point."""
        _, vcpus, vgpus = self.problem.axes
        levels = self.levels[point].reshape(-1, 3)
        return tuple(int(x) for x in (levels[:, 0] * vcpus + levels[:, 1]) * vgpus + levels[:, 2])

    def scaled(self, levels: Levels) -> Floats:
        """Scale positions on the axes to coordinates in [0, 1]."""
        return levels / np.maximum(self.sizes - 1, 1)

    def add(self, levels: Levels) -> None:
        """Run the workflow at each new point."""
        for row in levels:
            self.levels = np.vstack([self.levels, row])
            cost, latency = self._run(self.configs(len(self.levels) - 1))
            self.cost, self.latency = np.append(self.cost, cost), np.append(self.latency, latency)

    def _run(self, configs: Configs) -> tuple[float, float]:
        problem, runs = self.problem, self._runs
        stages = np.arange(problem.stages)
        factor = problem.noise.draw(self._rng, self._rng, runs, problem.stages)
        cost = (problem.costs.cost[stages, configs] * factor).sum(axis=1).mean()
        ends = [longest_path(problem.edges, list(ticks)) for ticks in problem.latency_ticks[stages, configs] * factor]
        return float(cost), float(np.quantile(ends, PERCENTILE))

    def best_first(self) -> NDArray[np.intp]:
        """Return the points from best to worst: the feasible ones by cost, then the others by latency [N]."""
        late = self.excess > 0
        return np.lexsort((np.where(late, self.latency, self.cost), late))

    def pool(self, number: int) -> Levels:
        """Draw `number` points, half anywhere, half close to the best so far; return the distinct new ones [M, D]."""
        rng, sizes = self._rng, self.sizes
        drawn = rng.integers(0, sizes, (number, len(sizes)))
        if len(self.levels):
            near = self.levels[rng.choice(self.best_first()[:ELITE], number // 2)]
            changed = rng.random(near.shape) < CHANGES / len(sizes)
            drawn[: len(near)] = np.where(changed, drawn[: len(near)], near)
        known = {tuple(row) for row in self.levels.tolist()}
        fresh = [row for row in dict.fromkeys(map(tuple, drawn.tolist())) if row not in known]
        return np.array(fresh, np.int64).reshape(-1, len(sizes))
