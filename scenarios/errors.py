"""Errors for users: they say what was given, where, and what would be legal."""

from __future__ import annotations

import difflib
from collections.abc import Callable, Iterable


class InputError(ValueError):
    """An input that cannot be used; the message says where it is, the value found and what is legal."""


MOST_SHOWN = 12
"""Most legal names that an error lists."""


def unknown_name(kind: str, name: str, legal: Iterable[str]) -> InputError:
    """Make the error for an unknown name; it suggests the closest names."""
    return InputError(f"unknown {kind} '{name}'; {legal_names(name, legal)}")


def legal_names(name: object, legal: Iterable[str]) -> str:
    """Say what could replace `name`: the closest names, or the legal ones if none is close."""
    names = list(legal)
    shown = ", ".join(names[:MOST_SHOWN]) + (f" and {len(names) - MOST_SHOWN} more" if len(names) > MOST_SHOWN else "")
    return (closest(name, names) if isinstance(name, str) else "") or f"legal: {shown or 'none'}"


def closest(name: str, names: Iterable[str], told: Callable[[str], str] = str) -> str:
    """Ask whether one of the names most similar to `name` was meant, written by `told`; empty if none is similar."""
    close = difflib.get_close_matches(name, list(names), n=3, cutoff=0.5)
    return f"did you mean {' or '.join(map(told, close))}?" if close else ""
