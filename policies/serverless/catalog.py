"""Serverless schedulers by name, and their knobs."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, fields, is_dataclass, replace
from typing import Any

import jax
import jax.numpy as jnp

from ...envs.serverless.bank import make_bank
from ...envs.serverless.dispatch import site_of
from ...envs.serverless.dynamics import initial_state, settle
from ...envs.serverless.view import observe
from ...envs.serverless.world import rows
from ...scenarios.errors import InputError
from ...scenarios.knobs import base_name, read_knobs
from ...scenarios.registry import Registry
from ...scenarios.serverless.tiny import tiny_serverless
from ..traced import check_rule
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


SCHEDULERS: Registry[SchedulerEntry] = Registry(
    "scheduler",
    {
        "esg": SchedulerEntry(_esg, "ours: ESG with a safety margin, no forced minimum, gives up lost requests"),
        "esg-literal": SchedulerEntry(_esg_literal, "ESG (Hui et al., HPDC 2024) as described; a reconstruction"),
        "infless": SchedulerEntry(Infless, "INFless (Yang et al., ASPLOS 2022), adapted"),
        "fast-gshare": SchedulerEntry(FastGShare, "FaST-GShare (Gu et al., ICPP 2023), adapted"),
        "orion": SchedulerEntry(OrionPolicy, "Orion (Mahgoub et al., OSDI 2022), adapted: greedy static plan"),
        "orion-best-first": SchedulerEntry(_orion_best_first, "Orion with a best-first search of limited budget"),
        "aquatope": SchedulerEntry(
            AquatopePolicy, "Aquatope (Zhou et al., ASPLOS 2023), adapted: Bayesian static plans"
        ),
        "min-config": SchedulerEntry(FixedPlan, "one request on the smallest shares"),
        "max-config": SchedulerEntry(_max_config, "one request on the largest shares"),
    },
)


def find_scheduler(text: str) -> Scheduler:
    """The scheduler that `NAME[:KNOB=VALUE...]` names, e.g. `esg:margin=0.9:k=1`. Raises `InputError`."""
    scheduler = SCHEDULERS.find(base_name(text)).make(text)
    return replace(scheduler, **read_knobs("scheduler", text, knobs(scheduler)))  # type: ignore[type-var]


def knobs(scheduler: Any) -> dict[str, Any]:
    """Every knob of a scheduler and its value."""
    return {field.name: getattr(scheduler, field.name) for field in fields(scheduler) if field.name != "name"}


def add_scheduler(name: str, entry: SchedulerEntry) -> None:
    """Add a serverless scheduler, so that its name works everywhere, with the fields of its dataclass as knobs.

    It decides once on a small platform first. Raises `InputError` for a taken name or for what is no scheduler.
    """
    SCHEDULERS.check_new(name)
    scheduler = entry.make(name)
    if not is_dataclass(scheduler) or getattr(scheduler, "name", None) != name:
        raise InputError(f"scheduler '{name}': make gives {scheduler!r}; legal: a dataclass whose name is '{name}'")
    for part in ("program", "bind", "adapt"):
        if not hasattr(scheduler, part):
            raise InputError(f"scheduler '{name}' has no {part}; legal: what policies.serverless.policy.Scheduler asks")
    bank = make_bank([tiny_serverless("tiny-serverless").build(0)])
    data = scheduler.bind(bank)

    def first_action() -> jax.Array:
        world, key = rows(scheduler.adapt(bank.worlds, data), jnp.int32(0)), jax.random.key(0)
        state = settle(world, initial_state(world, places=4, logged=0))
        view = observe(world, state, site_of(world, state))
        return scheduler.program.act(data, view, scheduler.program.start(data, key), key)[0].action

    check_rule("scheduler", name, first_action, (), "int32 ()")
    SCHEDULERS.add(name, entry)
