"""Options that every environment has."""

from __future__ import annotations

from enum import StrEnum


class IllegalAction(StrEnum):
    """What an illegal action does."""

    NOOP = "noop"
    """Counts as a legal one, which the world names; a warning says so once per environment."""
    PENALTY = "penalty"
    """Counts as a legal one, which the world names, and costs `illegal_penalty`."""
    ERROR = "error"
    """Raises `InputError`; the state stays as it is."""


class IllegalActionWarning(UserWarning):
    """An environment was given an action that its mask does not allow."""


LEAST_SCALE, MOST = 1e-12, 1e30
"""Bounds of `reward_scale` and `illegal_penalty`, so that rewards stay finite in 32 bits."""
