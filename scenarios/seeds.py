"""Seeds of worlds: the ranges and their uses, and separate random generators for each purpose within a world."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from .errors import InputError

LAST_SEED = 2**31 - 1


@dataclass(frozen=True)
class Seeds:
    """A range of seeds, first to last."""

    first: int
    last: int
    use: str


TRAIN = Seeds(0, 99_999, "train: learners fit on these, and schedulers may know their jobs as history")
VALIDATION = Seeds(100_000, 199_999, "validation: every choice is made on these")
HELD_OUT = Seeds(200_000, LAST_SEED, "held-out: reported results come from these alone")


def check_seed(seed: int) -> None:
    """Raise `InputError` for a seed outside the seed table."""
    if not 0 <= seed <= LAST_SEED:
        raise InputError(f"seed = {seed}; legal: 0 to {LAST_SEED}")


def rng_of(seed: int, purpose: int) -> np.random.Generator:
    """Return the random generator of one purpose in the world of `seed`. Raises `InputError` for an illegal seed."""
    check_seed(seed)
    return np.random.default_rng([seed, purpose])
