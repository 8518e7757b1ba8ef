"""Refuses JAX in forked processes: a fork lacks JAX's threads, so that it would wait for ever without a message."""

from __future__ import annotations

import os

from ..scenarios.errors import InputError

_used_in: set[int] = set()
"""Ids of the processes that have used JAX; a forked child inherits its parent's entry but has none of its own."""


def refuse_forked() -> None:
    """Raise `InputError` in a forked child of a process that had used JAX; else remember this process."""
    if _used_in and os.getpid() not in _used_in:
        raise InputError(
            "this process was forked from one that had used JAX, where JAX would wait for ever; start processes with "
            'context="forkserver" or "spawn", or use the native batch of gymnasium.make_vec, which needs none'
        )
    _used_in.add(os.getpid())
