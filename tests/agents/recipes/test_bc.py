"""Masked cloning in small: it learns a simple expert, obeys masks, and repeats itself."""

from __future__ import annotations

from dataclasses import replace

import pytest
import torch
import varigym
from learning_tasks import OPTIONS, cluster_world
from varigym.agents.cluster.demonstrations import demonstrate
from varigym.agents.networks.torch_networks import SlotScorer
from varigym.agents.recipes.bc import CloneOptions, Demonstrations, act, agreement, clone, collect
from varigym.envs.cluster.bank import make_bank
from varigym.envs.cluster.mdp.faces import GpuClusterEnv

WORLDS = [cluster_world(w) for w in range(2)]


@pytest.fixture(scope="module")
def shown() -> tuple[GpuClusterEnv, Demonstrations]:
    expert = varigym.find_policy("fifo+pal")
    env = GpuClusterEnv(make_bank(WORLDS), expert, OPTIONS)
    return env, collect(step for w in range(len(WORLDS)) for step in demonstrate(env, expert, seed=0, world=w))


def test_a_clone_takes_the_expert_s_actions(shown: tuple[GpuClusterEnv, Demonstrations]) -> None:
    env, data = shown
    losses: list[float] = []
    network = clone(env, data, CloneOptions(epochs=60, batch=16, width=32), lambda _, loss: losses.append(loss))
    assert losses[-1] < 0.3 * losses[0]
    found = agreement(network, env, data)
    assert found.overall > 0.95
    assert set(found.by_type) <= {"PLACE", "COMMIT", "KEEP", "REST"}
    observation, _ = env.reset(seed=0)
    assert observation["action_mask"][act(network, observation)] == 1


def test_equal_seeds_give_equal_weights(shown: tuple[GpuClusterEnv, Demonstrations]) -> None:
    weights = [list(clone(*shown, CloneOptions(epochs=1, seed=s, width=8)).state_dict().values()) for s in (3, 3, 4)]
    assert all(torch.equal(a, b) for a, b in zip(weights[0], weights[1], strict=True))
    assert not all(torch.equal(a, b) for a, b in zip(weights[0], weights[2], strict=True))


def test_illegal_actions_have_no_probability(shown: tuple[GpuClusterEnv, Demonstrations]) -> None:
    env, data = shown
    network = SlotScorer(env.kind.process.layout, 8)
    parts = {name: torch.from_numpy(part[:5]) for name, part in data.parts.items()}
    chances = torch.softmax(network(parts), dim=1)
    assert (chances[parts["action_mask"] == 0] == 0).all()
    assert chances.sum(dim=1).tolist() == pytest.approx([1.0] * 5, abs=1e-5)


def test_select_mode_is_refused(shown: tuple[GpuClusterEnv, Demonstrations]) -> None:
    env = GpuClusterEnv(make_bank(WORLDS), varigym.find_policy("fifo+pal"), replace(OPTIONS, action_mode="select"))
    with pytest.raises(ValueError, match="cells"):
        SlotScorer(env.kind.process.layout)
