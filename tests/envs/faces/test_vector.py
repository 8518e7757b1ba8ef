"""The native batch against Gymnasium's own batch of scalar environments, lane by lane."""

from __future__ import annotations

import copy
import multiprocessing
import pickle
import warnings
from typing import Any

import gymnasium
import numpy as np
import pytest
from gymnasium.vector import AutoresetMode, SyncVectorEnv
from varigym import InputError
from varigym.envs.cluster.mdp.faces import GpuClusterVectorEnv
from varigym.envs.lanes import parallel
from varigym.registration import CLUSTER, make_cluster_vector
from varigym.scenarios.cluster.scenario import ClusterScenario
from worlds import GPUS, LEVELS, SmallJob, Worlds, small_scenario

WORLDS = 4
CELL = {"window": 4, "decide_every": 1}  # as in test_gym.py, so that one lane is compiled once
STEP_INFO = ("action_mask", "reward_raw", "time_s", "world", "rounds", "illegal")
MODES = list(AutoresetMode)
MANY = 6


def world(seed: int) -> ClusterScenario:
    """Short, and of different lengths, so that lanes end at different steps."""
    rng = np.random.default_rng(200 + seed)
    rows = [
        SmallJob(int(rng.integers(0, 200)), int(rng.integers(1, 6)), int(rng.integers(30, 200)), k % 2)
        for k in range(2 + seed)
    ]
    return small_scenario(rows, rng.choice(LEVELS, (2, GPUS)), rng.choice(LEVELS, (2, GPUS)), restart_s=20.0)


SOURCE = Worlds(tuple(world(seed) for seed in range(WORLDS)))


def native(
    num_envs: int, mode: AutoresetMode = AutoresetMode.NEXT_STEP, base: str = "fifo+random", **options: Any
) -> GpuClusterVectorEnv:
    made = gymnasium.make_vec(
        CLUSTER, num_envs, scenario=SOURCE, worlds=WORLDS, base=base, autoreset_mode=mode, **{**CELL, **options}
    )
    assert isinstance(made.unwrapped, GpuClusterVectorEnv)
    return made.unwrapped


def scalar(num_envs: int, mode: AutoresetMode, base: str = "fifo+random") -> SyncVectorEnv:
    made = gymnasium.make_vec(
        CLUSTER,
        num_envs,
        vectorization_mode="sync",
        vector_kwargs={"autoreset_mode": mode},
        scenario=SOURCE,
        worlds=WORLDS,
        base=base,
        **CELL,
    )
    assert isinstance(made, SyncVectorEnv)
    return made


def draw(rng: np.random.Generator, mask: Any) -> Any:
    return np.array([rng.choice(np.flatnonzero(lane)) for lane in mask])


def assert_same_obs(mine: dict[str, Any], other: dict[str, Any]) -> None:
    assert mine.keys() == other.keys()
    for part, value in mine.items():
        np.testing.assert_array_equal(value, other[part], err_msg=part)
        assert value.dtype == other[part].dtype


def assert_same_info(mine: dict[str, Any], other: dict[str, Any], names: tuple[str, ...] = STEP_INFO) -> None:
    """Where Gymnasium's batch says that a lane has a value, the native one has it too, and it is the same."""
    for name in names:
        told = other.get(f"_{name}", np.zeros(1, bool))
        np.testing.assert_array_equal(mine[f"_{name}"], told, err_msg=f"_{name}")
        np.testing.assert_array_equal(mine[name][told], other[name][told], err_msg=name)


def assert_same_metrics(mine: dict[str, Any], other: dict[str, Any]) -> None:
    assert ("metrics" in mine) == ("metrics" in other)
    if "metrics" in other:
        told = other["_metrics"]
        np.testing.assert_array_equal(mine["_metrics"], told)
        for name in other["metrics"]:
            if not name.startswith("_"):
                np.testing.assert_array_equal(mine["metrics"][name][told], other["metrics"][name][told], err_msg=name)


def assert_same_step(mine: Any, other: Any) -> None:
    assert_same_obs(mine[0], other[0])
    for k in (1, 2, 3):
        np.testing.assert_array_equal(mine[k], other[k])
        assert mine[k].dtype == other[k].dtype


# --- native = Gymnasium's batch of scalar environments


