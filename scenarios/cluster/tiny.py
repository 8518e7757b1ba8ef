"""`tiny`: a world small enough to follow by hand; docs/tiny.md draws its Gantt chart."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ..errors import InputError
from ..seeds import check_seed
from .scenario import ClusterScenario, Jobs
from .source import ClusterPlatform, assemble
from .variability.quantiles import CLASSES
from .workloads import Tiny

PM_SCORE = ((1.0, 1.5, 1.0, 1.0), (1.0, 1.2, 1.0, 1.0), (1.0, 1.0, 1.0, 1.0), (1.0, 1.0, 1.0, 1.0))
"""PM scores [C, G]: GPU 1 is slow for class A, and slightly slow for class B."""


@dataclass(frozen=True)
class TinyCluster:
    """2 nodes x 2 GPUs and four jobs; every seed gives the same world."""

    name: str
    platform: ClusterPlatform = ClusterPlatform(nodes=2, gpus_per_node=2, round_s=60.0)
    workload: Tiny = Tiny()

    def build(self, seed: int) -> ClusterScenario:
        """Return the only world of this source."""
        check_seed(seed)
        if (self.platform.nodes, self.platform.gpus_per_node) != (2, 2):
            raise InputError("tiny is 2 nodes x 2 GPUs; its nodes and gpus_per_node cannot be changed")
        scores = np.array(PM_SCORE)
        return assemble(self.name, self.platform, self._jobs(), CLASSES, scores, scores)

    def history(self) -> Jobs:
        """Return the same four jobs as the history."""
        return self._jobs()

    def _jobs(self) -> Jobs:
        return self.workload.draw(np.random.default_rng(0), self.platform.gpus, self.platform.compat)
