"""A bank: prepared serverless worlds of one platform."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from ...scenarios.errors import InputError
from ...scenarios.serverless import ServerlessScenario
from .state import World
from .world import stack


@dataclass(frozen=True)
class Bank:
    """M worlds, stacked. They share platform, functions and workflows; only requests and promises differ."""

    scenarios: tuple[ServerlessScenario, ...]
    worlds: World  # leaves [M, ...]

    def __len__(self) -> int:
        return len(self.scenarios)


def make_bank(scenarios: Sequence[ServerlessScenario]) -> Bank:
    """A bank of scenarios of one platform. Raises `InputError` where they differ."""
    if not scenarios:
        raise InputError("a bank needs at least one scenario")
    for scenario in scenarios:
        if not isinstance(scenario, ServerlessScenario):
            raise InputError(f"scenario '{scenario.name}' is no serverless platform; legal: a ServerlessScenario")
    first = scenarios[0]
    for scenario in scenarios[1:]:
        for name, same in (
            ("grid", scenario.grid == first.grid),
            ("functions", [f.name for f in scenario.functions] == [f.name for f in first.functions]),
            ("workflows", [_shape(w) for w in scenario.workflows] == [_shape(w) for w in first.workflows]),
            ("invokers", (scenario.invokers, scenario.warm) == (first.invokers, first.warm)),
            ("vgpu", scenario.vgpu.tolist() == first.vgpu.tolist()),
            ("vcpu", scenario.vcpu.tolist() == first.vcpu.tolist()),
        ):
            if not same:
                names = f"{scenario.name} and {first.name}"
                raise InputError(f"worlds of one bank need one platform; {names} differ in {name}")
    return Bank(tuple(scenarios), stack(scenarios))


def _shape(workflow: object) -> tuple[object, ...]:
    return tuple(getattr(workflow, name) for name in ("name", "functions", "edges"))
