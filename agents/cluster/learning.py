"""What the commands that learn need of the training cluster."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from ...envs.cluster.mdp.options import EnvOptions
from ...policies.cluster.index_net import LearnedIndex
from ...scenarios.cluster.catalog import WORLD
from ...scenarios.errors import InputError
from ..checkpoints.network_kinds import CLUSTER_SCORER
from ..recipes.es import EsOptions
from .es_run import IndexRun
from .task import ClusterTask


class ClusterLearning:
    """See `learning.LearningKind`."""

    name = WORLD
    scorer = CLUSTER_SCORER
    base = ""
    options = EnvOptions
    es_options = EsOptions()
    improved = LearnedIndex

    def task(self, source: Any, teacher: Any, base: Any, options: Mapping[str, Any], window_s: float) -> ClusterTask:
        """Episodes last until all jobs are done, whatever `window_s`."""
        return ClusterTask(source, teacher, base or teacher, EnvOptions(**options))

    def search(self, sources: Sequence[Any], teacher: Any, options: EsOptions, **asked: Any) -> IndexRun:
        """An index over the order of the teacher, on one scenario. Raises `InputError`."""
        if len(sources) != 1:
            names = ", ".join(source.name for source in sources)
            raise InputError(f"scenarios {names}; legal for a cluster: one")
        if not hasattr(sources[0], "bins"):
            told = f"scenario '{sources[0].name}' is the same world for every seed"
            raise InputError(f"{told}; nothing is learned from it")
        return IndexRun(sources[0], teacher, options, **asked)
