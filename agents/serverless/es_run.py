"""Training of the learned ESG as a run in a folder (`recipes.es_run.run_es`): settings, expert, search."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from functools import cached_property
from typing import Any

from ...policies.serverless.esg.learned import HIDDEN, LearnedEsg
from ...policies.serverless.esg.replanning import Esg
from ...scenarios.checks import check_whole
from ...scenarios.errors import InputError
from ...scenarios.serverless.source import ServerlessSynthetic
from ..checkpoints.checkpoint import Checkpoint
from ..checkpoints.policies import esg_checkpoint
from ..recipes.es import EsOptions, EsState, Weights
from ..recipes.es_run import RECIPE, training_of
from .objective import EsgObjective, Windows

OPTIONS = EsOptions(generations=80, pairs=8, worlds=8, sigma=0.1, learning_rate=0.06)
"""Search options, chosen on validation worlds."""
SETTINGS = (
    "overload",
    "strict-heavy",
    "burst",
    "strict-light",
    "moderate-normal",
    "relaxed-heavy",
    "tight-normal",
    "fork-join",
)
"""Settings on which the policy of the docs was trained, in this order."""


@dataclass(frozen=True)
class EsgRun:
    """Defines the network, the expert and the settings. Raises `InputError` if the parts do not fit together."""

    sources: tuple[ServerlessSynthetic, ...]
    expert: Esg
    options: EsOptions = OPTIONS
    hidden: int = HIDDEN
    validation_worlds: int = 4
    """Number of validation worlds per setting."""
    init: LearnedEsg | None = None
    """A learned ESG to start from, instead of the unchanged expert."""
    windows: Windows = Windows()

    def __post_init__(self) -> None:
        check_whole("hidden", self.hidden, 1, 1024)
        check_whole("validation_worlds", self.validation_worlds, 1, 10_000)
        LearnedEsg(self.expert, self.start)  # refuses an expert that is not ESG
        if self.init is not None and self.init.expert.name != self.expert.name:
            raise InputError(f"init is learned over {self.init.expert.name}; legal: over {self.expert.name}")
        if self.init is not None and self.init.weights["b1"].size != self.hidden:
            raise InputError(f"init has {self.init.weights['b1'].size} hidden units, not {self.hidden}")

    @property
    def objective(self) -> EsgObjective:
        """What is searched."""
        return self._objective

    @cached_property
    def _objective(self) -> EsgObjective:
        return EsgObjective(self.sources, self.expert, self.hidden, self.validation_worlds, self.windows)

    @property
    def start(self) -> Weights:
        """Weights before the first generation."""
        return dict(self.init.weights) if self.init else self.objective.start(self.options.seed)

    @property
    def asked(self) -> dict[str, Any]:
        """All settings that affect the result, as plain values."""
        return {
            "recipe": RECIPE,
            "scenario": ",".join(source.name for source in self.sources),
            "teacher": self.expert.name,
            "hidden": self.hidden,
            "init": self.init.name if self.init else "",
            **asdict(self.options),
            **asdict(self.windows),
        }

    def checkpoint(self, state: EsState, validation: Mapping[str, float]) -> Checkpoint:
        """Make the checkpoint of the search's current result."""
        training = training_of(self.asked, tuple(source.name for source in self.sources), state, validation)
        return esg_checkpoint(self.expert, state.result, training)
