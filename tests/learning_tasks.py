"""Small learning tasks of both kinds, for tests of learners."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cache
from typing import Any

import numpy as np
import varigym
from serverless_small import small_world
from varigym.agents.cluster.task import ClusterTask
from varigym.agents.serverless.task import ServerlessTask
from varigym.agents.task import LearningTask
from varigym.envs.cluster.mdp.options import EnvOptions
from varigym.envs.serverless.mdp.options import ServerlessOptions
from worlds import LEVELS, SmallJob, small_scenario

BINS = np.tile(np.repeat(LEVELS[:3], 3), (2, 1))
PROMISED = small_world(0).workflows
OPTIONS = EnvOptions(window=8)
"""Of cluster environments in tests of learners, over banks of two worlds: all share their programs."""


@dataclass(frozen=True)
class Drawn:
    """A source of few distinct small worlds, the seed modulo their number."""

    name: str = "small"
    cluster: bool = True

    def build(self, seed: int) -> Any:
        return cluster_world(seed % 5) if self.cluster else replace(small_world(seed % 5), workflows=PROMISED)

    def history(self) -> None:
        return None


@cache
def cluster_world(w: int) -> Any:
    jobs = [SmallJob(20 * k, 1 + (5 * k + w) % 9, 50 + 60 * (k % 4), k % 2) for k in range(8)]
    return small_scenario(jobs, pm_bin=BINS)


@cache
def task_of(cluster: bool) -> LearningTask:
    if cluster:
        expert = varigym.find_policy("fifo+pal")
        return ClusterTask(Drawn(), expert, expert, OPTIONS)
    base = varigym.find_scheduler("min-config")
    return ServerlessTask(Drawn(cluster=False), varigym.find_scheduler("esg"), base, ServerlessOptions(log=True))
