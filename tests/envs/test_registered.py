"""Contract of every registered environment: the ecosystem's own loops and checkers, every autoreset mode, every end."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from typing import Any

import contracts
import gymnasium
import numpy as np
import pytest
import varigym
from contracts import check_checkers, check_loop, play
from gymnasium.vector import AutoresetMode
from gymnasium.wrappers import TimeLimit
from serverless_small import MADE
from serverless_small import WORLDS as SERVERLESS_WORLDS
from varigym import IllegalActionWarning
from varigym.registration import CLUSTER, SERVERLESS
from worlds import SmallJob, Worlds, small_scenario

LENGTHS_S = ((600, 900), (400, 1200), (700, 700), (1000, 500))
CLUSTERS = Worlds(
    tuple(small_scenario([SmallJob(0, 1, first, 0), SmallJob(60, 2, then, 1)]) for first, then in LENGTHS_S)
)
SMALL: dict[str, dict[str, Any]] = {
    CLUSTER: {"scenario": CLUSTERS, "worlds": 4, "window": 4, "decide_every": 1, "base": "fifo+random"},
    SERVERLESS: {**MADE[0], "worlds": SERVERLESS_WORLDS, "window_s": None},
}
"""Every registered id on small worlds."""
IDS = sorted(SMALL)
MODES = list(AutoresetMode)
CUT = 5


def test_every_registered_id_is_tried() -> None:
    assert sorted(name for name in gymnasium.registry if name.startswith("varigym/")) == IDS


# --- the loops of tutorials


@pytest.mark.parametrize("name", IDS)
def test_checkers_pass_with_default_options(name: str) -> None:
    check_checkers(name, SMALL[name])


@pytest.mark.parametrize("name", IDS)
def test_the_loop_of_every_tutorial(name: str) -> None:
    check_loop(name, SMALL[name])


@pytest.mark.parametrize("name", IDS)
def test_a_batch_counts_and_says_illegal_actions_too(name: str) -> None:
    env, seen = native(name, 2, AutoresetMode.SAME_STEP), 0
    env.reset(seed=0)
    env.action_space.seed(0)
    illegal = np.zeros(2)
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always")
        while seen < 3:
            *_, terminated, truncated, info = env.step(env.action_space.sample())
            over = terminated | truncated
            last = info["final_info"] if over.any() else info
            illegal += np.where(over, last["illegal"], info["illegal"])
            for lane in np.flatnonzero(over):
                assert last["metrics"]["illegal_actions"][lane] == illegal[lane]
                illegal[lane], seen = 0, seen + 1
    assert [warning.category for warning in said] == [IllegalActionWarning]


# --- batches: every mode, one lane, some or all lanes at their end, resets by hand


def native(name: str, lanes: int, mode: AutoresetMode, **more: Any) -> Any:
    return contracts.native(name, {**SMALL[name], **more}, lanes, mode)


def lockstep(name: str, lanes: int, mode: AutoresetMode, steps: int, **more: Any) -> Iterator[Any]:
    return contracts.lockstep(name, {**SMALL[name], **more}, lanes, mode, steps)


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("name", IDS)
def test_one_lane(name: str, mode: AutoresetMode) -> None:
    assert sum(play(lockstep(name, 1, mode, 250))) >= 2


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("name", IDS)
def test_some_lanes_end(name: str, mode: AutoresetMode) -> None:
    ended = play(lockstep(name, 3, mode, 250), by_hand_at=4 if mode is not AutoresetMode.SAME_STEP else None)
    assert {0, 1} <= set(ended)


@pytest.mark.parametrize("lanes", [1, 2, 3])
@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("name", IDS)
def test_all_lanes_end_together(name: str, mode: AutoresetMode, lanes: int) -> None:
    """`max_episode_steps` truncates a batch as it truncates single environments, again after each reset."""
    ended = play(lockstep(name, lanes, mode, 4 * CUT, max_episode_steps=CUT))
    assert ended.count(lanes) >= 2


# --- max_episode_steps


@pytest.mark.parametrize("name", IDS)
def test_a_single_environment_is_truncated(name: str) -> None:
    env = gymnasium.make(name, max_episode_steps=2, **SMALL[name])
    assert isinstance(env, TimeLimit)
    env.reset(seed=0)
    wait = int(env.action_space.n) - 2  # type: ignore[attr-defined]
    assert [env.step(wait)[3] for _ in range(2)] == [False, True]


@pytest.mark.parametrize("name", IDS)
@pytest.mark.parametrize("limit", [0, 2.5, True, "ten"])
def test_a_bad_limit_is_refused(name: str, limit: Any) -> None:
    with pytest.raises(varigym.InputError, match=r"max_episode_steps = .*; legal: a whole number"):
        native(name, 2, AutoresetMode.NEXT_STEP, max_episode_steps=limit)


@pytest.mark.parametrize("name", IDS)
def test_a_copy_remembers_steps_and_illegal_actions(name: str) -> None:
    env = native(name, 2, AutoresetMode.NEXT_STEP, max_episode_steps=CUT)
    env.reset(seed=0)
    for _ in range(CUT - 1):
        env.step(np.array([-1, -1]))
    twin = native(name, 2, AutoresetMode.NEXT_STEP, max_episode_steps=CUT)
    twin.set_state(env.unwrapped.get_state())
    told = twin.step(np.array([-1, -1]))
    assert told[3].all() or told[2].any()
    assert told[-1]["metrics"]["illegal_actions"].max() == CUT
