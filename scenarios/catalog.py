"""Built-in scenarios, the seeds of the banks, and the grammar `NAME[:KNOB=VALUE...]` of their variants."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, fields, replace

from .errors import InputError, unknown_name
from .source import LAST_SEED, Platform, Source, Synthetic
from .tiny import TinyCluster
from .types import Compat
from .variability.scores import Variability
from .workloads import SiaPhilly, Synergy


@dataclass(frozen=True)
class Seeds:
    """A range of seeds, first to last."""

    first: int
    last: int
    use: str


TRAIN = Seeds(0, 99_999, "train: learners fit on these, and schedulers may know their jobs as history")
VALIDATION = Seeds(100_000, 199_999, "validation: every choice is made on these")
HELD_OUT = Seeds(200_000, LAST_SEED, "held-out: reported results come from these alone")


@dataclass(frozen=True)
class Entry:
    """A catalog line: how to make the source, and what it is."""

    make: Callable[[str], Source]
    about: str


def _sia(span_h: float = 5.0, slow_rate: float = 0.0) -> Callable[[str], Source]:
    return lambda name: Synthetic(name, SiaPhilly(span_h=span_h), Platform(), Variability(slow_rate=slow_rate))


def _synergy(name: str) -> Source:
    return Synthetic(name, Synergy(), Platform(nodes=64, round_s=300.0))


def _frontera(name: str) -> Source:
    return Synthetic(name, SiaPhilly(), Platform(), Variability(cluster="frontera"))


SCENARIOS: dict[str, Entry] = {
    "tiny": Entry(TinyCluster, "2 nodes x 2 GPUs, 4 jobs; its Gantt chart is derived by hand in the docs"),
    "sia-64": Entry(_sia(), "16 x 4 Longhorn V100s, 160 Sia-Philly jobs in 5 hours"),
    "sia-64-2h": Entry(_sia(span_h=2.0), "sia-64 with all jobs within 2 hours"),
    "sia-64-20h": Entry(_sia(span_h=20.0), "sia-64 spread over 20 hours"),
    "sia-64-60h": Entry(_sia(span_h=60.0), "sia-64 spread over 60 hours"),
    "sia-64-heavy-pm": Entry(_sia(slow_rate=0.08), "sia-64 with 8 % of the GPUs slow for all classes"),
    "synergy-256": Entry(_synergy, "64 x 4 Longhorn V100s, a steady Synergy stream of 8 jobs per hour"),
    "frontera-64": Entry(_frontera, "16 x 4 Frontera RTX 5000s (class C: B stands in), Sia-Philly jobs"),
}


def find_scenario(text: str) -> Source:
    """The source that `NAME[:KNOB=VALUE...]` names, e.g. `sia-64:restart_s=90:spread=2`.

    Knobs are the fields of the scenario's platform, variability and workload. Raises `InputError`.
    """
    name, *settings = text.split(":")
    if name not in SCENARIOS:
        raise unknown_name("scenario", name, SCENARIOS)
    source = SCENARIOS[name].make(text)
    for setting in settings:
        source = _set(source, setting)
    return source


def knobs(source: Source) -> dict[str, tuple[str, object]]:
    """Every knob of a source: name -> (part that holds it, its value)."""
    parts = ("platform", "variability", "workload")
    return {
        field.name: (part, getattr(getattr(source, part), field.name))
        for part in parts
        if hasattr(source, part)
        for field in fields(getattr(source, part))
    }


def _set(source: Source, setting: str) -> Source:
    key, _, text = setting.partition("=")
    available = knobs(source)
    if key not in available:
        raise unknown_name(f"knob of {source.name.split(':')[0]}", key, available)
    part, present = available[key]
    changed = replace(getattr(source, part), **{key: _parse(key, text, present)})
    return replace(source, **{part: changed})  # type: ignore[type-var]


def _parse(key: str, text: str, present: object) -> object:
    kind = type(present)
    if key == "locality_penalty" and "=" in text:
        return text
    try:
        value = kind(text)  # type: ignore[call-arg]
    except ValueError:
        legal = (
            ", ".join(kind)
            if issubclass(kind, Compat)
            else {int: "a whole number", float: "a number"}.get(kind, "text")
        )
        raise InputError(f"{key} = '{text}'; legal: {legal}") from None
    return value
