"""Masked cross-entropy, epoch by epoch: a network, its optimiser and its schedule, which can stop after any epoch.

Epochs shuffle the data by (seed, epoch), so that a fit that is restored goes on exactly as one that never stopped.
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
"""States that are scored at once."""


@dataclass(frozen=True)
class FitOptions:
    """How to fit."""

    epochs: int = 6
    batch: int = 128
    learning_rate: float = 3e-3
    seed: int = 0


class Fit:
    """`network` on its way to imitate targets: actions [T], or probabilities [T, A]."""

    def __init__(self, network: nn.Module, parts: Parts, target: NDArray[Any], options: FitOptions) -> None:
        """Prepare the first epoch. One torch thread: threads that wait for each other cost more than they bring."""
        torch.set_num_threads(1)
        self.network, self.parts, self.target, self.options = network, parts, target, options
        self.epoch = 0
        self.optimizer = torch.optim.Adam(network.parameters(), lr=options.learning_rate)
        batches = -(-len(target) // options.batch)
        rate, steps = options.learning_rate, options.epochs * batches
        self.schedule = torch.optim.lr_scheduler.OneCycleLR(self.optimizer, rate, total_steps=steps)
        self._lots = np.random.default_rng(options.seed)

    def run_epoch(self) -> float:
        """One pass over the data; the mean loss."""
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
        """Weights, and what the optimiser remembers."""
        found = learned(self.network, self.optimizer)
        group = self.optimizer.param_groups[0]
        return {**found, "schedule": np.array([self.schedule.last_epoch, group["lr"], *group["betas"]], np.float64)}

    def restore(self, arrays: Mapping[str, NDArray[Any]], epoch: int) -> None:
        """Go on from what `arrays` gave after `epoch` epochs on the same data. Raises `KeyError` for other arrays."""
        for _ in range(epoch):
            self._lots.permutation(len(self.target))
        self.epoch = epoch
        relearn(self.network, self.optimizer, arrays)
        done, rate, *betas = arrays["schedule"].tolist()
        self.schedule.last_epoch, self.schedule._step_count = int(done), int(done) + 1
        self.optimizer.param_groups[0].update(lr=rate, betas=tuple(betas))


def learned(network: nn.Module, optimizer: torch.optim.Optimizer) -> dict[str, NDArray[Any]]:
    """Weights `weights/NAME`, and what the optimiser remembers of each, `KEY/NAME`."""
    found = {f"weights/{name}": _array(value) for name, value in network.named_parameters()}
    for name, value in network.named_parameters():
        found |= {f"{key}/{name}": _array(kept) for key, kept in optimizer.state[value].items()}
    return found


def relearn(network: nn.Module, optimizer: torch.optim.Optimizer, arrays: Mapping[str, NDArray[Any]]) -> None:
    """Put back what `learned` gave. Raises `KeyError` for other arrays."""
    keys = {name.partition("/")[0] for name in arrays} - {"weights", "schedule"}
    with torch.no_grad():
        for name, value in network.named_parameters():
            value.copy_(torch.from_numpy(arrays[f"weights/{name}"]))
            optimizer.state[value] = {key: torch.from_numpy(arrays[f"{key}/{name}"].copy()) for key in keys}


def loss_of(logits: Tensor, target: Tensor) -> Tensor:
    """Mean cross-entropy of logits [B, A], -inf for what is illegal, to actions [B] or probabilities [B, A]."""
    if target.dim() == 1:
        return nn.functional.cross_entropy(logits, target)
    chances = torch.log_softmax(logits, dim=1).masked_fill(target == 0, 0.0)  # 0 x -inf is none of our losses
    return -(target * chances).sum(dim=1).mean()


def soft_targets(
    score: NDArray[np.float32], action: NDArray[np.int64], legal: NDArray[np.bool_], temperature: float
) -> NDArray[np.float32]:
    """Probabilities [T, A] from an expert's preferences: softmax(score / temperature) over what is legal and scored.

    The action that it took gets the best score there is; where it had no score, all of the probability.
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
    """What a network does in states of an expert in which there is a choice."""

    states: int
    agreement: float
    """Share in which it takes the expert's action."""
    entropy: float
    """Of its actions, in nats."""


def watch(network: nn.Module, parts: Parts, action: NDArray[np.int64], choice: int) -> Watched:
    """Over the states with at least `choice` legal actions; NaN where there are none."""
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
    """Some rows of the parts of observations."""
    return {name: torch.from_numpy(part[rows]) for name, part in parts.items()}


def _array(value: Tensor) -> NDArray[Any]:
    return np.array(value.detach().cpu().numpy())
