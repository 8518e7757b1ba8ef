"""Steps of a demonstration: what an expert saw, would do and prefers, in either world, and what followed."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

Follow = Callable[[dict[str, NDArray[Any]], int], int]
"""(observation, the expert's action) -> the action that is taken."""


@dataclass(frozen=True)
class Ending:
    """What is seen after the last step of an episode, and whether it was the end or time had run out."""

    observation: dict[str, NDArray[Any]]
    terminated: bool


@dataclass(frozen=True)
class MicroStep:
    """One action of an expert, what it saw, and what followed."""

    observation: dict[str, NDArray[Any]]
    mask: NDArray[np.bool_]
    action: int
    score: NDArray[np.float32]
    """Preference per action: minus the log slowdown of each legal cell of the job in hand, -inf for all others."""
    exact: bool
    """The action does precisely what the expert planned."""
    reward: float
    """Raw reward of the action that was taken."""
    ending: Ending | None = None
    """Of the last step."""


def obey(seen: dict[str, NDArray[Any]], action: int) -> int:
    """Take the expert's action."""
    return action
