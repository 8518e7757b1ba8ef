"""The learned index: a small network scales the keys of an expert's order, and decides which gangs may move.

    key of a job = the expert's key x exp(u),    (u, k) = W2 tanh(W1 x + b1) + b2,    x its features

so that u > 0 means "later". A job that continues to run keeps its gang if k > `KEEP`; otherwise it is placed anew with
the others, perhaps on faster GPUs but at the cost of a restart. The last layer of an untrained network is zero, so that
it behaves exactly as the expert.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from numpy.typing import NDArray

from ...envs.cluster.bank import Bank
from ...envs.cluster.mdp.base import BaseProgram
from ...envs.cluster.view import View
from ...scenarios.errors import InputError
from ..information import Information
from .gittins import History
from .index_features import FEATURES, index_features
from .list_policy import ListPolicy
from .list_program import ListData, list_program

HIDDEN = 8
"""H, the number of hidden units."""
OUTPUTS = 2
"""Number of outputs: u and k."""
MOST = 20.0
"""Bound on |u| and |k|."""
KEEP = 0.1
"""Bound on k, so that an untrained network keeps nothing."""
Weights = Mapping[str, NDArray[np.float32]]
"""`w1` [F, H], `b1` [H], `w2` [H, 2], `b2` [2]."""


def learned_index(weights: Any, view: View, history: History, key: jax.Array) -> tuple[jax.Array, jax.Array]:
    """Return the expert's `key` [A] scaled by the network, lower goes first, and which jobs keep their gangs [A]."""
    hidden = jnp.tanh(layer(index_features(view, history, key), weights["w1"], weights["b1"]))
    u, keep = jnp.clip(layer(hidden, weights["w2"], weights["b2"]), -MOST, MOST).T
    # A negated index shrinks where a cost grows. Costs are whole rounds, so that adding 1 loses no precision.
    key = jnp.where(key < 0, key * jnp.exp(-u).astype(key.dtype), (key + 1) * jnp.exp(u).astype(key.dtype))
    return key, keep > KEEP


def layer(x: jax.Array, weight: jax.Array, bias: jax.Array) -> jax.Array:
    """Compute one layer [A, H] of x [A, F] term by term: XLA does not compile a matrix product into an episode."""
    total = jnp.broadcast_to(bias, (x.shape[0], bias.shape[0]))
    for feature in range(x.shape[1]):
        total = total + x[:, feature, None] * weight[None, feature]
    return total


def untrained(seed: int, hidden: int = HIDDEN) -> dict[str, NDArray[np.float32]]:
    """Return weights with which the learned index behaves as its expert."""
    lots = np.random.default_rng(seed)
    return {
        "w1": (lots.standard_normal((FEATURES, hidden)) / np.sqrt(FEATURES)).astype(np.float32),
        "b1": np.zeros(hidden, np.float32),
        "w2": np.zeros((hidden, OUTPUTS), np.float32),
        "b2": np.zeros(OUTPUTS, np.float32),
    }


def check_weights(weights: Weights) -> dict[str, NDArray[np.float32]]:
    """Return the weights as float32 arrays. Raises `InputError` if they are not those of an index network."""
    legal = f"w1 [{FEATURES}, H], b1 [H], w2 [H, {OUTPUTS}], b2 [{OUTPUTS}]"
    if not isinstance(weights, Mapping) or set(weights) != {"w1", "b1", "w2", "b2"}:
        found = ", ".join(map(str, weights)) if isinstance(weights, Mapping) else type(weights).__name__
        raise InputError(f"weights of a learned index: {found or 'none'}; legal: {legal}")
    arrays = {name: np.asarray(value, np.float32) for name, value in weights.items()}
    hidden = arrays["b1"].size
    wanted = {"w1": (FEATURES, hidden), "b1": (hidden,), "w2": (hidden, OUTPUTS), "b2": (OUTPUTS,)}
    for name, shape in wanted.items():
        if arrays[name].shape != shape:
            raise InputError(f"weight {name} has shape {list(arrays[name].shape)}; legal: {legal}")
        if not np.isfinite(arrays[name]).all():
            raise InputError(f"weight {name} is not finite; legal: {legal}, finite numbers")
    return arrays


@dataclass(frozen=True, eq=False)
class LearnedIndex:
    """An expert list policy with a network on its keys; weights of one shape share one compiled program.

    Raises `InputError` for a clairvoyant expert and for weights that do not fit.
    """

    expert: ListPolicy
    weights: Weights
    label: str = ""
    """Name in results; default: `index(EXPERT)`."""

    def __post_init__(self) -> None:
        object.__setattr__(self, "weights", check_weights(self.weights))
        if self.expert.information is not Information.NON_CLAIRVOYANT:
            raise InputError(f"expert '{self.expert.name}' is clairvoyant; legal: an order that is not")

    @property
    def name(self) -> str:
        """Name of the policy in the rows of a result."""
        return self.label or f"index({self.expert.name})"

    @property
    def information(self) -> Information:
        """The information that the expert uses."""
        return self.expert.information

    @property
    def clairvoyant(self) -> bool:
        """Always False."""
        return False

    @property
    def program(self) -> BaseProgram:
        """One program for all learned indices over the same orders and placements."""
        return list_program(self.expert.orders, self.expert.placements, learned_index)

    def bind(self, bank: Bank) -> ListData:
        """Return the expert's data together with the weights."""
        return self.rebind(self.expert.bind(bank), self.weights)

    @staticmethod
    def rebind(data: ListData, weights: Weights) -> ListData:
        """Return bound data with other weights, which avoids counting the history of a bank again."""
        return replace(data, weights={name: jnp.asarray(value) for name, value in weights.items()})
