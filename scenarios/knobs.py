"""The grammar `NAME[:KNOB=VALUE...]`, which varies a scenario or a scheduler of a catalog."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from enum import StrEnum

from .checks import plain
from .errors import InputError, legal_names, unknown_name

SWITCH = {"true": True, "false": False, "on": True, "off": False, "yes": True, "no": False, "1": True, "0": False}


def base_name(text: str) -> str:
    """Return the name before the knobs."""
    return text.split(":", maxsplit=1)[0]


def read_knobs(kind: str, text: str, present: Mapping[str, object], tables: Collection[str] = ()) -> dict[str, object]:
    """Return the knobs that `text` sets, converted to the types of their `present` values; their order is free.

    Knobs in `tables` may also be written as `A=1/B=2`, which is kept as text. Errors call the whole text a `kind`.
    Raises `InputError` for a knob that is unknown or given twice, or a value of another type.
    """
    given: dict[str, object] = {}
    for setting in text.split(":")[1:]:
        key, _, value = setting.partition("=")
        if key not in present:
            raise unknown_name(f"knob of {base_name(text)}", key, present)
        if key in given:
            raise InputError(f"{kind} '{text}': {key} is given twice")
        given[key] = value if key in tables and "=" in value else _as_type_of(key, value, present[key])
    return given


def _as_type_of(key: str, text: str, present: object) -> object:
    kind = type(present)
    if isinstance(present, bool):
        if text.lower() not in SWITCH:
            raise InputError(f"{key} = '{text}'; legal: {', '.join(SWITCH)}")
        return SWITCH[text.lower()]
    try:
        return kind(plain(text) if kind in (int, float) else text)  # type: ignore[call-arg]
    except ValueError:
        names = {int: "a whole number", float: "a number"}
        legal = legal_names(text, kind) if issubclass(kind, StrEnum) else f"legal: {names.get(kind, 'text')}"
        raise InputError(f"{key} = '{text}'; {legal}") from None
