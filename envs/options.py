"""Options that every environment has, and checks of values that come from outside."""

from __future__ import annotations

import math
from enum import Enum, StrEnum
from numbers import Integral, Real
from typing import Any, TypeVar

import numpy as np

from ..scenarios.errors import InputError

E = TypeVar("E", bound=Enum)


class IllegalAction(StrEnum):
    """What an illegal action does."""

    ERROR = "error"
    """Raises `InputError`; the state stays as it is."""
    PENALTY = "penalty"
    """Counts as a legal one, which the world names, and costs `illegal_penalty`."""
    NOOP = "noop"
    """Counts as a legal one, which the world names."""


def member(name: str, value: Any, kind: type[E]) -> E:
    """The member of `kind` that `value` names. Raises `InputError`."""
    try:
        return kind(value)
    except ValueError:
        raise InputError(f"{name} = {value!r}; legal: {', '.join(str(m.value) for m in kind)}") from None


def whole(name: str, value: Any, least: int, most: int) -> int:
    """`value` as a whole number in a range; NumPy's are as good as Python's, True and False are none. Raises."""
    if not isinstance(value, Integral) or isinstance(value, bool) or not least <= int(value) <= most:
        raise InputError(f"{name} = {value!r}; legal: a whole number, {least:,} to {most:,}")
    return int(value)


def real(name: str, value: Any, above: float | None = None) -> float:
    """`value` as a finite number >= 0, or > `above`. Raises `InputError`."""
    number = isinstance(value, Real) and not isinstance(value, bool) and math.isfinite(value)
    if not number or (value < 0 if above is None else value <= above):
        raise InputError(f"{name} = {value!r}; legal: a finite number {'>= 0' if above is None else f'> {above:g}'}")
    return float(value)


def flag(name: str, value: Any) -> bool:
    """`value`, if it is True or False. Raises `InputError`."""
    if not isinstance(value, bool | np.bool_):
        raise InputError(f"{name} = {value!r}; legal: True or False")
    return bool(value)
