"""The weights of a checkpoint back in a torch network, to be trained further."""

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
    """The network of a checkpoint for environments of `kind`. Raises `InputError` where it is not one for them."""
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
    """Give `network` the checkpoint's weights. Raises `InputError` where they are not of its form."""
    own = dict(network.named_parameters())
    found = {name: tuple(value.shape) for name, value in checkpoint.weights.items()}
    wanted = {name: tuple(value.shape) for name, value in own.items()}
    if found != wanted:
        raise InputError(f"the checkpoint has weights {found}; the network's are {wanted}")
    with torch.no_grad():
        for name, value in own.items():
            value.copy_(torch.from_numpy(np.array(checkpoint.weights[name])))
