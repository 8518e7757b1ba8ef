"""What the single and the batched face have in common: spaces, resets, actions, infos, refusals."""

from __future__ import annotations

from typing import Any

import numpy as np
from gymnasium import spaces
from numpy.typing import NDArray

from ..scenarios.errors import InputError
from .kind import Kind
from .lanes import Batch
from .options import IllegalAction
from .process import Process
from .programs import EXTRA, ILLEGAL, OVERFLOW, REWARD, TERMINATED, TIME_S, TRUNCATED

Observation = dict[str, Any]
"""Part name -> flat array."""
MOST = 50.0
"""Bound of observation features; scaled values stay well inside it."""


def observation_space(process: Process) -> spaces.Dict:
    """One flat Box per part, and the mask."""
    parts: dict[str, spaces.Space[Any]] = {
        name: spaces.Box(-MOST, MOST, (size,), np.float32) for name, size in process.sizes.items() if size
    }
    parts["action_mask"] = spaces.Box(0, 1, (process.actions,), np.int8)
    return spaces.Dict(parts)


def observe(batch: Batch, lane: int) -> Observation:
    """Observation of one lane (copies)."""
    parts: Observation = {name: part[lane].copy() for name, part in batch.parts.items()}
    parts["action_mask"] = batch.mask[lane].astype(np.int8)
    return parts


def rewards(kind: Kind, result: NDArray[Any]) -> NDArray[np.float64]:
    """What learners get [...] for results [..., columns]."""
    reward = result[..., REWARD] / kind.reward_scale
    if kind.options.illegal_action is IllegalAction.PENALTY:
        reward = reward - kind.options.illegal_penalty * (result[..., ILLEGAL] > 0)
    return reward


def ends(result: NDArray[Any]) -> tuple[NDArray[np.bool_], NDArray[np.bool_]]:
    """(terminated [...], truncated [...])."""
    return result[..., TERMINATED] > 0, result[..., TRUNCATED] > 0


def told(process: Process, result: NDArray[Any]) -> tuple[dict[str, NDArray[Any]], dict[str, NDArray[Any]]]:
    """(figures of `info`, terms of the reward) by name, from results [..., columns]."""
    info: dict[str, NDArray[Any]] = {
        "reward_raw": result[..., REWARD].copy(),
        "time_s": result[..., TIME_S].copy(),
        "illegal": result[..., ILLEGAL] > 0,
    }
    terms: dict[str, NDArray[Any]] = {}
    for k, column in enumerate(process.columns, EXTRA):
        value = result[..., k]
        (terms if column.term else info)[column.name] = value.astype(np.int32) if column.kind is int else value.copy()
    return info, terms


def draw_world(rng: np.random.Generator, worlds: int, options: dict[str, Any] | None) -> tuple[int, NDArray[np.uint32]]:
    """(index of a world, key [2]) of the next episode. Raises `InputError` for options that are not known."""
    given = dict(options or {})
    world = given.pop("world", None)
    if given:
        raise InputError(f"reset option '{next(iter(given))}'; legal: world")
    drawn, key = int(rng.integers(worlds)), rng.integers(2**32, size=2, dtype=np.uint32)
    if world is None:
        return drawn, key
    if not isinstance(world, int | np.integer) or not 0 <= world < worlds:
        raise InputError(f"world = {world}; legal: a whole number, 0 to {worlds - 1}")
    return int(world), key


def as_action(action: Any) -> int:
    """A whole number from whatever a learner hands over. Raises `InputError`."""
    try:
        number = int(action)
        exact = number == action
    except (TypeError, ValueError, OverflowError):
        exact = False
        number = 0
    if not exact or abs(number) >= 2**31:
        raise InputError(f"action = {action!r}; legal: a whole number")
    return number


def refuse_illegal(kind: Kind, number: int, mask: NDArray[np.bool_]) -> None:
    """Raises `InputError` for an action that the mask [actions] does not allow."""
    actions = len(mask)
    if not 0 <= number < actions:
        raise InputError(f"action = {number}; legal: 0 to {actions - 1}, where the mask is 1")
    if not mask[number]:
        raise InputError(f"action {number}, {kind.describe(number)}, is not legal here; the mask says which are")


def refuse_overflow(kind: Kind, batch: Batch) -> None:
    """Raises `InputError` where a lane ran out of room."""
    if (batch.result[:, OVERFLOW] > 0).any():
        raise InputError(kind.advice)