@pytest.mark.parametrize("mode", [AutoresetMode.NEXT_STEP, AutoresetMode.SAME_STEP])
def test_lanes_are_scalar_environments(mode: AutoresetMode) -> None:
    mine, other = native(3, mode), scalar(3, mode)
    (obs, info), (obs_other, info_other) = mine.reset(seed=7), other.reset(seed=7)
    assert_same_obs(obs, obs_other)
    assert_same_info(info, info_other)
    rng, ends, apart = np.random.default_rng(0), np.zeros(3, int), 0
    for _ in range(120):
        action = draw(rng, obs["action_mask"])
        stepped, stepped_other = mine.step(action), other.step(action)
        assert_same_step(stepped, stepped_other)
        obs, _, terminated, truncated, info = stepped
        info_other = stepped_other[-1]
        over = terminated | truncated
        ends, apart = ends + over, apart + (over.any() and not over.all())
        assert_same_info(info, info_other)
        np.testing.assert_array_equal(mine.action_masks(), obs["action_mask"] == 1)
        if mode is AutoresetMode.NEXT_STEP:
            assert_same_metrics(info, info_other)
            continue
        assert ("final_info" in info) == ("final_info" in info_other) == over.any()
        if over.any():
            np.testing.assert_array_equal(info["_final_info"], over)
            np.testing.assert_array_equal(info["_final_obs"], over)
            assert_same_metrics(info["final_info"], info_other["final_info"])
            for name in STEP_INFO:
                np.testing.assert_array_equal(info["final_info"][name][over], info_other["final_info"][name][over])
    assert (ends >= 2).all()
    assert apart >= 2


def test_metrics_are_told_though_another_lane_is_reset_in_the_same_step() -> None:
    one = Worlds((small_scenario([SmallJob(0, 1, 60, 0)]),) * WORLDS)
    env = make_cluster_vector(3, one, "fifo+packed", worlds=WORLDS, **CELL)
    obs, _ = env.reset(seed=0)
    place = int(obs["action_mask"][1].argmax())
    *_, terminated, _, info = env.step(np.array([36, place, place]))
    assert terminated.tolist() == info["_metrics"].tolist() == [True, False, False]
    _, reward, terminated, _, info = env.step(np.array([36, 36, 37]))  # lane 0 is reset, the others end
    assert terminated.tolist() == [False, True, True]
    assert reward.tolist() == [0.0, -1.0, -1.0]
    assert info["reward_raw"].tolist() == [0.0, -60.0, -60.0]
    assert info["_metrics"].tolist() == [False, True, True]
    assert info["metrics"]["mean_jct_s"].tolist()[1:] == [60.0, 60.0]
    *_, info = env.step(np.array([36, 36, 37]))
    assert info["_metrics"].tolist() == [True, False, False]


def test_final_observations_come_in_gymnasiums_form() -> None:
    """An array of one observation per lane, None where the lane goes on: Gymnasium's vector wrappers index it so."""
    mine, other = native(3, AutoresetMode.SAME_STEP), scalar(3, AutoresetMode.SAME_STEP)
    obs, _ = mine.reset(seed=7)
    other.reset(seed=7)
    rng, seen = np.random.default_rng(0), 0
    while seen < 3:
        action = draw(rng, obs["action_mask"])
        obs, _, terminated, truncated, info = mine.step(action)
        info_other = other.step(action)[-1]
        for lane in np.flatnonzero(terminated | truncated):
            assert_same_obs(info["final_obs"][lane], info_other["final_obs"][lane])
            seen += 1


def test_lanes_are_reset_by_hand_where_autoreset_is_disabled() -> None:
    mine, other = native(3, AutoresetMode.DISABLED), scalar(3, AutoresetMode.DISABLED)
    obs, _ = mine.reset(seed=3)
    other.reset(seed=3)
    rng, resets = np.random.default_rng(1), 0
    while resets < 4:
        action = draw(rng, obs["action_mask"])
        stepped, stepped_other = mine.step(action), other.step(action)
        assert_same_step(stepped, stepped_other)
        assert_same_info(stepped[-1], stepped_other[-1])
        assert_same_metrics(stepped[-1], stepped_other[-1])
        obs, over = stepped[0], stepped[2] | stepped[3]
        if over.any():
            with pytest.raises(InputError, match=f"lane {int(np.argmax(over))} is at the end"):
                mine.step(action)
            obs, info = mine.reset(options={"reset_mask": over.copy()})
            obs_other, info_other = other.reset(options={"reset_mask": over.copy()})
            assert_same_obs(obs, obs_other)
            assert_same_info(info, info_other)
            resets += 1


