"""Every face of the serverless environment: checkers, seeds, copies, batches, all options at random, words."""

from __future__ import annotations

import copy
import pickle
import random
import warnings
from typing import Any

import gymnasium
import numpy as np
import pytest
from gymnasium.utils.env_checker import check_env
from gymnasium.vector import AutoresetMode, SyncVectorEnv
from serverless_small import FORK, MADE, REQUESTS, STEP_INFO, WORLDS, episode, go_on, legal, make, same, source
from varigym import IllegalActionWarning, InputError
from varigym.agents.vec_env import ServerlessGpuVecEnv
from varigym.envs.serverless.mdp.faces import ServerlessGpuEnv, ServerlessGpuVectorEnv
from varigym.envs.serverless.metrics import METRICS
from varigym.registration import SERVERLESS

LANES = 3
TOTALS = {"hit_rate", "cost_usd_per_request", "served", "shed", "unfinished", "cold_starts"}
BATCH: dict[str, Any] = {**MADE[0], "worlds": WORLDS, "window_s": None}


# --- checkers


@pytest.mark.parametrize("number", range(len(MADE)))
def test_checkers_find_nothing(number: int) -> None:
    checker = pytest.importorskip("stable_baselines3.common.env_checker")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        warnings.simplefilter("ignore", IllegalActionWarning)  # checkers act at random
        options = {**MADE[number], "worlds": WORLDS, "window_s": None}
        made = gymnasium.make(SERVERLESS, render_mode="ansi", **options)
        check_env(made.unwrapped, skip_render_check=False)
        checker.check_env(make(number), warn=True, skip_render_check=False)


def test_info_has_what_the_docs_name() -> None:
    for number, names in ((0, {metric.name for metric in METRICS.values()}), (2, TOTALS)):
        env = make(number)
        _, info = env.reset(seed=0)
        assert set(info) == STEP_INFO
        assert (info["reward_raw"], info["elapsed_ms"], info["shed"]) == (0.0, 0.0, 0)
        assert info["reward_terms"] == {"hits": 0, "cost_usd": 0.0}
        steps = list(go_on(env, np.random.default_rng(0)))
        assert all(set(step[-1]) == STEP_INFO for step in steps[:-1])
        last = steps[-1][-1]
        assert set(last) == STEP_INFO | {"metrics"}
        assert set(last["metrics"]) == {*names, "illegal_actions"}
        assert all(isinstance(value, float) for value in last["metrics"].values())
        assert (type(last["shed"]), type(last["reward_terms"]["hits"])) == (int, int)


# --- whatever the options and the actions


@pytest.mark.parametrize("illegal_action", ["noop", "penalty"])
@pytest.mark.parametrize("number", range(len(MADE)))
def test_any_actions_end_an_episode(number: int, illegal_action: str) -> None:
    env = make(number, illegal_action=illegal_action, illegal_penalty=0.5, reward_scale=3.0)
    lots = np.random.default_rng(number)
    for index in range(WORLDS):
        env.reset(options={"world": index})
        over, steps, illegal, total = False, 0, 0, 0.0
        while not over:
            action = int(lots.integers(-1, int(env.action_space.n) + 1))
            allowed = 0 <= action < int(env.action_space.n) and env.action_masks()[action]
            _, reward, terminated, truncated, info = env.step(action)
            assert info["illegal"] == (not allowed)
            own = info["reward_raw"] / 3.0 - 0.5 * (illegal_action == "penalty") * info["illegal"]
            assert reward == pytest.approx(own)
            over, steps, illegal, total = terminated or truncated, steps + 1, illegal + info["illegal"], total + own
        assert 0 < steps < 100 * REQUESTS
        assert illegal > 0
        assert np.isfinite(total)


# --- seeds and copies


def test_a_seed_names_a_trajectory() -> None:
    env = make()
    first = episode(env, 3)
    assert same(first, episode(env, 3))
    before = np.random.get_state()[1].tolist(), random.getstate()  # noqa: NPY002
    other = make()
    other.reset(seed=99)
    assert same(first, episode(other, 3))
    assert (np.random.get_state()[1].tolist(), random.getstate()) == before  # noqa: NPY002
    np.random.seed(17)  # noqa: NPY002 (what a careless user does)
    random.seed(17)
    assert same(first, episode(other, 3))
    assert not same(first, episode(env, 4))


