"""Options that every environment has."""

from __future__ import annotations

from enum import StrEnum


class IllegalAction(StrEnum):
    """What an illegal action does."""

    ERROR = "error"
    """Raises `InputError`; the state stays as it is."""
    PENALTY = "penalty"
    """Counts as a legal one, which the world names, and costs `illegal_penalty`."""
    NOOP = "noop"
    """Counts as a legal one, which the world names."""


LEAST_SCALE, MOST = 1e-12, 1e30
"""Bounds of `reward_scale` and `illegal_penalty`, so that rewards stay finite in 32 bits."""