def test_some_lanes_can_be_reseeded() -> None:
    mine, other = native(3), native(3)
    mine.reset(seed=1)
    first, _ = other.reset(seed=[1, 50, 3])
    mask = np.array([False, True, False])
    obs, _ = mine.reset(seed=[None, 50, None], options={"reset_mask": mask})
    assert_same_obs(obs, first)


def test_from_sixteen_lanes_on_two_threads_share_the_work() -> None:
    assert shares(native(15)) == [15]
    assert shares(native(16)) == [8, 8]


def shares(env: GpuClusterVectorEnv) -> list[int]:
    """How many lanes each thread steps."""
    return [len(buffers[-1]) for buffers in env._lanes.snapshot()[1]]


@pytest.mark.parametrize("mode", [AutoresetMode.NEXT_STEP, AutoresetMode.SAME_STEP])
def test_lanes_on_two_threads_are_single_ones(mode: AutoresetMode, monkeypatch: pytest.MonkeyPatch) -> None:
    """Shares of three lanes, as batches of three are compiled anyway."""
    monkeypatch.setattr(parallel, "SPLIT_FROM", MANY)
    many, rng = native(MANY, mode), np.random.default_rng(0)
    assert shares(many) == [3, 3]
    obs, _ = many.reset(seed=40)
    actions, steps = [], [(obs,)]
    for _ in range(100):
        actions.append(draw(rng, steps[-1][0]["action_mask"]))
        steps.append(many.step(actions[-1]))
    assert sum(int((step[2] | step[3]).sum()) for step in steps[1:]) >= 16
    single = scalar(1, mode)
    for lane in range(MANY):
        obs, _ = single.reset(seed=40 + lane)
        for action, step in zip([None, *actions], steps, strict=True):
            if action is not None:
                obs, *rest = single.step(action[lane : lane + 1])
                assert [r[0] for r in rest[:3]] == [r[lane] for r in step[1:4]]
            for part, values in obs.items():
                np.testing.assert_array_equal(values[0], step[0][part][lane])


def test_a_seed_names_a_trajectory() -> None:
    traces = []
    for env in (native(3), native(3)):
        for _ in range(2):
            rng, (obs, _) = np.random.default_rng(0), env.reset(seed=9)
            trace = []
            for _ in range(30):
                obs, reward, *_ = env.step(draw(rng, obs["action_mask"]))
                trace.append((reward.tolist(), {part: value.tolist() for part, value in obs.items()}))
            traces.append(trace)
    assert all(trace == traces[0] for trace in traces)


# --- form


@pytest.mark.parametrize("mode", MODES)
def test_the_autoreset_mode_is_declared(mode: AutoresetMode) -> None:
    assert native(3, mode).metadata["autoreset_mode"] is mode
    assert make_cluster_vector(3, SOURCE, worlds=WORLDS, autoreset_mode=mode.value, **CELL).autoreset_mode is mode


def test_observations_lie_in_the_batched_space_and_stay_as_they_were() -> None:
    env = native(3)
    obs, _ = env.reset(seed=0)
    kept = {part: value.copy() for part, value in obs.items()}
    first = obs
    for _ in range(10):
        assert env.observation_space.contains(obs)
        action = draw(np.random.default_rng(0), obs["action_mask"])
        assert env.action_space.contains(action)
        obs, *_ = env.step(action)
    assert_same_obs(first, kept)
    env.close()


def test_rewards_of_an_episode_sum_to_minus_its_metric() -> None:
    env = native(3, AutoresetMode.NEXT_STEP)
    obs, _ = env.reset(seed=2)
    rng, total, done = np.random.default_rng(4), np.zeros(3), np.zeros(3, bool)
    while not done.all():
        obs, _, terminated, truncated, info = env.step(draw(rng, obs["action_mask"]))
        total += np.where(done, 0.0, info["reward_raw"])
        for lane in np.flatnonzero((terminated | truncated) & ~done):
            jobs = len(SOURCE.scenarios[info["world"][lane]].jobs)
            assert info["_metrics"][lane]
            assert total[lane] == pytest.approx(-jobs * info["metrics"]["mean_jct_s"][lane], rel=1e-12)
        done |= terminated | truncated


