"""Options of the recipes, apart from torch, so that the command can show them at once."""

from __future__ import annotations

from dataclasses import dataclass, replace

from ...scenarios.checks import as_whole, check_number

USUAL_STAGE = 16
"""Updates of a stage where nothing says otherwise."""
MOST = {"episodes": 100_000, "validation_worlds": 10_000, "width": 4096, "lanes": 4096, "worlds": 100_000}
"""Largest sizes that are taken; a slip of the finger is refused before memory is asked for."""


@dataclass(frozen=True)
class ImitateOptions:
    """How to imitate. Raises `InputError` for what is not legal."""

    episodes: int = 10
    """Train worlds that the teacher shows; as many in every round of DAgger."""
    epochs: int = 16
    """Passes over the data, in every round."""
    updates: int = 1500
    """Least gradient steps of a round: where data are few, batches are smaller."""
    dagger: int = 0
    """Rounds in which the learner acts and the teacher says what it would have done."""
    soft: float = 0.0
    """Temperature at which the teacher's scores become probabilities to imitate; 0: its actions alone."""
    batch: int = 128
    """States of a gradient step, at most."""
    learning_rate: float = 3e-3
    """At its height: it rises at first, and falls to nothing in the end."""
    width: int = 64
    """Hidden units."""
    most: int = 5000
    """Steps that are kept of an episode."""
    validation_worlds: int = 4
    """Validation worlds on whose states the agreement is watched."""
    seed: int = 0

    def __post_init__(self) -> None:
        least = {"dagger": 0, "seed": 0, "episodes": 1, "epochs": 1, "updates": 0, "batch": 1, "width": 2, "most": 1}
        for name, value in (least | {"validation_worlds": 1}).items():
            object.__setattr__(self, name, as_whole(name, getattr(self, name), value, MOST.get(name)))
        check_number("soft", self.soft, 0)
        check_number("learning_rate", self.learning_rate, 0, above=True)


@dataclass(frozen=True)
class PpoOptions:
    """How to improve by proximal policy optimisation. Raises `InputError` for what is not legal."""

    steps: int = 400_000
    """Decisions to learn from, in all lanes together; rounded up to whole stages."""
    lanes: int = 32
    """Episodes that run side by side."""
    worlds: int = 32
    """Train worlds."""
    rollout: int = 64
    """Decisions of a lane between two updates."""
    stage: int = 0
    """Updates between two states on disk; every stage begins with new episodes and lots of its own, so it should last
    for most of one. 0: as many as usual for the kind of world, 16 or 64."""
    batch: int = 512
    epochs: int = 4
    """Passes over a rollout."""
    learning_rate: float = 3e-4
    """At first; it falls linearly to a tenth of that."""
    gamma: float = 1.0
    """Discount per decision."""
    gae_lambda: float = 0.95
    clip: float = 0.2
    entropy: float = 0.0
    """Weight of the entropy bonus."""
    pull: float = 0.1
    """Weight at first of the cross-entropy to the policy that --init gave; nothing without one."""
    pull_share: float = 0.5
    """Share of the run over which that weight falls to 0."""
    floor: float = 1e-3
    """Advantages are divided by their standard deviation, or by this where that is smaller."""
    width: int = 64
    """Hidden units; those of --init where there is one."""
    seed: int = 0

    def __post_init__(self) -> None:
        for name in ("steps", "lanes", "worlds", "rollout", "batch", "epochs", "width"):
            object.__setattr__(self, name, as_whole(name, getattr(self, name), 1, MOST.get(name)))
        for name in ("stage", "seed"):
            object.__setattr__(self, name, as_whole(name, getattr(self, name), 0))
        for name in ("learning_rate", "floor", "clip"):
            check_number(name, getattr(self, name), 0, above=True)
        for name in ("gamma", "gae_lambda", "pull_share"):
            check_number(name, getattr(self, name), 0, 1)
        for name in ("entropy", "pull"):
            check_number(name, getattr(self, name), 0)

    def staged(self, usual: int) -> PpoOptions:
        """With `usual` updates per stage where no number is given."""
        return replace(self, stage=self.stage or usual)

    @property
    def stages(self) -> int:
        """How many there are."""
        return -(-self.steps // self.stage_steps)

    @property
    def stage_steps(self) -> int:
        """Decisions of all lanes in a stage."""
        return self.lanes * self.rollout * (self.stage or USUAL_STAGE)
