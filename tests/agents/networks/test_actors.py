"""Networks as schedulers: compiled episodes are those of the environment, and come out of a checkpoint folder."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cache
from importlib.metadata import version
from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest
import torch
import varigym
from learning_tasks import OPTIONS
from serverless_small import FORK, make, source
from varigym.agents.checkpoints.checkpoint import Training, save_checkpoint
from varigym.agents.checkpoints.policies import load_policy, scorer_checkpoint
from varigym.agents.networks import actors
from varigym.agents.networks.actors import ClusterActor, ServerlessActor
from varigym.agents.networks.jax_networks import CONFIGS, SLOTS, arrays_of, best_legal
from varigym.agents.networks.torch_networks import scorer_for
from varigym.agents.recipes.bc import act
from varigym.envs.cluster.bank import make_bank
from varigym.envs.cluster.mdp.faces import GpuClusterEnv
from varigym.scenarios.errors import InputError
from worlds import LEVELS, SmallJob, Worlds, small_scenario

BINS = np.tile(np.repeat(LEVELS[:3], 3), (2, 1))
WORLDS = Worlds(
    tuple(
        small_scenario([SmallJob(20 * k, 1 + (5 * k + w) % 9, 50 + 60 * (k % 4), k % 2) for k in range(12)], BINS)
        for w in range(2)
    )
)
TRAINING = Training("none", seeds=(1,))
PLACES = ["cluster", "serverless", "serverless, invokers named"]
SEEDS = dict(zip(PLACES, [(0, 1), (0, 1, 2), (0, 1, 2)], strict=True))
"""Worlds of each: in a cluster as many as in tests of learners, so that nothing is compiled twice."""


@cache
def environment(place: str) -> Any:
    if place == "cluster":
        return GpuClusterEnv(make_bank(WORLDS.scenarios), varigym.find_policy("fifo+pal"), OPTIONS)
    return make(PLACES.index(place) - 1, log=True)


@cache
def scorer(place: str, seed: int = 0) -> torch.nn.Module:
    torch.manual_seed(seed)
    network = scorer_for(environment(place).kind.process, 8).eval()
    with torch.no_grad():
        for name, value in network.named_parameters():
            if name in ("finish.bias", "finish.2.bias"):  # to end a plan, to wait and to drop are the last resort
                value.sub_(0.5)
    return network


@pytest.fixture(scope="module")
def folders(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    shelf = tmp_path_factory.mktemp("shelf")
    made = {p: scorer_checkpoint(environment(p).kind, arrays_of(scorer(p)), TRAINING) for p in PLACES}
    return {p: save_checkpoint(shelf / p.replace(", ", "-").replace(" ", "-"), made[p]) for p in PLACES}


@cache
def stepped(place: str, world: int) -> tuple[Any, list[int]]:
    """(record, actions) of an episode in the environment, action by action; torch and JAX agree on each."""
    env, network = environment(place), scorer(place)
    twin = SLOTS if place == "cluster" else CONFIGS
    prepared, logits = twin.prepare(arrays_of(network)), jax.jit(twin.logits)
    observation, _ = env.reset(seed=0, options={"world": world})
    actions, over = [], False
    while not over:
        parts = {name: jnp.asarray(part) for name, part in observation.items() if name != "action_mask"}
        action = int(best_legal(logits(prepared, parts, jnp.asarray(observation["action_mask"] > 0))))
        assert action == act(network, observation)
        actions.append(action)
        observation, _, terminated, truncated, _ = env.step(action)
        over = terminated or truncated
    return env.record(), actions


@dataclass(frozen=True)
class Drawn:
    """Three worlds, for any seed."""

    name = "drawn"

    def build(self, seed: int) -> Any:
        return replace(source(FORK).build(seed % 3), name=self.name)


def sourced(place: str) -> Any:
    return WORLDS if place == "cluster" else source(FORK)


def same_results(one: Any, other: Any) -> bool:
    """Of two records: everything that happened, and when."""
    names = ["jobs"] if hasattr(one, "jobs") else ["requests", "tasks"]
    pairs = [(getattr(one, name), getattr(other, name)) for name in names]
    return all(
        np.array_equal(value, getattr(b, field), equal_nan=value.dtype.kind == "f")
        for a, b in pairs
        for field, value in vars(a).items()
    )


@pytest.mark.parametrize("place", [PLACES[0], *(pytest.param(place, marks=pytest.mark.slow) for place in PLACES[1:])])
def test_a_compiled_episode_is_that_of_the_environment(place: str, folders: dict[str, Path]) -> None:
    records = varigym.simulate(sourced(place), str(folders[place]), SEEDS[place])
    for world, record in enumerate(records):
        expected, actions = stepped(place, world)
        assert same_results(record, expected)
        assert record.policy.startswith(f"{folders[place].name}@")
        decisions = record.rounds if place == "cluster" else record.visits
        assert decisions == len(actions)
        assert len(set(actions)) > 3


def test_weights_of_one_shape_share_one_program(folders: dict[str, Path], monkeypatch: pytest.MonkeyPatch) -> None:
    first = load_policy(folders["cluster"])[1]
    varigym.simulate(WORLDS, first, SEEDS["cluster"])
    monkeypatch.setattr(actors, "loop_until", None)  # tracing would call it
    other = replace(first, weights=arrays_of(scorer("cluster", seed=1)), name="other")
    assert [record.policy for record in varigym.simulate(WORLDS, other, SEEDS["cluster"])] == ["other"] * 2


@pytest.mark.slow
@pytest.mark.skipif(not version("jaxlib").startswith("0.10."), reason="says what jaxlib 0.10 makes of an episode")
def test_an_episode_is_one_machine_function() -> None:
    kind, weights = environment("serverless").kind, arrays_of(scorer("serverless"))
    key, number = jax.random.key_data(jax.random.key(0)), jnp.int32(0)
    run = jax.jit(actors.play, static_argnums=(0, 1))
    lowered = run.lower(kind.process, CONFIGS, kind.bank.worlds, number, kind.data, weights, key, number)
    text = lowered.compile().as_text()
    assert text.count(" while(") == text.count('xla_cpu_small_call="true"') > 0


@pytest.mark.slow
def test_more_jobs_than_there_is_room_for(folders: dict[str, Path]) -> None:
    world = small_scenario([SmallJob(10, 9, 100, 0) for _ in range(40)], BINS)
    actor = load_policy(folders["cluster"])[1]
    roomy, tight = (replace(actor, options=replace(actor.options, slots=slots)) for slots in (64, 32))
    assert same_results(varigym.simulate(world, tight)[0], varigym.simulate(world, roomy)[0])


@pytest.mark.slow
def test_more_requests_than_there_is_room_for(folders: dict[str, Path], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(actors.serverless, "FIRST_PLACES", 8)
    (record,) = varigym.simulate(source(FORK), folders["serverless"], 0)
    assert same_results(record, stepped("serverless", 0)[0])


def test_what_was_saved_says_what_it_is(folders: dict[str, Path], tmp_path: Path) -> None:
    env = GpuClusterEnv(make_bank(WORLDS.scenarios), varigym.find_policy("fifo+pal"), replace(OPTIONS, decide_every=3))
    saved = scorer_checkpoint(env.kind, arrays_of(scorer("cluster")), TRAINING)
    world, actor = load_policy(save_checkpoint(tmp_path / "rhythm", saved))
    assert world == "cluster"
    assert isinstance(actor, ClusterActor)
    assert (actor.base.name, actor.options.window, actor.options.decide_every) == ("fifo+pal", 8, 3)
    assert actor.information == "non-clairvoyant"
    world, scheduler = load_policy(folders[PLACES[2]])
    assert world == "serverless"
    assert isinstance(scheduler, ServerlessActor)
    assert scheduler.options.choose_invoker
    assert scheduler.base.name == "infless"


def test_worlds_that_it_cannot_see_are_refused(folders: dict[str, Path]) -> None:
    with pytest.raises(InputError, match=r"tiny has 4 app classes; cluster@.* was made for 2"):
        varigym.simulate("tiny", folders["cluster"])
    with pytest.raises(InputError, match=r"strict-light has configurations of up to 7 vGPUs; .* was made for 2"):
        varigym.simulate("strict-light", folders["serverless"])
    with pytest.raises(InputError, match="bins"):
        varigym.simulate(small_scenario([SmallJob(0, 1, 10, 0)], np.arange(18).reshape(2, 9) + 1.0), folders["cluster"])
    for place, other in ((PLACES[0], source(FORK)), (PLACES[1], WORLDS)):
        with pytest.raises(InputError, match=r"is for .*; legal for"):
            varigym.simulate(other, folders[place])
        with pytest.raises(InputError, match="legal for"):
            varigym.simulate(other, load_policy(folders[place])[1])


def test_weights_of_another_network_are_refused() -> None:
    kind = environment("cluster").kind
    with pytest.raises(InputError, match="weights of no cluster-scorer"):
        scorer_checkpoint(kind, arrays_of(scorer("serverless")), TRAINING)
    weights = arrays_of(scorer("cluster"))
    with pytest.raises(InputError, match=r"weight encode\.2\.weight has shape"):
        scorer_checkpoint(kind, weights | {"encode.2.weight": weights["encode.0.weight"]}, TRAINING)


def test_a_network_is_benchmarked_beside_experts(folders: dict[str, Path], tmp_path: Path) -> None:
    def run() -> Any:
        policies = ["min-config", folders["serverless"]]
        return varigym.compare([Drawn()], policies, seeds=3, out=tmp_path)

    rows = run().rows
    names = {row.policy for row in rows}
    assert len(names) == 2
    assert len(run().rows) == len(rows)
    changed = scorer_checkpoint(environment("serverless").kind, arrays_of(scorer("serverless", 1)), TRAINING)
    save_checkpoint(folders["serverless"], changed)
    try:
        assert len({row.policy for row in run().rows}) == 3  # what ran before is not taken for it
    finally:
        old = scorer_checkpoint(environment("serverless").kind, arrays_of(scorer("serverless")), TRAINING)
        save_checkpoint(folders["serverless"], old)