# --- snapshots


@pytest.mark.parametrize("way", ["pickle", "deepcopy", "state"])
@pytest.mark.parametrize("mode", [AutoresetMode.NEXT_STEP, AutoresetMode.SAME_STEP])
def test_copies_continue_identically(way: str, mode: AutoresetMode) -> None:
    env = native(3, mode)
    obs, _ = env.reset(seed=5)
    for _ in range(7):
        obs, *_ = env.step(draw(np.random.default_rng(0), obs["action_mask"]))
    if way == "pickle":
        twin = pickle.loads(pickle.dumps(env))
    elif way == "deepcopy":
        twin = copy.deepcopy(env)
    else:
        twin = native(3, mode)
        twin.set_state(env.get_state())
    rng = np.random.default_rng(1)
    for _ in range(40):
        action = draw(rng, obs["action_mask"])
        mine, copied = env.step(action), twin.step(action)
        assert_same_step(mine, copied)
        assert_same_info(mine[-1], copied[-1])
        obs = mine[0]


def test_a_state_of_another_batch_is_refused() -> None:
    env = native(3)
    env.reset(seed=0)
    for other in (native(2), native(3, base="fifo+pal")):
        other.reset(seed=0)
        with pytest.raises(InputError, match="the state is of another environment"):
            env.set_state(other.get_state())
    state = env.get_state()
    with pytest.raises(InputError, match=r"state\['world'\]\[1\] = .*4.*; legal"):
        env.set_state({**state, "world": np.array([0, 4, 0], np.int32)})


# --- other processes


def in_a_child() -> str:
    try:
        native(2)
    except InputError as error:
        return str(error)
    return "made"


def test_a_forked_child_is_refused_in_words() -> None:
    native(2)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # JAX and Python warn of the fork themselves
        with multiprocessing.get_context("fork").Pool(1) as pool:
            said = pool.apply_async(in_a_child).get(timeout=60)
    assert "forked" in said
    assert 'context="forkserver" or "spawn"' in said


# --- refusals


def test_floats_that_hold_whole_numbers_are_actions() -> None:
    env, twin = native(3), native(3)
    env.reset(seed=0)
    twin.reset(seed=0)
    assert_same_step(env.step(np.array([36.0, 36.0, 36.0])), twin.step(np.array([36, 36, 36])))


@pytest.mark.parametrize(
    ("actions", "says"),
    [
        ([36, 36], "shape \\(2,\\)"),
        ([36, 36, 36, 36], "shape \\(4,\\)"),
        (36, "shape \\(\\)"),
        ([[36], [36], [36]], "shape \\(3, 1\\)"),
        ([36.5, 36.0, 36.0], "lane 0: action = 36.5; legal: a whole number"),
        ([36, 36, np.nan], "lane 2: action = nan; legal: a whole number"),
        ([True, True, True], "bool"),
        (["36", "36", "36"], "<U2"),
        ([None, None, None], "object"),
        ([36, 36, 38], "lane 2: action = 38; legal: 0 to 37"),
        ([36, -1, 36], "action = -1; legal: 0 to 37"),
        ([36, 36, 2**40], "legal: 0 to 37"),
        ([36, 8, 36], "lane 1: action 8, KEEP\\(0\\), is not legal here"),
    ],
    ids=str,
)
def test_bad_actions_are_refused_and_nothing_moves(actions: Any, says: str) -> None:
    env, twin = native(3, illegal_action="error"), native(3)
    env.reset(seed=0)
    twin.reset(seed=0)
    with pytest.raises(InputError, match=says):
        env.step(actions if isinstance(actions, int) else np.array(actions))
    go = np.array([36, 36, 36])
    assert_same_step(env.step(go), twin.step(go))


