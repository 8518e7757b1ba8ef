"""MaskablePPO's policy for the serverless platform: the same small network scores every action, as in cloning.

A flat network over all configurations must learn the effect of a batch or a share separately for each of them. Here all
share what they learn. The critic reads the context and the maximum of every hidden feature over the configurations.
"""

from __future__ import annotations

from typing import Any

import torch
from gymnasium import spaces
from sb3_contrib.common.maskable.policies import MaskableMultiInputActorCriticPolicy
from stable_baselines3.common.torch_layers import BaseFeaturesExtractor
from torch import Tensor, nn

from ...envs.serverless.mdp.env import ServerlessProcess
from ..networks.torch_networks import ConfigScorer
from ..recipes.actor_critic import CRITIC, Split


class Judgement(BaseFeaturesExtractor):
    """Computes the scores of all actions, followed by the critic's inputs [B, actions + 2 width]."""

    def __init__(self, observation_space: spaces.Dict, process: ServerlessProcess, width: int = 32, waves: int = 4):
        """Make a `ConfigScorer` of `width` hidden units and `waves` for observations of `process`."""
        super().__init__(observation_space, process.actions + 2 * width)
        self.scorer = ConfigScorer(process, width, waves)

    def forward(self, observations: dict[str, Tensor]) -> Tensor:
        """Return scores and context in one row."""
        return torch.cat(self.scorer.judge(observations), dim=1)


class ScorePolicy(MaskableMultiInputActorCriticPolicy):
    """A policy class for `MaskablePPO(ScorePolicy, lanes, policy_kwargs=score_kwargs(process))`."""

    def _build_mlp_extractor(self) -> None:
        actions = int(self.action_space.n)  # type: ignore[attr-defined]
        critic = nn.Sequential(nn.Linear(self.features_dim - actions, CRITIC), nn.ReLU())
        self.mlp_extractor = Split(actions, critic, CRITIC)  # type: ignore[assignment]

    def _build(self, lr_schedule: Any) -> None:
        super()._build(lr_schedule)
        self.action_net = nn.Identity()
        if isinstance(self.features_extractor, Judgement):
            self.features_extractor.scorer.flatten()
        self.optimizer = self.optimizer_class(self.parameters(), lr=lr_schedule(1), **self.optimizer_kwargs)  # type: ignore[call-arg]


def score_kwargs(process: ServerlessProcess, width: int = 32, waves: int = 4) -> dict[str, Any]:
    """Return the `policy_kwargs` of `ScorePolicy` for environments of `process`."""
    return {
        "features_extractor_class": Judgement,
        "features_extractor_kwargs": {"process": process, "width": width, "waves": waves},
    }
