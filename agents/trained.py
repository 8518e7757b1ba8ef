"""Checkpoints as policies: made from what was trained, and read back to be run like any other policy."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from ..policies.catalog import find_policy
from ..policies.cluster.index_net import LearnedIndex, Weights
from ..policies.cluster.policy import ListPolicy
from ..scenarios.catalog import Kind
from ..scenarios.errors import InputError
from .checkpoint import Checkpoint, Training, is_folder, load_checkpoint
from .network_kinds import INDEX

SHOWN = 8
"""Digits of a checkpoint's identity in its name."""


def index_checkpoint(expert: ListPolicy, weights: Weights, training: Training) -> Checkpoint:
    """A learned index over `expert`. Raises `InputError` where the weights are none."""
    policy = LearnedIndex(expert, weights)  # says what is wrong with them
    sizes = {"hidden": policy.weights["b1"].size}
    return Checkpoint(INDEX, expert.name, sizes, {}, policy.weights, training)


def looks_like_path(name: str) -> bool:
    """Whether a policy that no catalog holds is meant to be a folder."""
    return "/" in name or "\\" in name or (name != "" and is_folder(Path(name)))


def load_policy(folder: Path | str) -> tuple[Kind, Any]:
    """(its world, the policy of a checkpoint folder), named by the folder and by what decides its actions.

    Raises `InputError`.
    """
    checkpoint = load_checkpoint(folder)
    name = f"{Path(folder).resolve().name}@{checkpoint.identity[:SHOWN]}"
    try:
        return checkpoint.network.world, _MAKERS[checkpoint.kind](checkpoint, name)
    except InputError as error:
        raise InputError(f"checkpoint '{folder}': {error}") from None


def _index(checkpoint: Checkpoint, name: str) -> LearnedIndex:
    return LearnedIndex(find_policy(checkpoint.base), checkpoint.weights, label=name)


_MAKERS: Mapping[str, Any] = {INDEX: _index}
