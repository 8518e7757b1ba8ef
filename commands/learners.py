"""What `varigym train --algo NAME` can run; each learner is a command with options of its own."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from ..scenarios.registry import Registry
from .folder_run import FolderRun
from .named import option_in
from .train_es import TrainEs
from .train_ppo import TrainPpo

USUAL = "es"


@dataclass(frozen=True)
class Learner:
    """A catalog entry."""

    name: str
    command: type[FolderRun]
    """A frozen dataclass with `out`, `algo` and `run()`; its other fields are the options."""
    about: str


LEARNERS: Registry[Learner] = Registry.of(
    "learner",
    Learner("es", TrainEs, "evolution strategies over whole episodes, for a cluster's order or ESG's levers"),
    Learner("ppo", TrainPpo, "masked proximal policy optimisation of a network that scores every action"),
)


def add_learner(entry: Learner) -> None:
    """Add a learner, so that `varigym train --algo NAME` runs it. Raises `InputError` for a taken name."""
    LEARNERS.add(entry.name, entry)


def learner_of(words: Sequence[str]) -> type[FolderRun]:
    """The command that the words of `train` ask for by `--algo`. Raises `InputError` for an unknown name."""
    named = option_in(words, "--algo")
    return LEARNERS.find(USUAL if named is None else named).command
