"""Serverless demonstrations are the scheduler's own episodes; a small clone learns, and one network fits all grids."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
import torch
import varigym
from serverless_small import WORLDS, make, same, small_world
from varigym.agents.networks.torch_networks import ConfigScorer, scorer_for
from varigym.agents.recipes.bc import CloneOptions, Demonstrations, act, agreement, clone, collect
from varigym.agents.serverless.demonstrations import demonstrate_visits
from varigym.envs.serverless.bank import make_bank
from varigym.envs.serverless.episode import run_episodes
from varigym.envs.serverless.mdp.faces import ServerlessGpuEnv, ServerlessGpuVectorEnv
from varigym.envs.serverless.mdp.options import ServerlessOptions
from varigym.envs.serverless.mdp.platform_features import INVOKER_FEATURES
from varigym.envs.serverless.metrics import metrics_of
from varigym.envs.serverless.record import Record, make_record
from varigym.registration import make_cluster
from varigym.scenarios.errors import InputError
from varigym.scenarios.serverless.configs import ConfigGrid

SAME = ("hit_rate", "cost_usd_per_request", "served", "shed", "cold_starts", "p50_latency_over_slo", "vgpu_utilization")


@pytest.fixture(scope="module")
def env() -> ServerlessGpuEnv:
    """Worlds under the promises of world 0, as static plans want them; as many as elsewhere (one compilation)."""
    workflows = small_world(0).workflows
    bank = make_bank([replace(small_world(seed), workflows=workflows) for seed in range(WORLDS)])
    return ServerlessGpuEnv(bank, varigym.find_scheduler("min-config"), ServerlessOptions(log=True))


# --- the expert's own episodes


@pytest.mark.parametrize("name", ["min-config", "max-config", "orion", "esg", "infless", "fast-gshare"])
def test_replaying_an_expert_gives_its_results(env: ServerlessGpuEnv, name: str) -> None:
    expert: Any = varigym.find_scheduler(name)
    bank = env.kind.bank
    data = expert.bind(bank)
    outcomes = run_episodes(bank, expert.program, data, [0] * WORLDS, expert.adapt(bank.worlds, data))
    compared = 0
    for index, (scenario, outcome) in enumerate(zip(bank.scenarios, outcomes, strict=True)):
        if name == "fast-gshare" and scenario.locality:
            continue  # it has worlds of its own, where dispatch does not look for inputs
        steps = list(demonstrate_visits(env, expert, seed=0, world=index))
        assert len(steps) == outcome.visits
        assert all(step.exact and step.mask[step.action] for step in steps)
        own, expected = env.record(), make_record(scenario, name, 0, outcome)
        assert isinstance(own, Record)
        np.testing.assert_array_equal(own.requests.finish_ms, expected.requests.finish_ms)
        np.testing.assert_array_equal(own.requests.cost_usd, expected.requests.cost_usd)
        assert own.tasks.invoker.tolist() == expected.tasks.invoker.tolist()
        found, wanted = env.kind.metrics(own), metrics_of(expected)
        assert all(same(found[metric], wanted[metric]) for metric in SAME)
        compared += 1
    assert compared >= 2


def test_steps_replay_to_the_same_episode_and_show_what_the_environment_shows(env: ServerlessGpuEnv) -> None:
    steps = list(demonstrate_visits(env, varigym.find_scheduler("esg"), seed=3))
    finish_ms = env.record().requests.finish_ms  # type: ignore[union-attr]
    observation, _ = env.reset(seed=3)
    for step in steps:
        assert same(observation, step.observation)
        assert step.observation["action_mask"].tolist() == step.mask.tolist()
        assert np.isneginf(step.score[-2:]).all()
        served = step.action < len(step.mask) - 2
        assert not served or step.score[step.action] == step.score[step.mask].max()
        observation, *_, info = env.step(step.action)
        assert info["reward_raw"] == step.reward
    np.testing.assert_array_equal(env.record().requests.finish_ms, finish_ms)  # type: ignore[union-attr]


def test_where_actions_name_invokers_a_demonstration_names_the_dispatch_s(env: ServerlessGpuEnv) -> None:
    expert = varigym.find_scheduler("esg")
    named = ServerlessGpuEnv(env.kind.bank, env.kind.base, ServerlessOptions(log=True, choose_invoker=True))
    configs, invokers = named.kind.process.layout.configs, named.kind.process.targets
    for world in range(3):
        plain = list(demonstrate_visits(env, expert, seed=0, world=world))
        steps = list(demonstrate_visits(named, expert, seed=0, world=world))
        assert env.record().tasks.invoker.tolist() == named.record().tasks.invoker.tolist()  # type: ignore[union-attr]
        for own, other in zip(plain, steps, strict=True):
            assert other.mask[other.action]
            served = own.action < configs
            assert (
                other.action // invokers == own.action
                if served
                else other.action - own.action == len(other.mask) - len(own.mask)
            )
            assert not served or other.score[other.action] == other.score.max() == own.score[own.action]
            assert np.isfinite(other.score).sum() == np.isfinite(own.score).sum()


def test_what_does_not_fit_together_is_refused(env: ServerlessGpuEnv) -> None:
    expert = varigym.find_scheduler("esg")
    kind = env.kind
    batch = ServerlessGpuVectorEnv(kind.bank, kind.base, 2)
    for bad in (batch, make_cluster("tiny", worlds=1), None):
        with pytest.raises(InputError, match=r"env = .*; legal: one environment of varigym/ServerlessGpu-v0"):
            next(demonstrate_visits(bad, expert))  # type: ignore[arg-type]
    for stranger in ("esg", None, varigym.find_policy("fifo+pal")):
        with pytest.raises(InputError, match=r"expert = .*; legal: a scheduler, as varigym.find_scheduler"):
            next(demonstrate_visits(env, stranger))  # type: ignore[arg-type]


# --- cloning


def test_a_clone_takes_the_expert_s_actions_and_obeys_masks(env: ServerlessGpuEnv) -> None:
    expert = varigym.find_scheduler("min-config")
    data = collect(step for world in range(4) for step in demonstrate_visits(env, expert, seed=0, world=world))
    losses: list[float] = []
    network = clone(env, data, CloneOptions(epochs=30, batch=32, width=16), lambda _, loss: losses.append(loss))
    assert losses[-1] < 0.2 * losses[0]
    found = agreement(network, env, data)
    assert found.overall > 0.95
    assert set(found.by_type) <= {"SERVE", "WAIT", "DROP"}
    observation, _ = env.reset(seed=0)
    over = False
    while not over:
        action = act(network, observation)
        assert observation["action_mask"][action] == 1
        observation, _, terminated, truncated, _ = env.step(action)
        over = terminated or truncated


def test_illegal_actions_have_no_probability(env: ServerlessGpuEnv) -> None:
    steps = list(demonstrate_visits(env, varigym.find_scheduler("min-config"), seed=0))
    parts = {name: torch.from_numpy(part) for name, part in collect(steps).parts.items()}
    chances = torch.softmax(ConfigScorer(env.kind.process, 8)(parts), dim=1)
    assert (parts["action_mask"] == 0).any()
    assert (chances[parts["action_mask"] == 0] == 0).all()
    assert chances.sum(dim=1).tolist() == pytest.approx([1.0] * len(steps), abs=1e-5)


def test_one_network_fits_all_grids_and_numbers_of_queues(env: ServerlessGpuEnv) -> None:
    network = scorer_for(env.kind.process, 8)
    chain = make(2)
    small, grid = small_world(0), ConfigGrid((1, 2, 4), (1, 2), (1, 2))
    functions = tuple(replace(f, latency_ms=np.full(grid.size, 5.0)) for f in small.functions)
    wide = replace(small, grid=grid, functions=functions)
    larger = ServerlessGpuEnv(make_bank([wide]), varigym.find_scheduler("min-config"))
    for other in (env, chain, larger):
        process = other.kind.process
        shapes = {name: part.shape for name, part in scorer_for(process, 8).state_dict().items()}
        assert shapes == {name: part.shape for name, part in network.state_dict().items()}
        logits = network(some_parts(process, 5))
        assert logits.shape == (5, process.actions)
        assert torch.isfinite(logits).all()
    with pytest.raises(ValueError, match="no network for"):
        scorer_for(object(), 8)


@pytest.mark.parametrize("number", [0, 1])
def test_a_configuration_s_place_among_the_others_does_not_matter(number: int) -> None:
    process = make(number).kind.process
    order = np.random.default_rng(1).permutation(process.layout.configs)
    parts = some_parts(process, 3)
    moved = {**parts, "configs": parts["configs"].unflatten(1, (len(order), -1))[:, order].flatten(1)}
    network = ConfigScorer(process, 8)
    logits, other = (network(seen)[:, :-2].unflatten(1, (len(order), -1)) for seen in (parts, moved))
    torch.testing.assert_close(logits[:, order], other)
    torch.testing.assert_close(network(parts)[:, -2:], network(moved)[:, -2:])


def test_an_invoker_s_place_among_the_others_does_not_matter() -> None:
    process = make(1).kind.process
    parts, targets = some_parts(process, 3), process.targets
    order = np.random.default_rng(1).permutation(targets)[::-1].copy()
    moved = {**parts, "invokers": parts["invokers"].unflatten(1, (targets, -1))[:, order].flatten(1)}
    network = ConfigScorer(process, 8)
    logits, other = (network(seen)[:, :-2].unflatten(1, (-1, targets)) for seen in (parts, moved))
    assert not torch.equal(logits[..., 0], logits[..., 1])
    torch.testing.assert_close(logits[..., order], other)


def test_a_choice_of_an_invoker_is_learned() -> None:
    """The first configuration that is legal, on the legal invoker that comes first in the function's walk."""
    env = make(1)
    data = collect(
        step for world in range(4) for step in demonstrate_visits(env, varigym.find_scheduler("esg"), 0, world)
    )
    targets = env.kind.process.targets
    mask = data.parts["action_mask"][:, :-2].reshape(len(data), -1, targets) > 0
    walk = data.parts["invokers"].reshape(len(data), targets, -1)[
        ..., INVOKER_FEATURES.index("place in the function's walk")
    ]
    config = mask.any(axis=2).argmax(axis=1)
    place = np.where(mask[np.arange(len(data)), config], walk, 9).argmin(axis=1)
    wanted = Demonstrations(data.parts, config * targets + place)
    assert len(set(place.tolist())) == targets
    found = agreement(clone(env, wanted, CloneOptions(epochs=20, batch=32, width=16)), env, wanted, least=4)
    assert found.overall > 0.97


def some_parts(process: Any, states: int) -> dict[str, torch.Tensor]:
    """Parts of observations that no environment shows, all actions legal."""
    rng = np.random.default_rng(0)
    parts = {name: torch.from_numpy(rng.random((states, n), np.float32)) for name, n in process.sizes.items() if n}
    return {**parts, "action_mask": torch.ones(states, process.actions)}
