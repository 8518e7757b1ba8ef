"""Options of the recipes, apart from torch, so that the command can show them at once."""

from __future__ import annotations

from dataclasses import dataclass

from ..scenarios.checks import as_whole, check_number


@dataclass(frozen=True)
class ImitateOptions:
    """How to imitate. Raises `InputError` for what is not legal."""

    episodes: int = 10
    """Train worlds that the teacher shows; as many in every round of DAgger."""
    epochs: int = 6
    """Passes over the data, in every round."""
    dagger: int = 0
    """Rounds in which the learner acts and the teacher says what it would have done."""
    soft: float = 0.0
    """Temperature at which the teacher's scores become probabilities to imitate; 0: its actions alone."""
    batch: int = 128
    learning_rate: float = 3e-3
    width: int = 64
    """Hidden units."""
    most: int = 5000
    """Steps that are kept of an episode."""
    validation_worlds: int = 4
    """Validation worlds on whose states the agreement is watched."""
    seed: int = 0

    def __post_init__(self) -> None:
        least = {"dagger": 0, "seed": 0, "episodes": 1, "epochs": 1, "batch": 1, "width": 2, "most": 1}
        for name, value in (least | {"validation_worlds": 1}).items():
            object.__setattr__(self, name, as_whole(name, getattr(self, name), value))
        check_number("soft", self.soft, 0)
        check_number("learning_rate", self.learning_rate, 0, above=True)
