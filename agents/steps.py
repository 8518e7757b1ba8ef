"""Steps of a demonstration in either world: what an expert saw, its action and scores, and the result."""

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
    """The observation after an episode's last step, and whether the episode terminated or was truncated."""

    observation: dict[str, NDArray[Any]]
    terminated: bool


@dataclass(frozen=True)
class MicroStep:
    """One action of an expert, what it saw, and the result."""

    observation: dict[str, NDArray[Any]]
    mask: NDArray[np.bool_]
    action: int
    score: NDArray[np.float32]
    """The expert's score per action, -inf where it has none; in the cluster minus a cell's log slowdown."""
    exact: bool
    """Whether the action does exactly what the expert planned."""
    reward: float
    """Raw reward of the action that was taken."""
    ending: Ending | None = None
    """Only set for the last step."""


def obey(seen: dict[str, NDArray[Any]], action: int) -> int:
    """Take the expert's action."""
    return action
