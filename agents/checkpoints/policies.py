"""Checkpoints as policies: made from what was trained, and read back to be run like any other policy."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ...envs.cluster.mdp.kind import ClusterKind
from ...envs.cluster.mdp.options import EnvOptions
from ...envs.serverless.mdp.kind import ServerlessKind
from ...envs.serverless.mdp.observation import CONFIG_FEATURES
from ...envs.serverless.mdp.options import ServerlessOptions
from ...policies.cluster.catalog import find_policy
from ...policies.cluster.index_net import LearnedIndex, Weights
from ...policies.cluster.list_policy import ListPolicy
from ...policies.serverless.catalog import find_scheduler
from ...policies.serverless.esg.learned import LearnedEsg
from ...policies.serverless.esg.replanning import Esg
from ...scenarios.errors import InputError
from ..networks.actors import ClusterActor, ServerlessActor
from .checkpoint import Checkpoint, Training, is_folder, load_checkpoint
from .network_kinds import CLUSTER_SCORER, INDEX, NETWORKS, SERVERLESS_ESG, SERVERLESS_SCORER

SHOWN = 8
"""Digits of a checkpoint's identity in its name."""


def index_checkpoint(expert: ListPolicy, weights: Weights, training: Training) -> Checkpoint:
    """A learned index over `expert`. Raises `InputError` where the weights are none."""
    policy = LearnedIndex(expert, weights)  # says what is wrong with them
    sizes = {"hidden": policy.weights["b1"].size}
    return Checkpoint(INDEX, expert.name, sizes, {}, policy.weights, training)


def esg_checkpoint(expert: Esg, weights: Weights, training: Training) -> Checkpoint:
    """A learned ESG over `expert`. Raises `InputError` where the weights are none."""
    policy = LearnedEsg(expert, weights)  # says what is wrong with them
    sizes = {"hidden": policy.weights["b1"].size}
    return Checkpoint(SERVERLESS_ESG, expert.name, sizes, {}, policy.weights, training)


def scorer_checkpoint(kind: Any, weights: Mapping[str, NDArray[np.float32]], training: Training) -> Checkpoint:
    """A network of `networks` for environments of `kind`; `jax_networks.arrays_of` gives its weights.

    Raises `InputError` where they do not fit.
    """
    if type(kind) not in _SCORERS:
        raise InputError(f"kind = {type(kind).__name__}; legal: the kind of an environment (env.kind)")
    name, sizes_of = _SCORERS[type(kind)]
    try:
        sizes = sizes_of(kind, weights)
    except (KeyError, IndexError, AttributeError):
        raise InputError(f"weights of no {name}; legal: arrays_of(network)") from None
    options = {option: _plain(getattr(kind.options, option)) for option in NETWORKS[name].options}
    return Checkpoint(name, kind.base.name, sizes, options, weights, training)


def _slot_sizes(kind: ClusterKind, weights: Mapping[str, NDArray[np.float32]]) -> dict[str, int]:
    layout = kind.process.layout
    return {"width": weights["next_job.weight"].shape[1] // 2, "classes": layout.classes, "bins": layout.space.bins}


def _config_sizes(kind: ServerlessKind, weights: Mapping[str, NDArray[np.float32]]) -> dict[str, int]:
    waves = (weights["config.weight"].shape[1] - len(CONFIG_FEATURES)) // 2
    return {"width": weights["score.weight"].shape[1], "waves": waves, "vgpus": kind.process.layout.vgpus}


_SCORERS: Mapping[type, tuple[str, Callable[[Any, Mapping[str, NDArray[np.float32]]], dict[str, int]]]] = {
    ClusterKind: (CLUSTER_SCORER, _slot_sizes),
    ServerlessKind: (SERVERLESS_SCORER, _config_sizes),
}
"""Class of an environment's kind -> the network that scores its actions, and the sizes that follow from weights."""


def _plain(value: Any) -> Any:
    """An option as JSON has it."""
    return str(value) if isinstance(value, str) else value


def looks_like_path(name: str) -> bool:
    """Whether a policy that no catalog holds is meant to be a folder."""
    return "/" in name or "\\" in name or (name != "" and is_folder(Path(name)))


def load_policy(folder: Path | str) -> tuple[str, Any]:
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


def _learned_esg(checkpoint: Checkpoint, name: str) -> LearnedEsg:
    return LearnedEsg(find_scheduler(checkpoint.base), checkpoint.weights, label=name)  # type: ignore[arg-type]


def _cluster_scorer(checkpoint: Checkpoint, name: str) -> ClusterActor:
    base, options = find_policy(checkpoint.base), EnvOptions(**checkpoint.options)
    if base.clairvoyant and not options.clairvoyant:
        raise InputError(f"base '{base.name}' is clairvoyant; legal: one that is not, or options with clairvoyant true")
    sizes = checkpoint.sizes
    return ClusterActor(name, checkpoint.weights, base, options, sizes["classes"], sizes["bins"])


def _serverless_scorer(checkpoint: Checkpoint, name: str) -> ServerlessActor:
    base = find_scheduler(checkpoint.base)
    if not hasattr(base.program, "act_now"):
        raise InputError(f"base '{checkpoint.base}' has a memory; legal: a scheduler without, such as esg")
    options = ServerlessOptions(**checkpoint.options)
    return ServerlessActor(name, checkpoint.weights, base, options, checkpoint.sizes["vgpus"])  # type: ignore[arg-type]


_MAKERS: Mapping[str, Callable[[Checkpoint, str], Any]] = {
    INDEX: _index,
    CLUSTER_SCORER: _cluster_scorer,
    SERVERLESS_SCORER: _serverless_scorer,
    SERVERLESS_ESG: _learned_esg,
}
