"""What a data set must be, whoever made it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from ...scenarios.errors import InputError
from ..checkpoints.files import shown

if TYPE_CHECKING:
    from .dataset import Dataset, Endings

MASK = "action_mask"
COLUMNS: Mapping[str, tuple[type[np.generic], int]] = {
    "action": (np.int64, 1),
    "score": (np.float32, 2),
    "return_to_go": (np.float64, 1),
    "episode": (np.int32, 1),
    "exact": (np.bool_, 1),
}
"""Name -> type, axes."""


def check_dataset(data: Dataset) -> None:
    """Raises `InputError` for shapes, types and values that cannot be."""
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
