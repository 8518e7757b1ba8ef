"""Checks states that callers pass in against the environment's own state before anything is restored."""

from __future__ import annotations

import hashlib
from typing import Any

import jax
import numpy as np

from ...scenarios.errors import InputError
from ..kind import Kind


def fingerprint(kind: Kind) -> str:
    """Identify the environment of a state: its kind with options, and a hash of its worlds and data with types."""
    digest = hashlib.sha256()
    for leaf in jax.tree.leaves((kind.bank.worlds, kind.data)):
        array = np.asarray(leaf)
        digest.update(f"{array.dtype}{array.shape}".encode() + array.tobytes())
    return f"{kind.fingerprint}, data {digest.hexdigest()[:12]}"


def refuse_unlike(given: Any, own: Any, name: str = "state") -> None:
    """Raise `InputError` unless `given` has the same keys, lengths, types and shapes as `own`."""
    if type(given) is not type(own):
        raise InputError(f"{name} has type {type(given).__name__}; legal: {type(own).__name__}, as get_state gives it")
    if isinstance(own, dict):
        if given.keys() != own.keys():
            raise InputError(f"{name} has the keys {sorted(map(str, given))}; legal: {sorted(own)}")
        for key, part in own.items():
            refuse_unlike(given[key], part, f"{name}[{key!r}]")
    elif isinstance(own, list | tuple):
        if len(given) != len(own):
            raise InputError(f"{name} has length {len(given)}; legal: {len(own)}")
        for k, part in enumerate(own):
            refuse_unlike(given[k], part, f"{name}[{k}]")
    elif isinstance(own, np.ndarray) and (given.shape, given.dtype) != (own.shape, own.dtype):
        raise InputError(f"{name} is {given.dtype}{list(given.shape)}; legal: {own.dtype}{list(own.shape)}")


def refuse_foreign(given: Any, own: str) -> None:
    """Raise `InputError` if a state's fingerprint is not `own`."""
    theirs = given.get("of") if isinstance(given, dict) else None
    if isinstance(theirs, str) and theirs != own:
        raise InputError(f"the state is of another environment ({theirs}); this one is: {own}")


def generator(state: dict[str, Any], name: str = "state['random']") -> np.random.Generator:
    """Return a generator that continues from another one's state. Raises `InputError` for an illegal state."""
    made = np.random.default_rng(0)
    try:
        made.bit_generator.state = state
    except (TypeError, ValueError, KeyError, OverflowError) as error:
        raise InputError(f"{name} is no state of a PCG64 generator: {error}") from None
    return made
