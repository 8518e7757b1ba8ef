"""Options that every environment has."""

from __future__ import annotations

from enum import StrEnum


class IllegalAction(StrEnum):
    """What an illegal action does."""

    NOOP = "noop"
    """It counts as a legal action chosen by the world (such as REST); each environment warns about this once."""
    PENALTY = "penalty"
    """It counts as a legal action chosen by the world, and costs `illegal_penalty`."""
    ERROR = "error"
    """It raises `InputError`; the state does not change."""


class IllegalActionWarning(UserWarning):
    """An environment received an action that its mask does not allow."""


LEAST_SCALE, MOST = 1e-12, 1e30
"""Bounds of `reward_scale` and `illegal_penalty`, so that rewards stay finite in 32 bits."""
