"""The policy of MaskablePPO that scores actions: masks, an even start, and what is saved comes back."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from sb3_contrib import MaskablePPO
from serverless_small import make
from varigym.agents.serverless.score_policy import ScorePolicy, score_kwargs
from varigym.agents.vec_env import SchedulingVecEnv


def lanes(number: int) -> SchedulingVecEnv:
    return SchedulingVecEnv(make(number).kind, 2)


def learner(number: int) -> MaskablePPO:
    env = lanes(number)
    kwargs = score_kwargs(env.batch.kind.process, width=8, waves=2)
    return MaskablePPO(ScorePolicy, env, n_steps=16, batch_size=16, n_epochs=2, policy_kwargs=kwargs, seed=0)


@pytest.mark.parametrize("number", [0, 1])
def test_it_starts_even_learns_within_masks_and_comes_back(number: int, tmp_path: Path) -> None:
    model = learner(number)
    env: Any = model.get_env()
    policy: Any = model.policy
    env.seed(0)
    seen = env.reset()
    legal = np.stack(env.env_method("action_masks"))
    tensors, _ = policy.obs_to_tensor(seen)
    chances = policy.get_distribution(tensors, legal).distribution.probs.detach().numpy()
    assert (chances[~legal] == 0).all()
    even = np.where(legal, 1 / legal.sum(axis=1, keepdims=True), 0)
    np.testing.assert_allclose(chances, even, atol=0.1)
    before = [weight.clone() for weight in model.policy.parameters()]
    model.learn(32)
    changed = [not torch.equal(a, b) for a, b in zip(before, model.policy.parameters(), strict=True)]
    assert all(changed)
    model.save(tmp_path / "model")
    other = MaskablePPO.load(tmp_path / "model")
    actions = [m.predict(seen, action_masks=legal, deterministic=True)[0].tolist() for m in (model, other)]
    assert actions[0] == actions[1]
    assert legal[np.arange(2), actions[0]].all()


def test_a_better_action_is_found() -> None:
    """What is paid for at once: the largest configuration that is legal, whatever else happens."""
    env = make(0)
    process = env.kind.process
    policy: Any = learner(0).policy
    optimizer = torch.optim.Adam(policy.parameters(), lr=1e-2)
    states = []
    seen, info = env.reset(seed=0)
    rng = np.random.default_rng(0)
    for _ in range(60):
        states.append((seen, info["action_mask"]))
        seen, _, terminated, truncated, info = env.step(int(rng.choice(np.flatnonzero(info["action_mask"]))))
        if terminated or truncated:
            seen, info = env.reset(seed=1)
    parts = {name: torch.from_numpy(np.stack([s[0][name] for s in states]).astype(np.float32)) for name in states[0][0]}
    masks = np.stack([mask for _, mask in states]).astype(bool)
    largest = masks[:, : process.wait] * (1 + np.arange(process.wait))
    wanted = torch.from_numpy(np.where(largest.any(axis=1), largest.argmax(axis=1), process.wait))
    for _ in range(60):
        loss = -policy.get_distribution(parts, masks).log_prob(wanted).mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    actions = policy.get_distribution(parts, masks).mode()
    assert float((actions == wanted).float().mean()) > 0.95
