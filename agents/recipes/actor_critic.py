"""MaskablePPO's policy over any network of `networks`: the network is the actor, a critic of its own stands beside it.

The critic reads what there is in all, not what the actor makes of it, so that what the value still has to learn does
not spoil an actor that was cloned.
"""

from __future__ import annotations

from typing import Any

import torch
from gymnasium import spaces
from sb3_contrib.common.maskable.policies import MaskableMultiInputActorCriticPolicy
from stable_baselines3.common.torch_layers import BaseFeaturesExtractor
from torch import Tensor, nn

from ..networks.jax_networks import FAR_BELOW
from ..networks.torch_networks import Scorer, scorer_for

CRITIC = 64
"""Hidden units of the critic."""


class Actor(BaseFeaturesExtractor):
    """Scores of all actions, then what the critic reads [B, actions + K]."""

    def __init__(self, observation_space: spaces.Dict, process: Any, width: int) -> None:
        """The network of `process`, with `width` hidden units."""
        scorer = scorer_for(process, width)
        super().__init__(observation_space, process.actions + scorer.totals)
        self.scorer = scorer

    def forward(self, observations: dict[str, Tensor]) -> Tensor:
        """Scores and facts in one row."""
        scores = self.scorer(observations).clamp(min=FAR_BELOW)
        return torch.cat([scores, self.scorer.summary(observations)], dim=1)


class Split(nn.Module):
    """Passes the scores to the actor as they are, and what follows them to the critic."""

    def __init__(self, actions: int, critic: nn.Module, latent: int) -> None:
        """Split behind `actions` scores; `critic` gives a latent of that length."""
        super().__init__()
        self.actions, self.latent_dim_pi, self.latent_dim_vf = actions, actions, latent
        self.critic = critic

    def forward(self, features: Tensor) -> tuple[Tensor, Tensor]:
        """(scores, latent of the critic)."""
        return self.forward_actor(features), self.forward_critic(features)

    def forward_actor(self, features: Tensor) -> Tensor:
        """The scores."""
        return features[:, : self.actions]

    def forward_critic(self, features: Tensor) -> Tensor:
        """What the value is read from."""
        hidden: Tensor = self.critic(features[:, self.actions :])
        return hidden


class ActorCritic(MaskableMultiInputActorCriticPolicy):
    """`MaskablePPO(ActorCritic, lanes, policy_kwargs=actor_kwargs(process, width))`."""

    def _build_mlp_extractor(self) -> None:
        actions = int(self.action_space.n)  # type: ignore[attr-defined]
        layers = nn.Linear(self.features_dim - actions, CRITIC), nn.ReLU(), nn.Linear(CRITIC, CRITIC), nn.ReLU()
        self.mlp_extractor = Split(actions, nn.Sequential(*layers), CRITIC)  # type: ignore[assignment]

    def _build(self, lr_schedule: Any) -> None:
        super()._build(lr_schedule)
        self.action_net = nn.Identity()  # it had weights of no use
        self.optimizer = self.optimizer_class(self.parameters(), lr=lr_schedule(1), **self.optimizer_kwargs)  # type: ignore[call-arg]

    def judge(self, observations: Any) -> tuple[Tensor, Tensor]:
        """(log chances of all actions [B, actions], -inf where illegal; values [B]).

        What sb3-contrib's distribution of masked actions comes to, which normalises thrice and checks itself each time.
        """
        actor, parts = self.actor, as_floats(observations)
        split: Any = self.mlp_extractor
        seen = split.critic(actor.scorer.summary(parts))
        return torch.log_softmax(actor.scorer(parts), dim=1), self.value_net(seen).flatten()

    def forward(self, obs: Any, deterministic: bool = False, action_masks: Any = None) -> tuple[Tensor, Tensor, Tensor]:
        """(actions [B], values [B, 1], log chances of the actions [B]); the mask is the one in the observation."""
        chances, values = self.judge(obs)
        actions = chances.argmax(dim=1) if deterministic else torch.multinomial(chances.exp(), 1).squeeze(1)
        return actions, values[:, None], chances.gather(1, actions[:, None]).squeeze(1)

    @property
    def actor(self) -> Actor:
        """What scores actions, and tells the critic what there is."""
        assert isinstance(self.features_extractor, Actor)
        return self.features_extractor

    @property
    def scorer(self) -> Scorer:
        """The network that a checkpoint holds."""
        return self.actor.scorer


def as_floats(parts: Any) -> dict[str, Tensor]:
    """Parts of observations as networks take them."""
    return {name: part.float() for name, part in parts.items()}


def actor_kwargs(process: Any, width: int) -> dict[str, Any]:
    """`policy_kwargs` of `ActorCritic` for environments of `process`."""
    return {
        "features_extractor_class": Actor,
        "features_extractor_kwargs": {"process": process, "width": width},
        "ortho_init": False,
    }
