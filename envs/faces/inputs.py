"""Checks of what callers pass to a batch per lane: actions, seeds, worlds, and which lanes to reset."""

from __future__ import annotations

from collections.abc import Sequence
from numbers import Integral
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ...scenarios.errors import InputError
from .spaces import as_seed, as_world

MOST_NUMBER = 2**31 - 1


def lane_actions(actions: Any, lanes: int) -> NDArray[np.int32]:
    """Return one action per lane [B]; floats with whole values are accepted. Raises `InputError` otherwise.

    Numbers beyond 32 bits are clipped, and stay outside every action space.
    """
    given = np.asarray(actions)
    if given.shape != (lanes,) or given.dtype.kind not in "iuf":
        raise InputError(
            f"actions have shape {given.shape} and type {given.dtype}; legal: {lanes} whole numbers, one per lane"
        )
    if given.dtype.kind == "f":
        broken = ~np.isfinite(given) | (given != np.floor(given))
        if broken.any():
            lane = int(np.argmax(broken))
            raise InputError(f"lane {lane}: action = {given[lane]}; legal: a whole number")
    return np.clip(given, -1, MOST_NUMBER).astype(np.int32)


def lanes_of(mask: Any, lanes: int) -> NDArray[np.bool_]:
    """Return the mask of lanes to reset [B]; without a mask, all. Raises `InputError` for an illegal mask."""
    if mask is None:
        return np.ones(lanes, bool)
    given = np.asarray(mask)
    if given.shape != (lanes,) or given.dtype.kind not in "biu" or not np.isin(given, (0, 1)).all() or not given.any():
        raise InputError(
            f"reset_mask has shape {given.shape} and type {given.dtype}; legal: {lanes} times True or False, at least "
            "one of them True"
        )
    return given.astype(bool)


def lane_seeds(seed: Any, lanes: int) -> list[int | None]:
    """Return one seed per lane; from a single number, lane i gets `seed + i`. Raises `InputError` for illegal seeds."""
    if seed is None or isinstance(seed, Integral):
        first = as_seed(seed)
        return [None if first is None else first + lane for lane in range(lanes)]
    return [as_seed(own, f"seed of lane {lane}") for lane, own in enumerate(_per_lane("seed", seed, lanes))]


def lane_worlds(given: dict[str, Any], lanes: int, worlds: int) -> list[int | None]:
    """Return the world requested for each lane, None for a random draw. Raises `InputError` for illegal options."""
    if "worlds" not in given or given["worlds"] is None:
        return [as_world(given.get("world"), worlds)] * lanes
    if given.get("world") is not None:
        raise InputError("reset options world and worlds; legal: one of them")
    asked = _per_lane("worlds", given["worlds"], lanes)
    return [as_world(own, worlds, f"world of lane {lane}") for lane, own in enumerate(asked)]


def _per_lane(name: str, values: Any, lanes: int) -> list[Any]:
    listed = isinstance(values, Sequence) and not isinstance(values, str)
    if not (listed or (isinstance(values, np.ndarray) and values.ndim == 1)) or len(values) != lanes:
        raise InputError(f"{name} = {values!r}; legal: one for each of the {lanes} lanes")
    return list(values)
