"""Training of the learned index as a run in a folder (`recipes.es_run.run_es`): scenario, expert, search."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any

from ...policies.cluster.index_net import HIDDEN, LearnedIndex
from ...policies.cluster.list_policy import ListPolicy
from ...scenarios.checks import check_whole
from ...scenarios.cluster.source import ClusterSynthetic
from ...scenarios.errors import InputError
from ..checkpoints.checkpoint import Checkpoint
from ..checkpoints.policies import index_checkpoint
from ..recipes.es import EsOptions, EsState, Weights, masked
from ..recipes.es_run import RECIPE, training_of
from .objective import IndexObjective


@dataclass(frozen=True)
class IndexRun:
    """Defines the network, the expert and the worlds. Raises `InputError` if the parts do not fit together."""

    source: ClusterSynthetic
    expert: ListPolicy
    options: EsOptions = EsOptions()
    hidden: int = HIDDEN
    validation_worlds: int = 64
    init: LearnedIndex | None = None
    """A learned index to start from, instead of the unchanged expert."""
    frozen: tuple[str, ...] = ()
    """Parts of the network that stay at zero, to measure what they contribute (see `index_parts`)."""

    def __post_init__(self) -> None:
        if not isinstance(self.expert, ListPolicy):
            name = getattr(self.expert, "name", self.expert)
            raise InputError(f"teacher '{name}' is learned itself; legal: ORDER+PLACEMENT; to go on from it: init")
        check_whole("hidden", self.hidden, 1, 1024)
        check_whole("validation_worlds", self.validation_worlds, 1, 10_000)
        self.objective.start(0)
        LearnedIndex(self.expert, self.start)  # refuses an expert that sees more
        if self.init is not None and self.init.expert.name != self.expert.name:
            raise InputError(f"init is an index over {self.init.expert.name}; legal: one over {self.expert.name}")
        if self.init is not None and self.init.weights["b1"].size != self.hidden:
            raise InputError(f"init has {self.init.weights['b1'].size} hidden units, not {self.hidden}")

    @property
    def objective(self) -> IndexObjective:
        """What is searched."""
        return IndexObjective(self.source, self.expert, self.hidden, self.validation_worlds, self.frozen)

    @property
    def start(self) -> Weights:
        """Weights before the first generation."""
        start = dict(self.init.weights) if self.init else self.objective.start(self.options.seed)
        return masked(start, self.objective.mask)

    @property
    def asked(self) -> dict[str, Any]:
        """All settings that affect the result, as plain values."""
        return {
            "recipe": RECIPE,
            "scenario": self.source.name,
            "teacher": self.expert.name,
            "hidden": self.hidden,
            "init": self.init.name if self.init else "",
            **asdict(self.options),
            **({"frozen": ", ".join(self.frozen)} if self.frozen else {}),  # only if set: older runs lack the field
        }

    def checkpoint(self, state: EsState, validation: Mapping[str, float]) -> Checkpoint:
        """Make the checkpoint of the search's current result."""
        training = training_of(self.asked, (self.source.name,), state, validation)
        return index_checkpoint(self.expert, state.result, training)
