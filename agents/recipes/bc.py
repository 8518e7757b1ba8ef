"""Masked behaviour cloning: a network copies an expert's actions and chooses only among legal ones."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import nn

from ...envs.faces.gym import SchedulingEnv
from ..networks.torch_networks import scorer_for
from ..steps import MicroStep
from .fitting import CHUNK, Fit, FitOptions, tensors


@dataclass(frozen=True)
class Demonstrations:
    """Micro-steps as arrays: each part [T, size], actions [T]."""

    parts: dict[str, NDArray[np.float32]]
    action: NDArray[np.int64]

    def __len__(self) -> int:
        return len(self.action)


@dataclass(frozen=True)
class CloneOptions:
    """Options of cloning."""

    epochs: int = 6
    batch: int = 128
    learning_rate: float = 3e-3
    width: int = 64
    seed: int = 0


def collect(steps: Iterable[MicroStep]) -> Demonstrations:
    """Collect micro-steps into arrays."""
    taken = list(steps)
    parts = {
        name: np.stack([step.observation[name] for step in taken]).astype(np.float32) for name in taken[0].observation
    }
    return Demonstrations(parts, np.array([step.action for step in taken]))


def clone(
    env: SchedulingEnv[Any],
    data: Demonstrations,
    options: CloneOptions = CloneOptions(),
    report: Callable[[int, float], None] = lambda epoch, loss: None,
) -> nn.Module:
    """Train a network to imitate `data` in environments like `env`, in one torch thread; equal seeds, equal weights."""
    torch.manual_seed(options.seed)
    network = scorer_for(env.kind.process, options.width)
    how = FitOptions(options.epochs, options.batch, options.learning_rate, options.seed)
    fit = Fit(network, data.parts, data.action, how)
    for epoch in range(options.epochs):
        report(epoch, fit.run_epoch())
    return network.eval()


@dataclass(frozen=True)
class Agreement:
    """Share of an expert's states in which a network takes the expert's action."""

    states: int
    """Number of states with a choice of actions."""
    overall: float
    by_type: dict[str, float]


def agreement(network: nn.Module, env: SchedulingEnv[Any], data: Demonstrations, least: int = 2) -> Agreement:
    """Measure how often `network` takes the expert's action, overall and by the type of that action.

    Only states with at least `least` legal actions count.
    """
    choice = data.parts["action_mask"].sum(axis=1) >= least
    rows = np.flatnonzero(choice)
    with torch.no_grad():
        parts = np.array_split(rows, len(rows) // CHUNK + 1)
        chunks = [network(tensors(data.parts, part)).argmax(dim=1).numpy() for part in parts]
    right = np.concatenate(chunks) == data.action[rows]
    types = np.array([env.describe(int(action)).split("(")[0] for action in data.action[rows]])
    by_type = {str(kind): float(right[types == kind].mean()) for kind in np.unique(types)}
    return Agreement(len(rows), float(right.mean()), by_type)


def act(network: nn.Module, observation: dict[str, NDArray[Any]]) -> int:
    """Return the most likely legal action."""
    parts = {name: torch.from_numpy(part.astype(np.float32)[None]) for name, part in observation.items()}
    with torch.no_grad():
        return int(network(parts).argmax())
