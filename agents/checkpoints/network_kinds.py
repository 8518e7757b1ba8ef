"""The kinds of networks that a checkpoint can hold: what they see, their sizes, their options, their weights.

A kind is named in the file. What a network sees is stored in words: weights that were trained on other inputs than
this version shows would run, and mean nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from ...envs.cluster.mdp.action import ActionMode
from ...envs.cluster.mdp.observation import CLUSTER_FEATURES, SLOT_FEATURES
from ...envs.cluster.mdp.options import EnvOptions
from ...envs.serverless.mdp.observation import CONFIG_FEATURES, QUEUE_FEATURES
from ...envs.serverless.mdp.options import ServerlessOptions
from ...envs.serverless.mdp.platform_features import INVOKER_FEATURES, OTHER_FEATURES, PLATFORM_FEATURES
from ...policies.cluster.index_features import FEATURES, NAMES
from ...policies.cluster.index_net import OUTPUTS
from ...policies.serverless.esg.features import NAMES as ESG_NAMES
from ...policies.serverless.esg.learned import shapes as esg_shapes
from ...scenarios.cluster.catalog import WORLD as CLUSTER
from ...scenarios.errors import InputError
from ...scenarios.serverless.catalog import WORLD as SERVERLESS
from ..networks.jax_networks import CELL_FEATURES

Sizes = Mapping[str, int]
Options = Mapping[str, Any]
Shapes = dict[str, tuple[int, ...]]
MOST_SIZE = 4096
"""Of anything that a file says a size of."""


@dataclass(frozen=True)
class NetworkKind:
    """A line of `NETWORKS`."""

    world: str
    sizes: tuple[str, ...]
    """Names of the sizes that its weights follow from."""
    options: tuple[str, ...]
    """Names of the options of its environment that decide what it does."""
    inputs: Callable[[Options], tuple[str, ...]]
    """What it sees."""
    shapes: Callable[[Sizes, Options], Shapes]
    """Name and shape of every weight."""
    check: Callable[[Options], object]
    """Raises `InputError` for options that are not legal."""


def _index_shapes(sizes: Sizes, options: Options) -> Shapes:
    hidden = sizes["hidden"]
    return {"w1": (FEATURES, hidden), "b1": (hidden,), "w2": (hidden, OUTPUTS), "b2": (OUTPUTS,)}


def _slot_shapes(sizes: Sizes, options: Options) -> Shapes:
    classes, width = sizes["classes"], sizes["width"]
    row = len(SLOT_FEATURES) + classes + len(CLUSTER_FEATURES) + classes * sizes["bins"] + 1
    return (
        _linear("encode.0", row, width)
        | _linear("encode.2", width, width)
        | _linear("next_job", 2 * width, 1)
        | _linear("cell.0", CELL_FEATURES, width)
        | _linear("cell.2", width, 1)
        | _linear("finish", width, 2)
    )


def _config_shapes(sizes: Sizes, options: Options) -> Shapes:
    width, waves = sizes["width"], sizes["waves"]
    around = len(QUEUE_FEATURES) + len(PLATFORM_FEATURES) + sizes["vgpus"] + 2 * waves
    shapes = (
        _linear("other.0", len(OTHER_FEATURES), width // 2)
        | _linear("context.0", around + width // 2, width)
        | _linear("context.2", width, width)
        | _linear("config", len(CONFIG_FEATURES) + 2 * waves, width)
        | _linear("encode.1", width, width)
        | _linear("encode.3", width, width)
        | _linear("score", width, 1)
        | _linear("finish.0", 2 * width, width)
        | _linear("finish.2", width, 2)
    )
    if options["choose_invoker"]:
        shapes |= _linear("invoker", len(INVOKER_FEATURES), width) | _linear("pair", width, width)
    return shapes


def _linear(name: str, inputs: int, outputs: int) -> Shapes:
    """A layer as torch keeps it."""
    return {f"{name}.weight": (outputs, inputs), f"{name}.bias": (outputs,)}


def _config_inputs(options: Options) -> tuple[str, ...]:
    """Of a `serverless-scorer`."""
    seen = (*CONFIG_FEATURES, *QUEUE_FEATURES, *OTHER_FEATURES, *PLATFORM_FEATURES)
    return (*seen, *INVOKER_FEATURES) if options["choose_invoker"] else seen


def _check_cells(options: Options) -> None:
    if EnvOptions(**options).action_mode is not ActionMode.CELL:
        raise InputError(f"action_mode = '{options['action_mode']}'; legal: cell, which the network scores")


NETWORKS: dict[str, NetworkKind] = {
    "cluster-index": NetworkKind(
        world=CLUSTER,
        sizes=("hidden",),
        options=(),
        inputs=lambda options: NAMES,
        shapes=_index_shapes,
        check=lambda options: None,
    ),
    "cluster-scorer": NetworkKind(
        world=CLUSTER,
        sizes=("width", "classes", "bins"),
        options=("action_mode", "window", "decide_every", "clairvoyant"),
        inputs=lambda options: (*SLOT_FEATURES, *CLUSTER_FEATURES),
        shapes=_slot_shapes,
        check=_check_cells,
    ),
    "serverless-scorer": NetworkKind(
        world=SERVERLESS,
        sizes=("width", "waves", "vgpus"),
        options=("choose_invoker", "drop"),
        inputs=_config_inputs,
        shapes=_config_shapes,
        check=lambda options: ServerlessOptions(**options),
    ),
    "serverless-esg": NetworkKind(
        world=SERVERLESS,
        sizes=("hidden",),
        options=(),
        inputs=lambda options: ESG_NAMES,
        shapes=lambda sizes, options: esg_shapes(sizes["hidden"]),
        check=lambda options: None,
    ),
}
"""By the name that a file has for them."""
INDEX, CLUSTER_SCORER, SERVERLESS_SCORER, SERVERLESS_ESG = NETWORKS
