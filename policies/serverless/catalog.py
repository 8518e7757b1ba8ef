"""Serverless schedulers by name, and their knobs."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, fields, replace
from typing import Any

from ...scenarios.errors import unknown_name
from ...scenarios.knobs import base_name, read_knobs
from .baselines.fast_gshare import FastGShare
from .baselines.infless import Infless
from .baselines.static_plan import FixedPlan
from .esg.replanning import Candidates, Esg, NoPath
from .planning.orion import Search
from .planning.schedulers import AquatopePolicy, OrionPolicy
from .policy import Scheduler


@dataclass(frozen=True)
class SchedulerEntry:
    """A catalog line: how to make a scheduler of a name, and what it is."""

    make: Callable[[str], Scheduler]
    about: str


def _esg(name: str) -> Esg:
    return Esg(name)


def _esg_literal(name: str) -> Esg:
    return Esg(name, margin=1.0, candidates=Candidates.PATHS, no_path=NoPath.BEST_EFFORT, retries=3, rescue=True)


def _orion_best_first(name: str) -> OrionPolicy:
    return OrionPolicy(name, search=Search.BEST_FIRST)


def _max_config(name: str) -> FixedPlan:
    return FixedPlan(name, largest=True)


SCHEDULERS: dict[str, SchedulerEntry] = {
    "esg": SchedulerEntry(_esg, "ours: ESG with a safety margin, no forced minimum, gives up lost requests"),
    "esg-literal": SchedulerEntry(_esg_literal, "ESG (Hui et al., HPDC 2024) as described; a reconstruction"),
    "infless": SchedulerEntry(Infless, "INFless (Yang et al., ASPLOS 2022), adapted"),
    "fast-gshare": SchedulerEntry(FastGShare, "FaST-GShare (Gu et al., ICPP 2023), adapted"),
    "orion": SchedulerEntry(OrionPolicy, "Orion (Mahgoub et al., OSDI 2022), adapted: greedy static plan"),
    "orion-best-first": SchedulerEntry(_orion_best_first, "Orion with a best-first search of limited budget"),
    "aquatope": SchedulerEntry(AquatopePolicy, "Aquatope (Zhou et al., ASPLOS 2023), adapted: Bayesian static plans"),
    "min-config": SchedulerEntry(FixedPlan, "one request on the smallest shares"),
    "max-config": SchedulerEntry(_max_config, "one request on the largest shares"),
}


def find_scheduler(text: str) -> Scheduler:
    """The scheduler that `NAME[:KNOB=VALUE...]` names, e.g. `esg:margin=0.9:k=1`. Raises `InputError`."""
    name = base_name(text)
    if name not in SCHEDULERS:
        raise unknown_name("scheduler", name, SCHEDULERS)
    scheduler = SCHEDULERS[name].make(text)
    return replace(scheduler, **read_knobs("scheduler", text, knobs(scheduler)))  # type: ignore[type-var]


def knobs(scheduler: Any) -> dict[str, Any]:
    """Every knob of a scheduler and its value."""
    return {field.name: getattr(scheduler, field.name) for field in fields(scheduler) if field.name != "name"}
