"""PPO's policy: what it draws from and what it learns from are sb3-contrib's own masked distribution."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from learning_tasks import task_of
from sb3_contrib import MaskablePPO
from varigym.agents.recipes.actor_critic import ActorCritic, actor_kwargs
from varigym.agents.vec_env import SchedulingVecEnv

LANES = 2
"""As in test_ppo.py, so that nothing is compiled twice."""


@pytest.mark.parametrize("cluster", [True, False], ids=["cluster", "serverless"])
def test_chances_and_values_are_those_of_sb3_contrib(cluster: bool) -> None:
    kind = task_of(cluster).kind([0, 1])
    lanes = SchedulingVecEnv(kind, LANES)
    model = MaskablePPO(ActorCritic, lanes, n_steps=4, policy_kwargs=actor_kwargs(kind.process, 8), seed=0)
    policy = model.policy
    assert isinstance(policy, ActorCritic)
    lanes.seed(0)
    seen = {name: torch.from_numpy(part) for name, part in lanes.reset().items()}
    masks = lanes.batch.action_masks()
    with torch.no_grad():
        actions, values, log_chance = policy(seen, action_masks=masks)
        expected_values, expected, entropy = policy.evaluate_actions(seen, actions, masks)  # type: ignore[arg-type]
        chances, judged = policy.judge(seen)
    assert masks[np.arange(LANES), actions.numpy()].all()
    assert log_chance.tolist() == pytest.approx(expected.tolist(), rel=1e-5)
    assert values.flatten().tolist() == pytest.approx(expected_values.flatten().tolist(), rel=1e-5, abs=1e-6)
    assert judged.tolist() == values.flatten().tolist()
    assert torch.isneginf(chances).numpy().tolist() == (~masks).tolist()
    held = chances.masked_fill(torch.isneginf(chances), 0.0)
    assert entropy is not None
    assert (-(chances.exp() * held).sum(dim=1)).tolist() == pytest.approx(entropy.tolist(), rel=1e-5)
    assert policy(seen, deterministic=True)[0].tolist() == chances.argmax(dim=1).tolist()