@pytest.mark.parametrize("way", ["pickle", "deepcopy", "state"])
@pytest.mark.parametrize(("number", "after"), [(0, 0), (0, 25), (1, 25), (2, 25)])
def test_copies_continue_identically(way: str, number: int, after: int) -> None:
    env = make(number)
    env.reset(seed=11)
    rng = np.random.default_rng(0)
    for _ in range(after):
        env.step(int(rng.choice(legal(env))))
    if way == "pickle":
        twin = pickle.loads(pickle.dumps(env))
    elif way == "deepcopy":
        twin = copy.deepcopy(env)
    else:
        twin = make(number)
        twin.set_state(env.get_state())
    assert same(twin.get_state(), env.get_state())
    assert same(list(go_on(env, np.random.default_rng(1))), list(go_on(twin, np.random.default_rng(1))))
    assert same(episode(env, None), episode(twin, None))  # the next worlds too


def test_a_recorded_episode_replays_to_the_same_rewards() -> None:
    env, replay = make(), make()
    recorded = episode(env, 21, 5)[1:]
    replay.reset(seed=21)
    steps = [replay.step(action) for action, *_ in recorded]
    assert [step[1] for step in steps] == [step[2] for step in recorded]
    assert same(steps[-1][-1]["metrics"], recorded[-1][-1]["metrics"])


# --- batches


def native(mode: AutoresetMode) -> ServerlessGpuVectorEnv:
    made = gymnasium.make_vec(SERVERLESS, LANES, autoreset_mode=mode, **BATCH).unwrapped
    assert isinstance(made, ServerlessGpuVectorEnv)
    return made


def scalar(mode: AutoresetMode) -> SyncVectorEnv:
    made = gymnasium.make_vec(
        SERVERLESS, LANES, vectorization_mode="sync", vector_kwargs={"autoreset_mode": mode}, **BATCH
    )
    assert isinstance(made, SyncVectorEnv)
    return made


def draw(rng: np.random.Generator, mask: Any) -> Any:
    return np.array([rng.choice(np.flatnonzero(lane)) if lane.any() else 0 for lane in mask])


def assert_same_told(mine: Any, other: Any, where: Any, path: str = "info") -> None:
    """Where Gymnasium's batch tells of a lane, the native one tells the same."""
    for name, value in other.items():
        if name.startswith("_") or name in ("final_obs", "final_info"):
            continue
        told = other.get(f"_{name}", where)
        if isinstance(value, dict):
            assert_same_told(mine[name], value, told, f"{path}.{name}")
        else:
            np.testing.assert_array_equal(mine[name][told], value[told], err_msg=f"{path}.{name}")


@pytest.mark.parametrize("mode", [AutoresetMode.NEXT_STEP, AutoresetMode.SAME_STEP])
def test_lanes_are_scalar_environments(mode: AutoresetMode) -> None:
    mine, other = native(mode), scalar(mode)
    (obs, info), (obs_other, info_other) = mine.reset(seed=7), other.reset(seed=7)
    assert same(obs, obs_other)
    everyone = np.ones(LANES, bool)
    assert_same_told(info, info_other, everyone)
    rng, ends = np.random.default_rng(0), np.zeros(LANES, int)
    for _ in range(300):
        action = draw(rng, obs["action_mask"])
        (obs, *numbers, info), (obs_other, *numbers_other, info_other) = mine.step(action), other.step(action)
        assert same(obs, obs_other)
        assert same(numbers, numbers_other)
        over = numbers[1] | numbers[2]
        ends += over
        assert_same_told(info, info_other, everyone)
        if mode is AutoresetMode.SAME_STEP and over.any():
            assert_same_told(info["final_info"], info_other["final_info"], over)
            for lane in np.flatnonzero(over):
                assert same(info["final_obs"][lane], info_other["final_obs"][lane])
    assert (ends >= 2).all()


def test_some_lanes_can_be_reset_by_hand() -> None:
    mine, other = native(AutoresetMode.DISABLED), scalar(AutoresetMode.DISABLED)
    obs, _ = mine.reset(seed=3)
    other.reset(seed=3)
    rng, resets = np.random.default_rng(1), 0
    while resets < 3:
        action = draw(rng, obs["action_mask"])
        (obs, *numbers, _), (_, *numbers_other, _) = mine.step(action), other.step(action)
        assert same(numbers, numbers_other)
        over = numbers[1] | numbers[2]
        if over.any():
            obs, _ = mine.reset(options={"reset_mask": over.copy()})
            assert same(obs, other.reset(options={"reset_mask": over.copy()})[0])
            resets += 1


