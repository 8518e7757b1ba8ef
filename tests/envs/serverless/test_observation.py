"""What an observation says of `tiny-serverless` by hand, and what the tables behind it say of forks.

Milliseconds under (batch, vCPU, vGPU) = (1, 1, 1), (1, 1, 2), (2, 1, 1), (2, 1, 2): look 100, 60, 150, 90; say 40, 30,
60, 40. The promise of look-and-say is 1.5 * 140 = 210 ms.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from serverless_small import FORK, make, small_world
from varigym.envs.serverless.mdp.observation import CONFIG_FEATURES, QUEUE_FEATURES
from varigym.envs.serverless.mdp.platform_features import INVOKER_FEATURES
from varigym.envs.serverless.world import cheapest_usd, latency_ticks, stages_left, usd_per_tick
from varigym.registration import make_serverless

SMALL, LARGE = 0.034 + 0.67, 0.034 + 2 * 0.67
SLO_MS = 210.0


def named(part: Any, names: tuple[str, ...]) -> dict[str, Any]:
    """Columns of a part by their names."""
    return dict(zip(names, np.reshape(part, (-1, len(names))).T, strict=True))


def test_the_first_visit_of_the_tiny_world() -> None:
    env = make_serverless("tiny-serverless", "min-config", worlds=1, choose_invoker=True)
    seen, _ = env.reset(seed=0)
    configs, queue = named(seen["configs"], CONFIG_FEATURES), named(seen["queue"], QUEUE_FEATURES)
    assert configs["the queue holds its batch"].tolist() == [1, 1, 0, 0]
    look_ms, per_job = np.array([100, 60, 150, 90]), np.array([100 * SMALL, 60 * LARGE, 75 * SMALL, 45 * LARGE])
    way = 75 * SMALL + 30 * SMALL
    expected = {
        "mean run time over SLO": look_ms / SLO_MS,
        "log mean run time over the slack": np.log(look_ms / SLO_MS),
        "slack less it and the fastest later stages over SLO": (SLO_MS - look_ms - 30) / SLO_MS,
        "log cost per job over the cheapest": np.log(per_job / per_job.min()),
        "cost per job over the cheapest way to the end": per_job / way,
    }
    for name, values in expected.items():
        np.testing.assert_allclose(configs[name], values, rtol=1e-5, err_msg=name)
    told = {
        "slack over SLO": 1.0,
        "share of the way done before this stage": 0.0,
        "share of the way done after it": 60 / 90,
        "fastest run of this stage over SLO": 60 / SLO_MS,
        "fastest later stages over SLO": 30 / SLO_MS,
        "cheapest run of this stage over the cheapest way to the end": 75 * SMALL / way,
        "log stages left": 1 / 3,
        "first stage": 1.0,
        "log gain from batching": np.log(2 * 100 / 150),
        "log gain from vCPUs": 0.0,
        "log gain from vGPUs": np.log(100 / 60),
        "share of invokers with a warm container": 1.0,
    }
    for name, value in told.items():
        assert queue[name] == pytest.approx([value], rel=1e-5), name


def test_invokers_of_the_tiny_world_after_a_stage() -> None:
    env = make_serverless("tiny-serverless", "min-config", worlds=1, choose_invoker=True)
    observation, info = env.reset(seed=0)
    assert (
        named(observation["invokers"], INVOKER_FEATURES)["share of the head request's inputs that lie there"].max() == 0
    )
    observation, _, _, _, info = env.step(1)  # configuration 0 on invoker 1
    own = named(observation["invokers"], INVOKER_FEATURES)
    assert own["free vGPUs over the largest configuration's"].tolist() == [1.0, 0.5]
    assert own["free vCPUs over the largest configuration's"].tolist() == [2.0, 1.0]
    assert own["has a warm container of the function"].tolist() == [1.0, 0.0]  # look runs there
    wait = env.kind.process.wait
    while observation["others"].reshape(-1, 4)[1, 3] == 0:  # until `say` is asked about
        observation, _, _, _, info = env.step(wait)
    assert info["time_s"] == pytest.approx(0.1)
    own = named(observation["invokers"], INVOKER_FEATURES)
    assert own["share of the head request's inputs that lie there"].tolist() == [0.0, 1.0]
    assert own["share of the largest batch's inputs that lie there"].tolist() == [0.0, 1.0]
    reading = own["reading the head request's inputs there over SLO"]
    np.testing.assert_allclose(reading, np.array([1.0, 0.2]) / SLO_MS, rtol=1e-5)  # remote, local
    assert own["has a warm container of the function"].tolist() == [1.0, 1.0]


def test_ways_count_every_branch_once() -> None:
    world = small_world(0, FORK)  # 0 -> 1, 2 -> 3 and a chain of two
    least = (latency_ticks(world) * usd_per_tick(world) / world.grid.batch).min(axis=1)
    first, second = (least[list(workflow.functions)] for workflow in world.workflows)
    wanted = [first.sum(), first[1] + first[3], first[2] + first[3], first[3], second.sum(), second[1]]
    np.testing.assert_allclose(cheapest_usd(world), wanted)
    assert stages_left(world).tolist() == [3, 2, 2, 1, 2, 1]


def test_invokers_are_shown_where_actions_name_them() -> None:
    plain, naming = make(0), make(1)
    assert "invokers" not in plain.observation_space.spaces
    shape = naming.observation_space["invokers"].shape
    assert shape == (naming.kind.process.targets * len(INVOKER_FEATURES),)
