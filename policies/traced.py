"""Rules of a user's own are traced once when they are added, so that an error names the rule alone."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import jax

from ..scenarios.errors import InputError

MOST_SHOWN = 200
"""Characters of a stranger's error."""


def check_rule(what: str, name: str, rule: Callable[..., Any], arguments: tuple[Any, ...], legal: str) -> None:
    """Raises `InputError` where `rule(*arguments)` fails or gives other than `legal`, such as `bool (3, 4)`."""
    try:
        given = jax.eval_shape(rule, *arguments)
        found = f"{given.dtype} {given.shape}"
    except Exception as error:  # whatever a stranger's function may raise
        reason = str(error).strip().splitlines() or [""]
        raise InputError(f"{what} '{name}': {type(error).__name__}: {reason[0][:MOST_SHOWN]}") from None
    if found != legal:
        raise InputError(f"{what} '{name}' gives {found}; legal: {legal}")
