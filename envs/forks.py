"""JAX runs threads, and a forked process has none of them: what it waits for never comes. So it is refused in words."""

from __future__ import annotations

import os

from ..scenarios.errors import InputError

_used_in: set[int] = set()
"""Processes that have used JAX; a forked child inherits its parent's entry and has none of its own."""


def refuse_forked() -> None:
    """Raises `InputError` in a forked child of a process that had used JAX; remembers this one otherwise."""
    if _used_in and os.getpid() not in _used_in:
        raise InputError(
            "this process was forked from one that had used JAX, where JAX would wait for ever; start processes with "
            'context="forkserver" or "spawn", or use the native batch of gymnasium.make_vec, which needs none'
        )
    _used_in.add(os.getpid())
