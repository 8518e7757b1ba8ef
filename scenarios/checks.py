"""Checks of single values that users pass to a scenario; errors show the given value and the legal ones."""

from __future__ import annotations

import math
from collections.abc import Iterable
from enum import Enum
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from .errors import InputError, legal_names

T = TypeVar("T", bound=np.generic)
E = TypeVar("E", bound=Enum)


def check_number(name: str, value: object, least: float, most: float = math.inf, above: bool = False) -> None:
    """Raise `InputError` unless `value` is a finite number >= `least` (> `least` with `above`) and <= `most`."""
    legal = f"a finite number {'>' if above else '>='} {least:g}" + (f" and <= {most:g}" if most < math.inf else "")
    given = math.nan
    if isinstance(value, int | float | np.integer | np.floating) and not isinstance(value, bool):
        given = float(value)
    if not math.isfinite(given) or not least <= given <= most or (above and given == least):
        raise InputError(f"{name} = {value!r}; legal: {legal}")


def plain(text: str) -> str:
    """Return the text of a number. Raises `ValueError` for underscores and other scripts, which only Python reads."""
    if not text.isascii() or "_" in text:
        raise ValueError(text)
    return text


def check_whole(name: str, value: object, least: int, most: int | None = None) -> None:
    """Raise `InputError` unless `value` is a whole number within [least, most]."""
    number = int(value) if isinstance(value, int | np.integer) and not isinstance(value, bool) else None
    if number is None or number < least or (most is not None and number > most):
        limits = f"{least:,} or more" if most is None else f"{least:,} to {most:,}"
        raise InputError(f"{name} = {value!r}; legal: a whole number, {limits}")


def as_whole(name: str, value: int | np.integer[Any], least: int, most: int | None = None) -> int:
    """Convert `value`, a NumPy or Python integer, to an int. Raises `InputError` if it is not in [least, most]."""
    check_whole(name, value, least, most)
    return int(value)


def as_member(name: str, value: object, kind: type[E]) -> E:
    """Return the member of `kind` that `value` names. Raises `InputError` if there is none."""
    try:
        return kind(value)
    except ValueError:
        raise InputError(f"{name} = {value!r}; {legal_names(value, (str(m.value) for m in kind))}") from None


def check_flag(name: str, value: object) -> None:
    """Raise `InputError` unless `value` is True or False."""
    if not isinstance(value, bool | np.bool_):
        raise InputError(f"{name} = {value!r}; legal: True or False")


def check_each(name: str, values: NDArray[np.generic], legal: NDArray[np.bool_], rule: str) -> None:
    """Raise `InputError` for the first element that is not `legal` or not finite; the message gives its index."""
    bad = np.argwhere(~(legal & np.isfinite(values)))
    if len(bad):
        where = tuple(int(i) for i in bad[0])
        raise InputError(f"{name}[{', '.join(map(str, where))}] = {values[where]}; legal: {rule}")


def check_distinct(kind: str, names: Iterable[str]) -> None:
    """Raise `InputError` if a name occurs twice."""
    seen: set[str] = set()
    for name in names:
        if name in seen:
            raise InputError(f"{kind} '{name}' is given twice; legal: distinct names")
        seen.add(name)


def as_array(name: str, values: object, kind: type[T], ndim: int) -> NDArray[T]:
    """Convert to an array of `kind` with `ndim` axes. Raises `InputError` if more than precision would be lost."""
    try:
        given = np.asarray(values)
        with np.errstate(invalid="ignore"):  # losses of the cast are checked below
            array = given.astype(kind)
    except (TypeError, ValueError):
        raise InputError(f"{name} = {str(values)[:80]}; legal: an array of numbers") from None
    if given.ndim != ndim:
        raise InputError(f"{name} has shape {given.shape}; expected {ndim} {'axis' if ndim == 1 else 'axes'}")
    if np.dtype(kind).kind in "ib" and not np.array_equal(array, given):
        raise InputError(f"{name} holds {given[array != given][0]}; legal: {_KINDS[np.dtype(kind).kind]}")
    return array


_KINDS = {"i": "whole numbers of 32 bits", "b": "truth values"}
