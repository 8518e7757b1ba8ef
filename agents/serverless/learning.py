"""What the commands that learn need of the serverless platform."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from ...envs.serverless.mdp.options import ServerlessOptions
from ...policies.serverless.esg.learned import LearnedEsg
from ...policies.serverless.esg.replanning import Esg
from ...scenarios.errors import InputError
from ...scenarios.serverless.catalog import WORLD
from ...scenarios.serverless.source import ServerlessSynthetic
from ..checkpoints.network_kinds import SERVERLESS_SCORER
from ..recipes.es import EsOptions
from .es_run import OPTIONS, EsgRun
from .task import ServerlessTask


class ServerlessLearning:
    """See `learning.LearningKind`."""

    name = WORLD
    scorer = SERVERLESS_SCORER
    base = "min-config"
    options = ServerlessOptions
    es_options = OPTIONS
    improved = LearnedEsg

    def task(self, source: Any, teacher: Any, base: Any, options: Mapping[str, Any], window_s: float) -> ServerlessTask:
        """Episodes are windows of `window_s` seconds."""
        return ServerlessTask(source, teacher, base, ServerlessOptions(**options), window_s)

    def search(self, sources: Sequence[Any], teacher: Any, options: EsOptions, **asked: Any) -> EsgRun:
        """The levers of ESG, on one scenario or several. Raises `InputError`."""
        for source in sources:
            if not isinstance(source, ServerlessSynthetic):
                raise InputError(f"scenario '{source.name}'; legal: drawn worlds of a serverless platform")
        if not isinstance(teacher, Esg):
            name = getattr(teacher, "name", teacher)
            raise InputError(f"teacher '{name}'; legal for es on a serverless platform: esg, perhaps with knobs")
        return EsgRun(tuple(sources), teacher, options, **asked)
