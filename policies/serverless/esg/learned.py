"""The learned ESG: ESG's decision, with parameters that a small network sets at every visit.

    levers = gain x (W2 tanh(W1 x + b1) + b2),    x the features of the visit

The levers determine the planned time, how configurations are ranked and how many are tried, when a request is dropped,
and when it waits for another one to share a task with (see `levers`). The last layer of an untrained network is zero,
so that every decision is exactly ESG's.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from numpy.typing import NDArray

from ....envs.core import pytree
from ....envs.serverless.bank import Bank
from ....envs.serverless.state import World
from ....envs.serverless.view import Decision, View
from ....scenarios.errors import InputError
from ..policy import SchedulerProgram
from ..tables import PlatformTables, platform_tables
from .features import FEATURES, PlatformFacts, esg_features
from .levers import GAIN, LEVERS, decide
from .prepared import facts_of
from .replanning import Esg
from .scoring import EsgData, target
from .scoring import scores as scores_of_esg

HIDDEN = 8
"""H, the number of hidden units."""
Weights = Mapping[str, NDArray[np.float32]]
"""`w1` [F, H], `b1` [H], `w2` [H, L], `b2` [L]."""


@pytree
class LearnedData:
    """Data of a bank and the weights. X configurations, Q queues."""

    esg: EsgData
    facts: PlatformFacts
    tilt: jax.Array  # [Q, 4, X] float32 log of batch, vCPUs, vGPUs, run time over the smallest configuration's
    weights: dict[str, jax.Array]


def choose(data: LearnedData, view: View) -> Decision:
    """Return ESG's choice under the levers of this visit."""
    return decide(data.esg, data.facts, data.tilt[view.queue], view, levers(data, view))


def levers(data: LearnedData, view: View) -> jax.Array:
    """Return the levers that the network sets [L]."""
    x, weights = esg_features(data.facts, view, target(data.esg, view)), data.weights
    hidden = jnp.tanh(_layer(x, weights["w1"], weights["b1"]))
    return _layer(hidden, weights["w2"], weights["b2"]) * jnp.asarray(GAIN, jnp.float32)


def _layer(x: jax.Array, weight: jax.Array, bias: jax.Array) -> jax.Array:
    """Compute one layer [H] of x [F] term by term: XLA does not compile a matrix product into an episode."""
    total = bias
    for feature in range(x.shape[0]):
        total = total + x[feature] * weight[feature]
    return total


def scores(data: LearnedData, view: View) -> jax.Array:
    """Return the scores of ESG itself [X]."""
    return scores_of_esg(data.esg, view)


PROGRAM = SchedulerProgram(choose, scores)


def untrained(seed: int, hidden: int = HIDDEN) -> dict[str, NDArray[np.float32]]:
    """Return weights with which the learned ESG behaves as ESG."""
    lots = np.random.default_rng(seed)
    return {
        "w1": (lots.standard_normal((FEATURES, hidden)) / np.sqrt(FEATURES)).astype(np.float32),
        "b1": np.zeros(hidden, np.float32),
        "w2": np.zeros((hidden, LEVERS), np.float32),
        "b2": np.zeros(LEVERS, np.float32),
    }


def check_weights(weights: Weights) -> dict[str, NDArray[np.float32]]:
    """Return the weights as float32 arrays. Raises `InputError` if they are not those of a learned ESG."""
    legal = f"w1 [{FEATURES}, H], b1 [H], w2 [H, {LEVERS}], b2 [{LEVERS}]"
    if not isinstance(weights, Mapping) or set(weights) != {"w1", "b1", "w2", "b2"}:
        found = ", ".join(map(str, weights)) if isinstance(weights, Mapping) else type(weights).__name__
        raise InputError(f"weights of a learned ESG: {found or 'none'}; legal: {legal}")
    arrays = {name: np.asarray(value, np.float32) for name, value in weights.items()}
    for name, shape in shapes(arrays["b1"].size).items():
        if arrays[name].shape != shape:
            raise InputError(f"weight {name} has shape {list(arrays[name].shape)}; legal: {legal}")
        if not np.isfinite(arrays[name]).all():
            raise InputError(f"weight {name} is not finite; legal: {legal}, finite numbers")
    return arrays


def shapes(hidden: int) -> dict[str, tuple[int, ...]]:
    """Return the shape of every weight of a network of `hidden` units."""
    return {"w1": (FEATURES, hidden), "b1": (hidden,), "w2": (hidden, LEVERS), "b2": (LEVERS,)}


@dataclass(frozen=True, eq=False)
class LearnedEsg:
    """ESG with a network that sets its parameters; weights of one shape share one compiled program.

    Raises `InputError` for an expert that is not ESG and for weights that do not fit.
    """

    expert: Esg
    weights: Weights
    label: str = ""
    """Name in results; default: `learned(EXPERT)`."""

    def __post_init__(self) -> None:
        if not isinstance(self.expert, Esg):
            raise InputError(f"expert '{getattr(self.expert, 'name', self.expert)}'; legal: esg, with or without knobs")
        object.__setattr__(self, "weights", check_weights(self.weights))

    @property
    def name(self) -> str:
        """Name of the scheduler in the rows of a result."""
        return self.label or f"learned({self.expert.name})"

    @property
    def program(self) -> SchedulerProgram:
        """One program for all learned ESGs."""
        return PROGRAM

    def bind(self, bank: Bank) -> LearnedData:
        """Return the expert's data, the facts of the platform, and the weights."""
        tables = platform_tables(bank)
        facts = facts_of(tables, tables.shares(self.expert.group))
        return self.rebind(LearnedData(self.expert.bind(bank), facts, _tilt(tables), {}), self.weights)

    @staticmethod
    def rebind(data: LearnedData, weights: Weights) -> LearnedData:
        """Return bound data with other weights, which avoids making the tables again."""
        return replace(data, weights={name: jnp.asarray(value) for name, value in weights.items()})

    def adapt(self, worlds: World, data: Any) -> World:
        """Return the worlds as adapted by the expert."""
        return self.expert.adapt(worlds, data)


def _tilt(tables: PlatformTables) -> jax.Array:
    """Return the logarithms [Q, 4, X] that levers weight to make configurations dearer or cheaper."""
    grid, time = tables.scenario.grid, tables.time[tables.function]
    same = [np.broadcast_to(np.log(axis), time.shape) for axis in (grid.batch, grid.vcpu, grid.vgpu)]
    return jnp.asarray(np.stack([*same, np.log(time / time[:, :1])], axis=1), jnp.float32)
