"""A bank: prepared serverless worlds of one platform."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from ...scenarios.errors import InputError
from ...scenarios.serverless.scenario import ServerlessScenario
from ...scenarios.serverless.workflows import Function, Workflow
from ..core import crosses
from .state import NEVER, World
from .world import stack

PLATFORM = ("grid", "functions", "workflows", "vcpu", "vgpu", "warm", "prices")
"""Parts of a scenario that must be equal in all worlds of a bank, so that a scheduler prepares for them once."""


@dataclass(frozen=True)
class Bank:
    """M stacked worlds. They share platform, functions and workflows; requests and SLOs, for example, may differ."""

    scenarios: tuple[ServerlessScenario, ...]
    worlds: World  # leaves [M, ...]

    def __len__(self) -> int:
        return len(self.scenarios)


@crosses
def make_bank(scenarios: Sequence[ServerlessScenario]) -> Bank:
    """Make a bank of scenarios of one platform. Raises `InputError` if their platforms differ."""
    if not scenarios:
        raise InputError("a bank needs at least one scenario")
    for scenario in scenarios:
        if not isinstance(scenario, ServerlessScenario):
            raise InputError(f"scenario '{scenario.name}' is no serverless platform; legal: a ServerlessScenario")
    first = scenarios[0]
    for scenario in scenarios[1:]:
        for name in PLATFORM:
            if _plain(getattr(scenario, name)) != _plain(getattr(first, name)):
                names = f"{scenario.name} and {first.name}"
                raise InputError(f"worlds of one bank need one platform; {names} differ in {name}")
    return Bank(tuple(scenarios), stack(scenarios))


def few_shapes(count: int) -> int:
    """Round `count` up to 1024, 4096, 16384...: programs are compiled per shape, and unused room is cheap."""
    room = 1024
    while room < count:
        room *= 4
    return room


def padded(bank: Bank) -> Bank:
    """Return the same bank with room for more requests, so that banks of other loads have the same shape."""
    worlds = bank.worlds
    more = few_shapes(worlds.arrival.shape[1]) - worlds.arrival.shape[1]
    rests = {"arrival": NEVER, "workflow": 0, "counted": False, "noise": 1.0, "recent": 0}

    def longer(name: str, rest: float) -> jax.Array:
        leaf = getattr(worlds, name)
        tail = jnp.full((leaf.shape[0], more, *leaf.shape[2:]), rest, leaf.dtype)
        return jnp.concatenate([leaf, tail], axis=1)

    return replace(bank, worlds=replace(worlds, **{name: longer(name, rest) for name, rest in rests.items()}))


def _plain(value: Any) -> Any:
    """Convert to plain values that can be compared; a workflow's SLO is left out, because it may differ."""
    if isinstance(value, Function):
        return value.name, value.latency_ms.tolist(), value.cold_start_ms, value.input_mb
    if isinstance(value, Workflow):
        return value.name, value.functions, value.edges
    if isinstance(value, tuple):
        return tuple(_plain(part) for part in value)
    return value.tolist() if isinstance(value, np.ndarray) else value
