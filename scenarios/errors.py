"""Errors that are meant to be read: what was given, where, and what would be legal."""

from __future__ import annotations

import difflib
from collections.abc import Callable, Iterable


class InputError(ValueError):
    """Input that cannot be used as it is; the message says where, the value found and what is legal."""


MOST_SHOWN = 12
"""Legal names that an error lists."""


def unknown_name(kind: str, name: str, legal: Iterable[str]) -> InputError:
    """The error for a name that no catalog holds, with the closest names first."""
    return InputError(f"unknown {kind} '{name}'; {legal_names(name, legal)}")


def legal_names(name: object, legal: Iterable[str]) -> str:
    """What could stand in the place of `name`: the closest names, or all of them where none is close."""
    names = list(legal)
    shown = ", ".join(names[:MOST_SHOWN]) + (f" and {len(names) - MOST_SHOWN} more" if len(names) > MOST_SHOWN else "")
    return (closest(name, names) if isinstance(name, str) else "") or f"legal: {shown or 'none'}"


def closest(name: str, names: Iterable[str], told: Callable[[str], str] = str) -> str:
    """A question after the names that are most like `name`, as `told` writes them; empty where none is."""
    close = difflib.get_close_matches(name, list(names), n=3, cutoff=0.5)
    return f"did you mean {' or '.join(map(told, close))}?" if close else ""
