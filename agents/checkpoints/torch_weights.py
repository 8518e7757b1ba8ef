"""Loads the weights of a checkpoint into a torch network, to train it further."""

from __future__ import annotations

from typing import Any

import numpy as np
import torch
from torch import nn

from ...envs.kind import Kind
from ...scenarios.errors import InputError
from ..networks.torch_networks import ConfigScorer, SlotScorer
from .checkpoint import Checkpoint
from .policies import scorer_checkpoint


def network_of(checkpoint: Checkpoint, kind: Kind) -> nn.Module:
    """Return a checkpoint's network for environments of `kind`. Raises `InputError` if it does not fit them."""
    wanted = scorer_checkpoint(kind, checkpoint.weights, checkpoint.training)
    for name in ("kind", "base", "sizes", "options"):
        theirs, ours = getattr(checkpoint, name), getattr(wanted, name)
        if theirs != ours:
            raise InputError(f"the checkpoint's {name} = {theirs}; the environment's is {ours}")
    process: Any = kind.process
    sizes = checkpoint.sizes
    made: nn.Module
    if "waves" in sizes:
        made = ConfigScorer(process, sizes["width"], sizes["waves"])
    else:
        made = SlotScorer(process.layout, sizes["width"])
    load_weights(made, checkpoint)
    return made


def load_weights(network: nn.Module, checkpoint: Checkpoint) -> None:
    """Load the checkpoint's weights into `network`. Raises `InputError` if names or shapes differ."""
    own = dict(network.named_parameters())
    found = {name: tuple(value.shape) for name, value in checkpoint.weights.items()}
    wanted = {name: tuple(value.shape) for name, value in own.items()}
    if found != wanted:
        raise InputError(f"the checkpoint has weights {found}; the network's are {wanted}")
    with torch.no_grad():
        for name, value in own.items():
            value.copy_(torch.from_numpy(np.array(checkpoint.weights[name])))
