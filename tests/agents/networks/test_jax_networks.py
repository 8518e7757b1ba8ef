"""The networks in JAX and in torch are the same functions of weights and observations."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest
import torch
import varigym
from serverless_small import make
from torch import nn
from varigym.agents.checkpoints.checkpoint import Training
from varigym.agents.checkpoints.policies import scorer_checkpoint
from varigym.agents.checkpoints.torch_weights import load_weights, network_of
from varigym.agents.networks.jax_networks import CONFIGS, SLOTS, Network, arrays_of, best_legal, dense
from varigym.agents.networks.torch_networks import scorer_for
from varigym.envs.cluster.bank import make_bank
from varigym.envs.cluster.mdp.faces import GpuClusterEnv
from varigym.envs.cluster.mdp.options import EnvOptions
from varigym.scenarios.errors import InputError
from worlds import LEVELS, SmallJob, small_scenario

TOLERANCE = 1e-5
BINS = np.tile(np.repeat(LEVELS[:3], 3), (2, 1))
JOBS = [SmallJob(20 * k, 1 + (5 * k) % 9, 50 + 60 * (k % 4), k % 2) for k in range(8)]
PLACES = ["cluster", "serverless", "serverless, invokers named"]


@cache
def environment(place: str) -> Any:
    if place == "cluster":
        bank = make_bank([small_scenario(JOBS, pm_bin=BINS)])
        return GpuClusterEnv(bank, varigym.find_policy("fifo+pal"), EnvOptions(window=8))
    return make(PLACES.index(place) - 1)


def networks(place: str) -> tuple[Network, nn.Module]:
    torch.manual_seed(1)
    scorer = scorer_for(environment(place).kind.process, 24)
    with torch.no_grad():
        for value in scorer.parameters():  # farther from zero than at first
            value.mul_(1.5)
    return (SLOTS if place == "cluster" else CONFIGS), scorer.eval()


def both(network: Network, scorer: nn.Module, seen: list[dict[str, Any]]) -> Iterator[tuple[Any, Any]]:
    """Logits in torch and in JAX of every observation."""
    run, prepared = jax.jit(network.logits), network.prepare(arrays_of(scorer))
    tensors = {name: torch.from_numpy(np.stack([s[name] for s in seen]).astype(np.float32)) for name in seen[0]}
    with torch.no_grad():
        expected = scorer(tensors).numpy()
    for row, observation in zip(expected, seen, strict=True):
        parts = {name: jnp.asarray(part, jnp.float32) for name, part in observation.items() if name != "action_mask"}
        yield row, np.asarray(run(prepared, parts, jnp.asarray(observation["action_mask"]) > 0))


def real(env: Any, steps: int) -> list[dict[str, Any]]:
    rng, seen = np.random.default_rng(0), []
    observation, _ = env.reset(seed=0)
    for _ in range(steps):
        seen.append(observation)
        observation, _, terminated, truncated, _ = env.step(int(rng.choice(np.flatnonzero(env.action_masks()))))
        if terminated or truncated:
            observation, _ = env.reset()
    return seen


def random(env: Any, number: int) -> list[dict[str, Any]]:
    """Numbers that no world shows, and masks with one legal action at least."""
    rng = np.random.default_rng(0)
    seen = []
    for _ in range(number):
        parts = {n: rng.normal(0, 1, space.shape).astype(np.float32) for n, space in env.observation_space.items()}
        mask = rng.random(env.action_space.n) < rng.random()
        mask[rng.integers(env.action_space.n)] = True
        seen.append(parts | {"action_mask": mask.astype(np.int8)})
    return seen


@pytest.mark.parametrize("place", PLACES)
@pytest.mark.parametrize("source", [random, pytest.param(real, marks=pytest.mark.slow)])  # test_actors steps real ones
def test_logits_are_those_of_torch(place: str, source: Any) -> None:
    network, scorer = networks(place)
    choices = 0
    for expected, found in both(network, scorer, source(environment(place), 60)):
        assert np.array_equal(np.isneginf(expected), np.isneginf(found))
        legal = np.isfinite(expected)
        np.testing.assert_allclose(found[legal], expected[legal], rtol=TOLERANCE, atol=TOLERANCE)
        best = np.sort(expected[legal])[::-1]
        if len(best) > 1 and best[0] - best[1] > 2 * TOLERANCE * max(1, abs(best[0])):
            assert int(best_legal(jnp.asarray(found))) == expected.argmax()
            choices += best[0] > best[1] + 0.01
    assert choices > 10


def test_the_best_action_is_legal_and_the_first_of_equals() -> None:
    inf = float("inf")
    assert int(best_legal(jnp.array([-inf, 2.0, 1.0, 2.0]))) == 1
    assert int(best_legal(jnp.array([-inf, -inf, -5.0]))) == 2
    assert int(best_legal(jnp.array([float("nan"), 1.0]))) == 2  # none: counts as illegal


@pytest.mark.parametrize("inputs", [1, 7, 8, 19, 64])
def test_a_layer_in_blocks_is_a_product_of_matrices(inputs: int) -> None:
    rng = np.random.default_rng(inputs)
    x, weight, bias = (rng.normal(size=s).astype(np.float32) for s in ((5, inputs), (inputs, 3), (3,)))
    np.testing.assert_allclose(dense(*map(jnp.asarray, (x, weight, bias))), x @ weight + bias, rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("place", PLACES)
def test_a_checkpoint_s_weights_go_back_into_torch(place: str) -> None:
    _, scorer = networks(place)
    kind = environment(place).kind
    saved = scorer_checkpoint(kind, arrays_of(scorer), Training("none"))
    again = network_of(saved, kind)
    assert all(np.array_equal(value, arrays_of(again)[name]) for name, value in arrays_of(scorer).items())
    other = environment(PLACES[1] if place == "cluster" else "cluster").kind
    with pytest.raises(InputError, match="weights of no"):
        network_of(saved, other)
    with pytest.raises(InputError, match="the network's are"):
        load_weights(nn.Linear(2, 3), saved)
