"""Fits a network by masked cross-entropy, epoch by epoch; a fit can stop and resume after any epoch.

The shuffles depend only on the seed and the epoch, so that a restored fit continues exactly as one that never stopped.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

Parts = Mapping[str, NDArray[np.float32]]
CHUNK = 512
"""Number of states that are scored at once."""


@dataclass(frozen=True)
class FitOptions:
    """Options of a fit."""

    epochs: int = 6
    batch: int = 128
    learning_rate: float = 3e-3
    seed: int = 0


class Fit:
    """Trains `network` to imitate targets: actions [T], or probabilities [T, A]."""

    def __init__(self, network: nn.Module, parts: Parts, target: NDArray[Any], options: FitOptions) -> None:
        """Prepare the first epoch. It uses one torch thread, because more threads would be slower here."""
        torch.set_num_threads(1)
        self.network, self.parts, self.target, self.options = network, parts, target, options
        self.epoch = 0
        self.optimizer = torch.optim.Adam(network.parameters(), lr=options.learning_rate)
        batches = -(-len(target) // options.batch)
        rate, steps = options.learning_rate, options.epochs * batches
        self.schedule = torch.optim.lr_scheduler.OneCycleLR(self.optimizer, rate, total_steps=steps)
        self._lots = np.random.default_rng(options.seed)

    def run_epoch(self) -> float:
        """Make one pass over the data and return the mean loss."""
        order, losses = self._lots.permutation(len(self.target)), []
        for start in range(0, len(order), self.options.batch):
            rows = order[start : start + self.options.batch]
            loss = loss_of(self.network(tensors(self.parts, rows)), torch.from_numpy(self.target[rows]))
            self.optimizer.zero_grad()
            loss.backward()
            self.optimizer.step()
            self.schedule.step()
            losses.append(float(loss.detach()))
        self.epoch += 1
        return float(np.mean(losses))

    def arrays(self) -> dict[str, NDArray[Any]]:
        """Return the weights and the state of the optimiser and the schedule."""
        found = learned(self.network, self.optimizer)
        group = self.optimizer.param_groups[0]
        return {**found, "schedule": np.array([self.schedule.last_epoch, group["lr"], *group["betas"]], np.float64)}

    def restore(self, arrays: Mapping[str, NDArray[Any]], epoch: int) -> None:
        """Continue from the result of `arrays` after `epoch` epochs on the same data. Raises `KeyError` for others."""
        for _ in range(epoch):
            self._lots.permutation(len(self.target))
        self.epoch = epoch
        relearn(self.network, self.optimizer, arrays)
        done, rate, *betas = arrays["schedule"].tolist()
        self.schedule.last_epoch, self.schedule._step_count = int(done), int(done) + 1
        self.optimizer.param_groups[0].update(lr=rate, betas=tuple(betas))


def learned(network: nn.Module, optimizer: torch.optim.Optimizer) -> dict[str, NDArray[Any]]:
    """Return the weights as `weights/NAME`, and the optimiser's state of each as `KEY/NAME`."""
    found = {f"weights/{name}": _array(value) for name, value in network.named_parameters()}
    for name, value in network.named_parameters():
        found |= {f"{key}/{name}": _array(kept) for key, kept in optimizer.state[value].items()}
    return found


def relearn(network: nn.Module, optimizer: torch.optim.Optimizer, arrays: Mapping[str, NDArray[Any]]) -> None:
    """Restore the result of `learned`. Raises `KeyError` for other arrays."""
    keys = {name.partition("/")[0] for name in arrays} - {"weights", "schedule"}
    with torch.no_grad():
        for name, value in network.named_parameters():
            value.copy_(torch.from_numpy(arrays[f"weights/{name}"]))
            optimizer.state[value] = {key: torch.from_numpy(arrays[f"{key}/{name}"].copy()) for key in keys}


def loss_of(logits: Tensor, target: Tensor) -> Tensor:
    """Return the mean cross-entropy of logits [B, A], -inf if illegal, to actions [B] or probabilities [B, A]."""
    if target.dim() == 1:
        return nn.functional.cross_entropy(logits, target)
    chances = torch.log_softmax(logits, dim=1).masked_fill(target == 0, 0.0)  # 0 x -inf would be NaN
    return -(target * chances).sum(dim=1).mean()


def soft_targets(
    score: NDArray[np.float32], action: NDArray[np.int64], legal: NDArray[np.bool_], temperature: float
) -> NDArray[np.float32]:
    """Turn an expert's scores into probabilities [T, A]: softmax(score / temperature) over legal, scored actions.

    The expert's action is given the best score; if it had no score, it gets all of the probability.
    """
    rows = np.arange(len(action))
    known = np.where(legal, score, -np.inf).astype(np.float64)
    taken = np.isfinite(known[rows, action])
    best = known.max(axis=1)
    known[rows, action] = best
    known[~taken] = -np.inf
    known[rows[~taken], action[~taken]] = 0.0
    weight = np.exp((known - known.max(axis=1, keepdims=True)) / temperature)
    return (weight / weight.sum(axis=1, keepdims=True)).astype(np.float32)


@dataclass(frozen=True)
class Watched:
    """How a network acts in an expert's states with a choice."""

    states: int
    agreement: float
    """Share of the states in which the network takes the expert's action."""
    entropy: float
    """Mean entropy of the network's actions, in nats."""


def watch(network: nn.Module, parts: Parts, action: NDArray[np.int64], choice: int) -> Watched:
    """Compare a network with an expert in states with at least `choice` legal actions; NaN if there are none."""
    rows = np.flatnonzero(parts["action_mask"].sum(axis=1) >= choice)
    right, entropy = 0, 0.0
    with torch.no_grad():
        for start in range(0, len(rows), CHUNK):
            chunk = rows[start : start + CHUNK]
            logits = network(tensors(parts, chunk))
            right += int((logits.argmax(dim=1).numpy() == action[chunk]).sum())
            chances = torch.log_softmax(logits, dim=1)
            entropy -= float((chances.exp() * chances.masked_fill(chances == -torch.inf, 0.0)).sum())
    count = max(len(rows), 1)
    return Watched(len(rows), right / count if len(rows) else np.nan, entropy / count if len(rows) else np.nan)


def tensors(parts: Parts, rows: NDArray[Any]) -> dict[str, Tensor]:
    """Return some rows of the parts of observations as tensors."""
    return {name: torch.from_numpy(part[rows]) for name, part in parts.items()}


def _array(value: Tensor) -> NDArray[Any]:
    return np.array(value.detach().cpu().numpy())
