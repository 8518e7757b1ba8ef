"""A bank: prepared worlds of one shape, and the job history that a scheduler may have learned from."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import jax

from ...scenarios.cluster.scenario import ClusterScenario, Jobs
from ...scenarios.errors import InputError
from ..core import crosses
from .state import World
from .world import stack


@dataclass(frozen=True)
class Bank:
    """M stacked worlds. `history` holds the jobs of the train bank; with None a policy learns from the episode only."""

    scenarios: tuple[ClusterScenario, ...]
    worlds: World  # leaves [M, ...]
    history: Jobs | None

    def __len__(self) -> int:
        return len(self.scenarios)


@crosses
def make_bank(scenarios: Sequence[ClusterScenario], history: Jobs | None = None, bins: int | None = None) -> Bank:
    """Make a bank of scenarios with equal GPU grids and classes, with room for `bins` bins per class.

    By default there are as many bins as needed. Raises `InputError` if the scenarios differ or have more bins.
    """
    if not scenarios:
        raise InputError("a bank needs at least one scenario")
    for scenario in scenarios:
        if not isinstance(scenario, ClusterScenario):
            raise InputError(f"scenario '{scenario.name}' is no training cluster; legal: a ClusterScenario")
    shapes = {(s.nodes, s.gpus_per_node, s.classes) for s in scenarios}
    if len(shapes) > 1:
        raise InputError(f"worlds of one bank need one (nodes, gpus_per_node, classes); found {sorted(shapes)}")
    return Bank(tuple(scenarios), stack(scenarios, bins), history)


def pick(worlds: World, index: jax.Array) -> World:
    """Return world `index` of the stacked worlds."""
    return jax.tree.map(lambda leaf: leaf[index], worlds)
