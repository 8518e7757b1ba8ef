"""Errors that are meant to be read: what was given, where, and what would be legal."""

from __future__ import annotations

import difflib
from collections.abc import Iterable


class InputError(ValueError):
    """Input that cannot be used as it is; the message says where, the value found and what is legal."""


MOST_SHOWN = 12
"""Legal names that an error lists."""


def unknown_name(kind: str, name: str, legal: Iterable[str]) -> InputError:
    """The error for a name that no catalog holds, with the closest names first."""
    names = list(legal)
    close = difflib.get_close_matches(name, names, n=3, cutoff=0.5)
    shown = ", ".join(names[:MOST_SHOWN]) + (f" and {len(names) - MOST_SHOWN} more" if len(names) > MOST_SHOWN else "")
    hint = f"did you mean {' or '.join(close)}?" if close else f"legal: {shown}"
    return InputError(f"unknown {kind} '{name}'; {hint}")
