"""Data sets of demonstrations: observations, legal actions, experts' actions and scores, returns to go."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from importlib import metadata
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ...scenarios.errors import InputError
from ..checkpoints.files import shown

MASK = "action_mask"
COLUMNS: Mapping[str, tuple[type[np.generic], int]] = {
    "action": (np.int64, 1),
    "score": (np.float32, 2),
    "return_to_go": (np.float64, 1),
    "episode": (np.int32, 1),
    "exact": (np.bool_, 1),
}
"""Column name -> (type, number of axes)."""


@dataclass(frozen=True, eq=False)
class Endings:
    """The endings of whole episodes: those in which the expert acted and the data hold every step."""

    parts: Mapping[str, NDArray[np.float32]]
    terminated: NDArray[np.bool_]


@dataclass(frozen=True, eq=False)
class Dataset:
    """Steps of episodes; `dataset_file` describes the columns. Raises `InputError` if they do not fit together."""

    parts: Mapping[str, NDArray[np.float32]]
    action: NDArray[np.int64]
    score: NDArray[np.float32]
    return_to_go: NDArray[np.float64]
    episode: NDArray[np.int32]
    exact: NDArray[np.bool_]
    seeds: tuple[int, ...]
    """Seeds of the worlds, one episode each."""
    facts: Mapping[str, Any]
    """Of the learning task."""
    version: str = metadata.version("varigym")
    endings: Endings | None = None
    """None if steps were left out, or if another policy than the expert acted."""

    def __post_init__(self) -> None:
        check_dataset(self)

    def __len__(self) -> int:
        return len(self.action)

    def rows(self, at: NDArray[Any]) -> Dataset:
        """Return some of the steps."""
        columns = {name: getattr(self, name)[at] for name in COLUMNS}
        return replace(self, parts={name: part[at] for name, part in self.parts.items()}, endings=None, **columns)


def joined(one: Dataset, other: Dataset) -> Dataset:
    """Both, the episodes of `other` after those of `one`. Raises `InputError` where they are of other tasks."""
    refuse_unlike(other, one.facts)
    columns: dict[str, Any] = {n: np.concatenate([getattr(one, n), getattr(other, n)]) for n in COLUMNS}
    columns["episode"][len(one) :] += len(one.seeds)
    parts = {name: np.concatenate([part, other.parts[name]]) for name, part in one.parts.items()}
    endings = _joined_endings(one.endings, other.endings)
    return replace(one, parts=parts, seeds=(*one.seeds, *other.seeds), endings=endings, **columns)


def _joined_endings(one: Endings | None, other: Endings | None) -> Endings | None:
    if one is None or other is None:
        return None
    parts = {name: np.concatenate([part, other.parts[name]]) for name, part in one.parts.items()}
    return Endings(parts, np.concatenate([one.terminated, other.terminated]))


def refuse_unlike(data: Dataset, facts: Mapping[str, Any]) -> None:
    """Raises `InputError` where data were recorded in another task than that of `facts`."""
    for name in sorted({*data.facts, *facts}, key=lambda name: (name != "scenario", name)):
        theirs, ours = data.facts.get(name), facts.get(name)
        if theirs != ours:
            raise InputError(f"the data are of {name} = {shown(theirs)}, not {shown(ours)}")


def check_dataset(data: Dataset) -> None:
    """Raise `InputError` for illegal shapes, types and values."""
    for name, (kind, axes) in COLUMNS.items():
        _check_array(name, getattr(data, name), np.dtype(kind), axes, len(data.action))
    for name, part in data.parts.items():
        _check_array(f"part {name}", part, np.dtype(np.float32), 2, len(data.action))
        if not np.isfinite(part).all():
            raise InputError(f"part {name} is not finite; legal: finite numbers")
    mask = data.parts.get(MASK)
    if not len(data) or mask is None or data.score.shape != mask.shape:
        raise InputError(f"steps without {MASK}, or scores of another number of actions; legal: at least one step")
    if ((data.action < 0) | (data.action >= mask.shape[1])).any():
        raise InputError(f"an action is not within 0 to {mask.shape[1] - 1}")
    if not (np.isin(mask, (0, 1)).all() and mask[np.arange(len(data)), data.action].all()):
        raise InputError("an action that the expert took is not legal by its mask")
    if np.isnan(data.score).any() or np.isposinf(data.score).any() or not np.isfinite(data.return_to_go).all():
        raise InputError("score or return_to_go is not finite; legal: finite numbers, -inf for no score")
    _check_episodes(data)


def _check_episodes(data: Dataset) -> None:
    if any(not isinstance(seed, int) or isinstance(seed, bool) or seed < 0 for seed in data.seeds):
        raise InputError(f"seeds = {shown(data.seeds)}; legal: whole numbers")
    if ((data.episode < 0) | (data.episode >= len(data.seeds))).any():
        raise InputError(f"an episode is not within 0 to {len(data.seeds) - 1}")
    if data.endings is not None:
        _check_endings(data, data.endings)


def _check_endings(data: Dataset, endings: Endings) -> None:
    episodes = len(data.seeds)
    _check_array("terminated", endings.terminated, np.dtype(np.bool_), 1, episodes)
    if set(endings.parts) != set(data.parts) or not np.array_equal(np.unique(data.episode), np.arange(episodes)):
        raise InputError("endings of other parts or episodes than the steps are; legal: an ending per episode")
    if (np.diff(data.episode) < 0).any():
        raise InputError("episodes with endings are mixed; legal: one after the other")
    for name, part in endings.parts.items():
        _check_array(f"end {name}", part, np.dtype(np.float32), 2, episodes)
        if part.shape[1] != data.parts[name].shape[1] or not np.isfinite(part).all():
            raise InputError(f"end {name} is not finite or of another size than part {name}; legal: as the steps")


def _check_array(name: str, array: NDArray[Any], kind: np.dtype[Any], axes: int, steps: int) -> None:
    if array.dtype != kind or array.ndim != axes or len(array) != steps:
        raise InputError(f"{name} is {array.dtype} {list(array.shape)}; legal: {kind}, {axes} axes, {steps} steps")
