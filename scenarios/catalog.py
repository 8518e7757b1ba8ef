"""Scenarios of all worlds by name, and their knobs."""

from __future__ import annotations

from dataclasses import fields, is_dataclass, replace
from typing import Any

from .cluster.catalog import SCENARIOS as CLUSTER
from .entry import ScenarioEntry
from .knobs import base_name, read_knobs
from .registry import Registry
from .serverless.catalog import SCENARIOS as SERVERLESS

SCENARIOS: Registry[ScenarioEntry] = Registry("scenario", {**CLUSTER, **SERVERLESS})
TABLES = ("locality_penalty",)
"""Knobs that may also be a table, `A=1.16/B=1`."""


def add_scenario(name: str, entry: ScenarioEntry) -> None:
    """Add a scenario, so that commands, `simulate`, `compare` and the environments know its name.

    Raises `InputError` for a name that is taken or cannot be one.
    """
    SCENARIOS.add(name, entry)


def find_source(text: str) -> Any:
    """The source that `NAME[:KNOB=VALUE...]` names, e.g. `sia-64:restart_s=90:spread=2` or `strict-heavy:warm=2`.

    Knobs are the simple fields of the source's parts, such as its platform and its workload. Raises `InputError`.
    """
    source = SCENARIOS.find(base_name(text)).make(text)
    homes, parts = knobs(source), dict[str, dict[str, object]]()
    present = {key: value for key, (_, value) in homes.items()}
    for key, value in read_knobs("scenario", text, present, tables=TABLES).items():
        parts.setdefault(homes[key][0], {})[key] = value
    changed = {part: replace(getattr(source, part), **given) for part, given in parts.items()}
    return replace(source, **changed) if changed else source  # all at once, so that their order does not matter


def knobs(source: Any) -> dict[str, tuple[str, object]]:
    """Every knob of a source: name -> (part that holds it, its value); parts are its fields that are dataclasses."""
    return {
        field.name: (part.name, getattr(held, field.name))
        for part in (fields(source) if is_dataclass(source) else ())
        if is_dataclass(held := getattr(source, part.name))
        for field in fields(held)
        if isinstance(getattr(held, field.name), bool | int | float | str)
    }
