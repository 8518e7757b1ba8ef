"""Orion's planner: chooses the sizes of all stages before a workflow starts, by a model of its P95 latency.

Mahgoub et al., "Orion and the Three Rights", OSDI 2022. The released code climbs greedily: it starts with the smallest
memory for all functions and repeats the single step that lowers the P95 most, until that is on target or 10,000 steps
were made. As we recall, the paper searches best-first. Both are available; our adaptations (spec e.4):

- a state is (batch, vCPU, vGPU) per stage, not memory. A step raises the vCPUs or the vGPUs of a stage to the next
  value of the grid, or lowers its batch to the next smaller one;
- so the smallest size is the one with the fewest vCPUs and vGPUs *per job*: the search begins with the smallest shares
  and the largest batch, from which every configuration can be reached. `most_batch` sets a smaller first batch;
- best-first search expands the cheapest state first and returns the first state on target. It need not be the optimum,
  because a step may make a job cheaper (more vCPUs can shorten the time for which vGPUs are paid);
- if no state is on target, or the budget ends first, the plan is the visited state with the least P95.
"""

from __future__ import annotations

import heapq
import math
from collections.abc import Iterator
from dataclasses import dataclass
from enum import StrEnum
from time import perf_counter

from ....scenarios.checks import as_member, check_whole
from .endtoend import LatencyModel
from .problem import Configs, PlanProblem


class Search(StrEnum):
    """How Orion searches for a plan."""

    GREEDY = "greedy"
    BEST_FIRST = "best-first"


BUDGETS = {Search.GREEDY: 10_000, Search.BEST_FIRST: 2_000}
"""Expansions after which a search stops; the value of the best-first search is our choice, to be swept."""


@dataclass(frozen=True)
class OrionPlan:
    """A static plan, and the effort to find it."""

    configs: Configs
    p95_ticks: float
    """P95 latency by Orion's model."""
    cost_usd: float
    """Cost per request, at mean latencies."""
    feasible: bool
    """Whether the P95 is on target."""
    expansions: int
    """Number of states whose steps were all evaluated."""
    ms: float
    """Wall time of the search; it does not count as simulated time."""


@dataclass(frozen=True)
class _Found:
    configs: Configs
    p95_ticks: float
    expansions: int


def plan_orion(
    problem: PlanProblem, search: Search | str = Search.GREEDY, budget: int | None = None, most_batch: int | None = None
) -> OrionPlan:
    """Plan one workflow. The search begins with the batch `most_batch` (default: the largest of the grid)."""
    how = as_search(search)
    limit = BUDGETS[how] if budget is None else budget
    check_whole("budget", limit, 0, 10**9)
    largest = problem.grid.batches[-1] if most_batch is None else most_batch
    start = (problem.grid.index(largest, problem.grid.vcpus[0], problem.grid.vgpus[0]),) * problem.stages
    began = perf_counter()
    found = (_greedy if how is Search.GREEDY else _best_first)(problem, LatencyModel(problem), start, limit)
    return OrionPlan(
        configs=found.configs,
        p95_ticks=found.p95_ticks,
        cost_usd=problem.cost_usd(found.configs),
        feasible=found.p95_ticks <= problem.slo_ticks,
        expansions=found.expansions,
        ms=(perf_counter() - began) * 1000,
    )


def as_search(value: Search | str) -> Search:
    """Convert a name to a `Search`. Raises `InputError` if it is unknown."""
    return as_member("search", value, Search)


def steps(problem: PlanProblem, configs: Configs) -> Iterator[Configs]:
    """Yield the plans one step away: for each stage more vCPUs, more vGPUs, a smaller batch."""
    _, vcpus, vgpus = problem.axes
    for stage, config in enumerate(configs):
        moves = (
            vgpus if config // vgpus % vcpus < vcpus - 1 else 0,
            1 if config % vgpus < vgpus - 1 else 0,
            -vcpus * vgpus if config >= vcpus * vgpus else 0,
        )
        for move in moves:
            if move:
                yield (*configs[:stage], config + move, *configs[stage + 1 :])


def _greedy(problem: PlanProblem, model: LatencyModel, start: Configs, budget: int) -> _Found:
    """Repeat the step that lowers the P95 most; ties go to the cheaper plan, then to the lower numbers."""
    at, p95, expansions = start, model.percentile(start), 0
    while p95 > problem.slo_ticks and expansions < budget:
        expansions += 1
        least = min(((model.percentile(to), problem.cost(to), to) for to in steps(problem, at)), default=None)
        if least is None or least[0] >= p95:
            break
        p95, _, at = least
    return _Found(at, p95, expansions)


def _best_first(problem: PlanProblem, model: LatencyModel, start: Configs, budget: int) -> _Found:
    """Visit the cheapest new state repeatedly; ties go to the lower numbers."""
    queue, seen, expansions = [(problem.cost(start), start)], {start}, 0
    least = (math.inf, start)
    while queue:
        _, at = heapq.heappop(queue)
        least = min(least, (model.percentile(at), at))
        if least[0] <= problem.slo_ticks or expansions == budget:
            break
        expansions += 1
        for to in steps(problem, at):
            if to not in seen:
                seen.add(to)
                heapq.heappush(queue, (problem.cost(to), to))
    return _Found(least[1], least[0], expansions)