def test_a_native_batch_is_copied_too() -> None:
    mine = native(AutoresetMode.NEXT_STEP)
    obs, _ = mine.reset(seed=3)
    rng = np.random.default_rng(1)
    for _ in range(10):
        obs = mine.step(draw(rng, obs["action_mask"]))[0]
    twin, action = pickle.loads(pickle.dumps(mine)), draw(rng, obs["action_mask"])
    assert same(twin.step(action), mine.step(action))


def test_stable_baselines_lanes_are_single_environments() -> None:
    kind = make().kind
    batch = ServerlessGpuVecEnv(kind.bank, kind.base, LANES, kind.options)
    singles = [make() for _ in range(LANES)]
    batch.seed(7)
    seen = batch.reset()
    for lane, env in enumerate(singles):
        assert same({name: part[lane] for name, part in seen.items()}, env.reset(seed=7 + lane)[0])
    rng, ends, returns = np.random.default_rng(0), 0, np.zeros(LANES)
    for _ in range(200):
        actions = draw(rng, np.array(batch.env_method("action_masks")))
        seen, rewards, dones, infos = batch.step(actions)
        for lane, env in enumerate(singles):
            own, reward, terminated, truncated, info = env.step(actions[lane])
            returns[lane] += float(reward)
            assert rewards[lane] == pytest.approx(float(reward), rel=1e-6)
            assert dones[lane] == (terminated or truncated)
            if dones[lane]:
                ends += 1
                assert same(infos[lane]["terminal_observation"], own)
                assert same(infos[lane]["metrics"], info["metrics"])
                assert infos[lane]["TimeLimit.truncated"] == truncated
                assert infos[lane]["episode"]["r"] == pytest.approx(returns[lane])
                returns[lane], own = 0.0, env.reset()[0]
            for name in ("reward_raw", "elapsed_ms", "shed", "reward_terms"):
                assert same(infos[lane][name], info[name]), name
            assert same({name: part[lane] for name, part in seen.items()}, own)
    assert ends > LANES


# --- words


def test_actions_in_words() -> None:
    env, invoker = make(2), make(1)
    assert env.describe(0) == "SERVE(1 x 1 vCPU, 1 vGPU)"
    assert env.describe(7) == "SERVE(2 x 2 vCPU, 2 vGPU)"
    assert [env.describe(a) for a in (8, 9)] == ["WAIT", "DROP"]
    assert invoker.describe(5) == "SERVE(1 x 2 vCPU, 1 vGPU) on invoker 1"
    assert [invoker.describe(a) for a in (16, 17)] == ["WAIT", "DROP"]
    for bad in (-1, 10, 1.5):
        with pytest.raises(InputError, match=r"action = .*; legal: a whole number, 0 to 9"):
            env.describe(bad)  # type: ignore[arg-type]


def test_rendering_shows_queues_and_tasks() -> None:
    env = make(render_mode="ansi")
    with pytest.raises(InputError, match="reset"):
        env.render()
    env.reset(options={"world": 0})
    text = env.render()
    assert text is not None
    names = [function.name for function in env.kind.bank.scenarios[0].functions]
    time, *queues, first, second = text.splitlines()
    assert time.startswith("t = ")
    assert queues[0].startswith("> w")
    assert any(name in queues[0] for name in names)
    assert (first, second) == ("invoker   0 | ..", "invoker   1 | ...")
    env.step(0)
    text = env.render()
    assert text is not None
    assert "x1 #]" in text
    assert make().render() is None


def test_make_gives_the_environment_with_its_options() -> None:
    env = gymnasium.make(SERVERLESS, scenario=source(FORK), worlds=WORLDS, base="min-config", price_weight=0.5)
    assert SERVERLESS == "varigym/ServerlessGpu-v0"
    assert isinstance(env.unwrapped, ServerlessGpuEnv)
    assert env.unwrapped.kind.options.price_weight == 0.5
    assert env.action_space == gymnasium.spaces.Discrete(10)
