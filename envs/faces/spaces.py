"""Code shared by the single and the batched interface: spaces, resets, actions, infos, refusals of illegal input."""

from __future__ import annotations

import warnings
from collections.abc import Iterable
from typing import Any

import numpy as np
from gymnasium import spaces
from numpy.typing import NDArray

from ...scenarios.checks import as_whole
from ...scenarios.errors import InputError, legal_names
from ..kind import Kind
from ..lanes.batch import Batch
from ..options import IllegalActionWarning
from ..process import Process

Observation = dict[str, Any]
"""Part name -> flat array."""
ILLEGAL_ACTIONS = "illegal_actions"
"""Name of a metric of an episode that was stepped: the number of its illegal actions."""
MOST = 50.0
"""Bound of observation features; scaled values stay well within it."""


def observation_space(process: Process) -> spaces.Dict:
    """Return the space of observations: one flat Box per part, and the mask."""
    parts: dict[str, spaces.Space[Any]] = {
        name: spaces.Box(-MOST, MOST, (size,), np.float32) for name, size in process.sizes.items() if size
    }
    parts["action_mask"] = spaces.Box(0, 1, (process.actions,), np.int8)
    return spaces.Dict(parts)


def observe(batch: Batch, lane: int) -> Observation:
    """Return copies of one lane's observation."""
    parts: Observation = {name: part[lane].copy() for name, part in batch.parts.items()}
    parts["action_mask"] = batch.mask[lane].astype(np.int8)
    return parts


def reported(process: Process, values: Iterable[Any]) -> dict[str, Any]:
    """Return the process's own part of `info`: one value per column, with reward terms in a separate dictionary."""
    info: dict[str, Any] = {}
    terms: dict[str, Any] = {}
    for column, value in zip(process.columns, values, strict=True):
        (terms if column.term else info)[column.name] = value
    return info | ({"reward_terms": terms} if terms else {})


def reset_options(given: Any, *legal: str) -> dict[str, Any]:
    """Return a copy of the options of a reset. Raises `InputError` for unknown names."""
    if given is None:
        return {}
    if not isinstance(given, dict):
        raise InputError(f"reset options = {given!r}; legal: a dictionary of {', '.join(legal)}")
    for name in given:
        if name not in legal:
            raise InputError(f"reset option {name!r}; {legal_names(name, legal)}")
    return dict(given)


def as_seed(seed: Any, name: str = "seed") -> int | None:
    """Check a seed; None means no seed. Raises `InputError` if it is not a whole number >= 0."""
    return None if seed is None else as_whole(name, seed, 0)


def as_world(world: Any, worlds: int, name: str = "world") -> int | None:
    """Check an index into the bank; None means a random draw. Raises `InputError` if it is out of range."""
    return None if world is None else as_whole(name, world, 0, worlds - 1)


def draw_world(rng: np.random.Generator, worlds: int, asked: int | None) -> tuple[int, NDArray[np.uint32]]:
    """Return (index of a world, key [2]) for the next episode; requesting a world does not change later draws."""
    drawn, key = int(rng.integers(worlds)), rng.integers(2**32, size=2, dtype=np.uint32)
    return drawn if asked is None else asked, key


def as_action(action: Any) -> int:
    """Convert a learner's action to an int; 3.0 is accepted, True is not. Raises `InputError` if it is not whole."""
    if type(action) is int:
        return action
    try:
        number = int(action) if np.ndim(action) == 0 else 0
        exact = np.ndim(action) == 0 and bool(number == action) and np.asarray(action).dtype != bool
    except (TypeError, ValueError, OverflowError):
        exact, number = False, 0
    if not exact:
        raise InputError(f"action = {action!r}; legal: a whole number")
    return number


def warn_of_illegal(kind: Kind, lane: str = "") -> None:
    """Warn that an illegal action was given, and say how to find the legal ones."""
    warnings.warn(
        f"{lane}an illegal action counts as {kind.idle}; the observation's 'action_mask' says which are legal: "
        "env.action_space.sample(observation['action_mask']) draws one, and learners such as "
        "sb3-contrib's MaskablePPO take the mask (illegal_action='error' raises instead)",
        IllegalActionWarning,
        stacklevel=3,
    )


def refuse_illegal(kind: Kind, number: int, mask: NDArray[np.bool_], lane: str = "") -> None:
    """Raise `InputError` for an action that the mask [actions] does not allow."""
    actions = len(mask)
    if not 0 <= number < actions:
        raise InputError(f"{lane}action = {number}; legal: 0 to {actions - 1}, where the mask is 1")
    if not mask[number]:
        said = kind.describe(number)
        raise InputError(f"{lane}action {number}, {said}, is not legal here; the mask says which are")
