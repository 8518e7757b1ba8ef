"""What a policy of any world uses of the future."""

from __future__ import annotations

from enum import StrEnum


class Information(StrEnum):
    """What a policy uses of the jobs."""

    NON_CLAIRVOYANT = "non-clairvoyant"
    CLAIRVOYANT = "clairvoyant"
    """Uses true remaining work; never future arrivals."""