@pytest.mark.parametrize("number", [-1, 38, 2**31, 2**40, -(2**40)])
def test_numbers_beyond_the_space_count_as_rest_under_noop(number: int) -> None:
    env, twin = native(3, illegal_action="noop"), native(3)
    env.reset(seed=0)
    twin.reset(seed=0)
    stepped = env.step(np.array([36, number, 36]))
    assert_same_step(stepped, twin.step(np.array([36, 36, 36])))
    assert stepped[-1]["illegal"].tolist() == [False, True, False]


def test_a_penalty_is_taken_from_the_lane_that_earned_it() -> None:
    env, twin = native(3, illegal_action="penalty", illegal_penalty=2.0), native(3)
    env.reset(seed=0)
    twin.reset(seed=0)
    _, reward, *_ = env.step(np.array([36, 8, 36]))
    _, plain, *_ = twin.step(np.array([36, 36, 36]))
    np.testing.assert_allclose(reward, plain - [0.0, 2.0, 0.0])


@pytest.mark.parametrize("mode", MODES)
def test_a_step_before_the_first_reset_is_refused(mode: AutoresetMode) -> None:
    with pytest.raises(InputError, match="reset"):
        native(3, mode).step(np.array([36, 36, 36]))


@pytest.mark.parametrize(
    ("given", "says"),
    [
        ({"options": {"reset_mask": np.zeros(3, bool)}}, "reset_mask"),
        ({"options": {"reset_mask": np.ones(4, bool)}}, "reset_mask has shape \\(4,\\)"),
        ({"options": {"reset_mask": np.array([1, np.nan, 0])}}, "reset_mask has .* type float64; legal: 3 times True"),
        ({"options": {"reset_mask": [1, 2, 0]}}, "reset_mask"),
        ({"options": {"wrld": 1}}, "reset option 'wrld'; did you mean world or worlds"),
        ({"options": {"worlds": 0}}, "worlds = 0; legal: one for each of the 3 lanes"),
        ({"options": {"worlds": [0, 1]}}, "worlds = .*; legal: one for each of the 3 lanes"),
        ({"options": {"worlds": [0, 4, 0]}}, "world of lane 1 = 4; legal: a whole number, 0 to 3"),
        ({"options": {"worlds": [0, True, 0]}}, "world of lane 1 = True; legal"),
        ({"options": {"worlds": [0, 0, 0], "world": 1}}, "world and worlds; legal: one of them"),
        ({"options": [0]}, "reset options = \\[0\\]; legal: a dictionary"),
        ({"seed": 1.5}, "seed = 1.5; legal"),
        ({"seed": "123"}, "seed = '123'; legal"),
        ({"seed": True}, "seed = True; legal"),
        ({"seed": [1, -2, 3]}, "seed of lane 1 = -2; legal"),
        ({"options": {"world": 9}}, "world = 9; legal"),
        ({"seed": [1, 2]}, "seed"),
        ({"seed": [1, 2, 3, 4]}, "seed"),
    ],
    ids=str,
)
def test_bad_resets_are_refused(given: dict[str, Any], says: str) -> None:
    env = native(3)
    env.reset(seed=0)
    with pytest.raises(InputError, match=says):
        env.reset(**given)


@pytest.mark.parametrize(
    ("given", "says"),
    [
        ({"num_envs": 0}, "num_envs = 0; legal"),
        ({"num_envs": -3}, "num_envs = -3; legal"),
        ({"num_envs": 2.0}, "num_envs = 2.0; legal"),
        ({"num_envs": True}, "num_envs = True; legal"),
        ({"num_envs": "3"}, "num_envs = '3'; legal"),
        ({"num_envs": 10**9}, "num_envs = .*; legal: a whole number, 1 to 65,536"),
        ({"autoreset_mode": "Sometimes"}, "autoreset_mode = 'Sometimes'; did you mean SameStep"),
        ({"render_mode": "ansi"}, "render_mode = 'ansi'"),
        ({"windw": 3}, "did you mean window"),
        ({"worlds": 0}, "worlds = 0; legal"),
        ({"base": "sqrt+pal"}, "needs clairvoyant=True"),
    ],
    ids=str,
)
def test_bad_options_are_refused_in_words(given: dict[str, Any], says: str) -> None:
    with pytest.raises(InputError, match=says):
        make_cluster_vector(**{"num_envs": 3, "scenario": SOURCE, "worlds": WORLDS, **CELL, **given})
