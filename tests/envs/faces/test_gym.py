"""The Gymnasium face: checkers, spaces, masks tried by doing, seeds, snapshots, refusals."""

from __future__ import annotations

import copy
import pickle
import random
import warnings
from collections.abc import Iterator
from typing import Any

import gymnasium
import numpy as np
import pytest
import varigym
from gymnasium.utils.env_checker import check_env
from varigym import IllegalActionWarning, InputError
from varigym.envs.cluster.bank import make_bank
from varigym.envs.cluster.mdp.faces import GpuClusterEnv
from varigym.envs.cluster.metrics import METRICS, metrics_of
from varigym.registration import CLUSTER, make_cluster
from varigym.registration import make_bank as make_bank_of
from varigym.scenarios.cluster.scenario import ClusterScenario
from worlds import GPUS, LEVELS, SmallJob, Worlds, small_scenario

WORLDS, BINS = 4, 4
CELL = {"window": 4, "decide_every": 1}
PROCESSES: list[dict[str, Any]] = [  # the same as in test_env.py, so that nothing is compiled twice
    {**CELL, "illegal_action": "error"},
    {"action_mode": "select", "window": 4, "clairvoyant": True, "illegal_action": "noop"},
    {"window": 6, "decide_every": 0, "illegal_action": "penalty", "reward_scale": 1000.0},
    {"action_mode": "select", "window": 6, "decide_every": 1, "clairvoyant": True, "reward": "slowdown"},
    {"window": 6, "clairvoyant": True, "reward": "makespan", "illegal_action": "noop"},
]


def world(seed: int, jobs: int = 7) -> ClusterScenario:
    rng = np.random.default_rng(100 + seed)
    rows = [
        SmallJob(int(rng.integers(0, 300)), int(rng.integers(1, 6)), int(rng.integers(30, 400)), k % 2)
        for k in range(jobs)
    ]
    return small_scenario(rows, rng.choice(LEVELS, (2, GPUS)), rng.choice(LEVELS, (2, GPUS)), restart_s=20.0)


SOURCE = Worlds(tuple(world(seed) for seed in range(WORLDS)))


def make(base: Any = "las-2d+pal+backfill", **options: Any) -> GpuClusterEnv:
    return make_cluster(SOURCE, base, **{"worlds": WORLDS, **CELL, **options})


def by_default(options: dict[str, Any]) -> dict[str, Any]:
    """Illegal actions are treated as users meet them."""
    return {name: value for name, value in options.items() if name != "illegal_action"}


def legal(env: GpuClusterEnv) -> list[int]:
    return np.flatnonzero(env.action_masks()).tolist()


def rest(env: GpuClusterEnv) -> int:
    return int(env.action_space.n) - 2


def same(a: Any, b: Any) -> bool:
    """Deep equality of snapshots and observations."""
    if isinstance(a, dict):
        return a.keys() == b.keys() and all(same(a[k], b[k]) for k in a)
    if isinstance(a, list | tuple):
        return len(a) == len(b) and all(same(x, y) for x, y in zip(a, b, strict=True))
    if isinstance(a, np.ndarray):
        return np.array_equal(a, b, equal_nan=a.dtype.kind == "f")
    return bool(a == b)


def episode(env: GpuClusterEnv, seed: int | None, rng_seed: int = 0) -> list[Any]:
    """(action, observation, reward, terminated, truncated) of a random masked episode; reset first."""
    rng = np.random.default_rng(rng_seed)
    obs, info = env.reset(seed=seed)
    return [(None, obs, info["world"]), *go_on(env, rng)]


def go_on(env: GpuClusterEnv, rng: np.random.Generator) -> Iterator[Any]:
    over = False
    while not over:
        action = int(rng.choice(legal(env)))
        obs, reward, terminated, truncated, info = env.step(action)
        over = terminated or truncated
        yield action, obs, reward, terminated, truncated, info


# --- checkers and spaces


@pytest.mark.parametrize("options", [PROCESSES[0], PROCESSES[3]], ids=["cell", "select"])
def test_gymnasiums_checker_finds_nothing(options: dict[str, Any]) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        warnings.simplefilter("ignore", IllegalActionWarning)  # checkers act at random
        made = gymnasium.make(CLUSTER, scenario=SOURCE, worlds=WORLDS, **by_default(options), render_mode="ansi")
        check_env(made.unwrapped, skip_render_check=False)


@pytest.mark.parametrize("options", [PROCESSES[0], PROCESSES[3]], ids=["cell", "select"])
def test_stable_baselines_checker_finds_nothing(options: dict[str, Any]) -> None:
    checker = pytest.importorskip("stable_baselines3.common.env_checker")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        warnings.simplefilter("ignore", IllegalActionWarning)  # checkers act at random
        checker.check_env(make(**by_default(options)), warn=True, skip_render_check=False)


@pytest.mark.parametrize("options", PROCESSES, ids=str)
def test_observations_lie_in_their_space_and_masks_agree(options: dict[str, Any]) -> None:
    env = make(**{"window": 4, "decide_every": 10, **options})
    for seed in range(3):
        for _, obs, *rest_of in episode(env, seed, seed):
            assert env.observation_space.contains(obs)
            assert obs["action_mask"].dtype == np.int8
            assert all(np.abs(part).max() <= 5 for name, part in obs.items())
            if len(rest_of) > 1:
                info = rest_of[-1]
                assert same(info["action_mask"], obs["action_mask"])
                assert not info["illegal"]
        assert same(env.action_masks(), obs["action_mask"] == 1)


def test_info_has_what_the_docs_name() -> None:
    env = make()
    _, info = env.reset(seed=0)
    names = {"action_mask", "reward_raw", "time_s", "world", "rounds", "illegal"}
    assert set(info) == names
    assert (info["reward_raw"], info["rounds"], info["illegal"]) == (0.0, 0, False)
    steps = list(go_on(env, np.random.default_rng(0)))
    assert all(set(step[-1]) == names for step in steps[:-1])
    last = steps[-1][-1]
    assert set(last) == {*names, "metrics"}
    assert set(last["metrics"]) == {"illegal_actions", *(metric.name for metric in METRICS.values())}
    assert all(isinstance(value, float) for value in last["metrics"].values())
    assert last["time_s"] == env.record().last_round * 60.0
    assert last["metrics"]["mean_jct_s"] == env.record().jobs.jct_s.mean()
    raw = sum(step[-1]["reward_raw"] for step in steps)
    assert sum(step[2] for step in steps) == pytest.approx(raw / env.reward_scale)
    assert raw == -env.record().jobs.jct_s.sum()


# --- masks, by doing


@pytest.mark.parametrize("options", [PROCESSES[0], PROCESSES[3]], ids=["cell", "select"])
def test_masks_say_what_is_accepted(options: dict[str, Any]) -> None:
    env = make(**{**options, "illegal_action": "error"})
    lenient = make(**{**options, "illegal_action": "noop"})
    rng = np.random.default_rng(0)
    env.reset(seed=1)
    for _ in range(12):
        before, mask = env.get_state(), env.action_masks()
        lenient.set_state(before)
        by_rest = lenient.step(rest(lenient))
        plans: list[Any] = []
        for action in range(len(mask)):
            env.set_state(before)
            if mask[action]:
                *_, info = env.step(action)
                assert not info["illegal"]
                if not env.describe(action).startswith(("KEEP", "REST", "COMMIT")):
                    plans.append(env.get_state()["lane"])
                continue
            with pytest.raises(InputError, match="is not legal here"):
                env.step(action)
            assert same(env.get_state(), before)
            lenient.set_state(before)
            obs, reward, *_, info = lenient.step(action)
            assert info["illegal"]
            assert same((obs, reward), by_rest[:2])
        assert all(not same(plans[i], plans[j]) for i in range(len(plans)) for j in range(i))  # no cell twice
        env.set_state(before)
        *_, terminated, truncated, _ = env.step(int(rng.choice(legal(env))))
        if terminated or truncated:
            break


def test_an_illegal_action_costs_the_penalty_and_counts_as_rest() -> None:
    env, other = make(illegal_action="penalty", illegal_penalty=3.0), make()
    env.reset(seed=0)
    other.reset(seed=0)
    bad = int(np.flatnonzero(~env.action_masks())[0])
    obs, reward, *_, info = env.step(bad)
    rested, plain, *_ = other.step(rest(other))
    assert info["illegal"]
    assert reward == pytest.approx(plain - 3.0)
    assert same(obs, rested)
    assert info["reward_raw"] == pytest.approx(plain * other.reward_scale)


@pytest.mark.parametrize("action", [-1, 38, 10**6, -(10**6), 2**31, 10**30])
@pytest.mark.parametrize("illegal_action", ["noop", "penalty"])
def test_numbers_beyond_the_space_are_illegal_actions(action: int, illegal_action: str) -> None:
    env = make(illegal_action=illegal_action)
    env.reset(seed=0)
    *_, info = env.step(action)
    assert info["illegal"]
    assert info["rounds"] == 1


# --- seeds, snapshots, replay


def test_a_seed_names_a_trajectory() -> None:
    env = make("fifo+random")
    first = episode(env, 3)
    assert same(first, episode(env, 3))
    np.random.seed(17)  # noqa: NPY002 (what a careless user does)
    random.seed(17)
    np.random.rand(100)  # noqa: NPY002
    other = make("fifo+random")
    other.reset(seed=99)
    assert same(first, episode(other, 3))
    assert not same(first, episode(env, 4))


def test_global_generators_are_left_alone() -> None:
    before = np.random.get_state()[1].tolist(), random.getstate()  # noqa: NPY002
    episode(make(), 0)
    assert (np.random.get_state()[1].tolist(), random.getstate()) == before  # noqa: NPY002


def test_resets_without_a_seed_go_on_with_the_stream_of_the_last() -> None:
    env, other = make(), make()
    drawn = [env.reset(seed=5 if k == 0 else None)[1]["world"] for k in range(12)]
    again = [other.reset(seed=5 if k == 0 else None)[1]["world"] for k in range(12)]
    assert drawn == again
    assert len(set(drawn)) == WORLDS


def test_the_world_can_be_asked_for() -> None:
    env = make()
    assert [env.reset(seed=0, options={"world": w})[1]["world"] for w in range(WORLDS)] == list(range(WORLDS))
    assert env.reset(options={"world": np.int64(2)})[1]["world"] == 2


@pytest.mark.parametrize("way", ["pickle", "deepcopy", "state"])
@pytest.mark.parametrize("after", [0, 5])
def test_copies_continue_identically(way: str, after: int) -> None:
    env = make("fifo+random")
    env.reset(seed=11)
    rng = np.random.default_rng(0)
    for _ in range(after):
        env.step(int(rng.choice(legal(env))))
    if way == "pickle":
        twin = pickle.loads(pickle.dumps(env))
    elif way == "deepcopy":
        twin = copy.deepcopy(env)
    else:
        twin = make("fifo+random")
        twin.set_state(env.get_state())
    assert same(twin.get_state(), env.get_state())
    mine, copied = list(go_on(env, np.random.default_rng(1))), list(go_on(twin, np.random.default_rng(1)))
    assert same(mine, copied)
    assert same(episode(env, None), episode(twin, None))  # the next worlds and lots too


def test_a_copy_is_independent() -> None:
    env = make()
    env.reset(seed=0)
    before = env.get_state()
    twin = copy.deepcopy(env)
    list(go_on(twin, np.random.default_rng(0)))
    assert same(env.get_state(), before)
    list(go_on(env, np.random.default_rng(0)))
    env.set_state(before)
    assert same(env.get_state(), before)


def test_copies_of_a_made_environment_keep_its_spec() -> None:
    env = gymnasium.make(CLUSTER, scenario=SOURCE, worlds=WORLDS, **CELL)
    for twin in (pickle.loads(pickle.dumps(env)), copy.deepcopy(env)):
        assert twin.unwrapped.spec is not None
        assert twin.unwrapped.spec.id == CLUSTER


def test_copies_draw_the_same_samples() -> None:
    env = make()
    env.action_space.seed(3)
    twin = pickle.loads(pickle.dumps(env))
    assert [env.action_space.sample() for _ in range(8)] == [twin.action_space.sample() for _ in range(8)]


def test_a_copy_from_before_the_first_reset_must_be_reset() -> None:
    twin = pickle.loads(pickle.dumps(make()))
    with pytest.raises(InputError, match="reset"):
        twin.step(0)
    assert same(episode(twin, 4), episode(make(), 4))


def test_a_recorded_episode_replays_to_the_same_rewards() -> None:
    env = make()
    recorded = episode(env, 21, 5)[1:]
    replay = make()
    replay.reset(seed=21)
    steps = [replay.step(action) for action, *_ in recorded]
    assert [step[1] for step in steps] == [step[2] for step in recorded]
    assert same(steps[-1][-1]["metrics"], recorded[-1][-1]["metrics"])
    assert replay.record().jobs.finish_s.tolist() == env.record().jobs.finish_s.tolist()


def test_what_is_handed_out_can_be_written_to() -> None:
    env, other = make(), make()
    for each in (env, other):
        each.reset(seed=0)
    obs, *_, info = env.step(rest(env))
    other.step(rest(other))
    for part in (*obs.values(), info["action_mask"], env.action_masks(), env.get_state()["lane"][1][0]):
        part[:] = 1
    assert same(env.get_state(), other.get_state())
    assert same(env.action_masks(), other.action_masks())


def test_a_batch_is_no_place_for_names() -> None:
    bank = make_bank(SOURCE.scenarios)
    with pytest.raises(InputError, match="base = 'pal'; legal: a policy object"):
        GpuClusterEnv(bank, "pal")  # type: ignore[arg-type]
    with pytest.raises(InputError, match="bank = 'train'; legal: a bank"):
        GpuClusterEnv("train", varigym.find_policy("pal"))  # type: ignore[arg-type]
    with pytest.raises(InputError, match=r"options = {'window': 4}; legal: EnvOptions"):
        GpuClusterEnv(bank, varigym.find_policy("pal"), {"window": 4})  # type: ignore[arg-type]


def test_a_policy_object_can_be_the_base() -> None:
    env, other = make(varigym.find_policy("fifo+packed")), make("fifo+packed")
    assert same(episode(env, 0), episode(other, 0))


@pytest.mark.parametrize("seed", [-1, 1.5, "3", True, float("nan"), [1]], ids=str)
def test_what_is_no_seed_is_refused_and_the_episode_goes_on(seed: Any) -> None:
    env = make()
    env.reset(seed=0)
    before = env.get_state()
    with pytest.raises(InputError, match=r"seed = .*; legal: a whole number, 0 or more"):
        env.reset(seed=seed)
    assert same(env.get_state(), before)


def test_numbers_of_numpy_are_numbers() -> None:
    env = make(window=np.int32(4), decide_every=np.int64(1), reward_scale=np.float32(8), worlds=np.int64(WORLDS))
    assert same(env.reset(seed=np.int64(3)), make(reward_scale=8.0).reset(seed=3))
    for action in (rest(env), np.int64(rest(env)), np.uint8(rest(env)), float(rest(env)), np.array(rest(env))):
        env.reset(seed=3)
        assert env.step(action)[-1]["rounds"] == 1


# --- states of other environments

OTHERS: dict[str, dict[str, Any]] = {
    "base": {"base": "fifo+pal"},
    "window": {"window": 6, "clairvoyant": True, "reward": "makespan", "decide_every": 10},
    "mode": {"action_mode": "select", "clairvoyant": True, "decide_every": 10},
    "worlds": {"worlds": 3},
}


@pytest.mark.parametrize("other", OTHERS)
def test_a_state_of_another_environment_is_refused(other: str) -> None:
    env, foreign = make(), make(**OTHERS[other])
    env.reset(seed=0)
    foreign.reset(seed=1)
    before = env.get_state()
    with pytest.raises(InputError, match="the state is of another environment"):
        env.set_state(foreign.get_state())
    assert same(env.get_state(), before)


@pytest.mark.parametrize(
    ("change", "says"),
    [
        ({"world": 4}, "state\\['world'\\] = 4; legal: a whole number, 0 to 3"),
        ({"world": "x"}, "state\\['world'\\] has type str; legal: int"),
        ({"lane": None}, "state\\['lane'\\] has type NoneType; legal: tuple"),
        ({"over": 1}, "state\\['over'\\] has type int; legal: bool"),
        ({"random": {}}, "state\\['random'\\] has the keys \\[\\]; legal"),
        ({"more": 1}, "state has the keys"),
        ({"of": "me"}, "the state is of another environment \\(me\\)"),
    ],
    ids=str,
)
def test_a_broken_state_is_refused_and_nothing_moves(change: dict[str, Any], says: str) -> None:
    env = make()
    env.reset(seed=0)
    before = env.get_state()
    with pytest.raises(InputError, match=says):
        env.set_state({**before, **change})
    assert same(env.get_state(), before)
    for nothing in (None, 3, {}, []):
        with pytest.raises(InputError, match="state has"):
            env.set_state(nothing)  # type: ignore[arg-type]


def test_a_state_in_other_floats_is_refused() -> None:
    env = make()
    env.reset(seed=0)
    state = env.get_state()
    time_s, buffers = state["lane"]
    narrow = [part.astype(np.float32) if part.dtype == np.float64 else part for part in buffers]
    with pytest.raises(InputError, match=r"is float32.*; legal: float64"):
        env.set_state({**state, "lane": (time_s, narrow)})


# --- results before the end


def test_a_record_before_the_first_reset_is_refused() -> None:
    with pytest.raises(InputError, match="nothing to record yet; call reset first"):
        make().record()


def test_jobs_that_are_still_to_come_have_no_part_in_a_record() -> None:
    jobs = [SmallJob(0, 1, 60, 0, tracked=False), SmallJob(90, 1, 600, 0), SmallJob(2000, 1, 60, 0)]
    env = make_cluster(Worlds((small_scenario(jobs),) * 4), "fifo+pal", worlds=4, **CELL)
    env.reset(seed=0)
    assert len(env.record().jobs.job_id) == 0
    assert set(metrics_of(env.record())) == {metric.name for metric in METRICS.values()}
    assert all(np.isnan(value) for value in metrics_of(env.record()).values())
    while env.step(rest(env))[-1]["time_s"] < 180.0:
        pass
    assert env.record().jobs.job_id.tolist() == ["1"]
    assert metrics_of(env.record())["mean_jct_s"] == 90.0


# --- spaces


def test_every_bank_of_a_scenario_has_the_same_spaces() -> None:
    banks = [make_bank_of("sia-64:nodes=4:jobs=12:span_h=1", *bank) for bank in (("train", 3), ("held-out", 1))]
    assert [bank.worlds.profile.value.shape[2] for bank in banks] == [11, 11]  # 10 groups, 1 outlier of 16 GPUs
    wide = make_bank_of("sia-64:nodes=4:jobs=12:span_h=1", "train", 1, bins=14)
    assert wide.worlds.profile.value.shape[2] == 14


def test_room_for_bins_changes_no_episode() -> None:
    env, wide = make(), make(bins=6)
    env.reset(seed=3)
    wide.reset(seed=3)
    number = {wide.describe(action): action for action in range(int(wide.action_space.n))}
    rng, over = np.random.default_rng(0), False
    while not over:
        assert {env.describe(a) for a in legal(env)} == {wide.describe(a) for a in legal(wide)}
        action = int(rng.choice(legal(env)))
        _, reward, over, _, info = env.step(action)
        _, other, ended, _, told = wide.step(number[env.describe(action)])
        assert (reward, over, info["time_s"]) == (other, ended, told["time_s"])


@pytest.mark.parametrize(
    ("action", "says"), [(-1, "action = -1; legal"), (38, "action = 38; legal: .* 0 to 37"), ("x", "action = 'x'")]
)
def test_only_actions_are_described(action: Any, says: str) -> None:
    with pytest.raises(InputError, match=says):
        make().describe(action)


# --- rendering


def test_stable_baselines_makes_its_own_batch_without_a_picture() -> None:
    tools = pytest.importorskip("stable_baselines3.common.env_util")
    batch = tools.make_vec_env(CLUSTER, n_envs=2, env_kwargs={"scenario": SOURCE, "worlds": WORLDS, **CELL})
    assert batch.num_envs == 2
    with pytest.raises(TypeError, match="render_mode = 'rgb_array'; legal: 'ansi' or None"):
        make(render_mode="rgb_array")


def test_the_gantt_line_shows_who_holds_what() -> None:
    jobs = [SmallJob(0, 2, 600, 0), SmallJob(0, 9, 600, 0)]
    env = make_cluster(Worlds((small_scenario(jobs),) * 4), "fifo+pal", worlds=4, render_mode="ansi", **CELL)
    env.reset(seed=0)
    assert env.render() == "\n".join(
        ["t = 0 s", "node   0 | . . .", "node   1 | . . .", "node   2 | . . .", "waiting: 0 1"]
    )
    env.step(rest(env))
    assert env.render() == "\n".join(
        ["t = 60 s", "node   0 | 0 0 .", "node   1 | . . .", "node   2 | . . .", "waiting: 1"]
    )
    assert make().render() is None


def test_rendering_before_the_first_reset_is_refused() -> None:
    with pytest.raises(InputError, match="reset"):
        make(render_mode="ansi").render()


# --- refusals


@pytest.mark.parametrize(
    ("given", "says"),
    [
        ({"windw": 4}, "windw.*did you mean window"),
        ({"action_mode": "cells"}, "action_mode = 'cells'; did you mean cell"),
        ({"illegal_action": "crash"}, "illegal_action = 'crash'; legal: noop, penalty, error"),
        ({"reward": "speed"}, "reward = 'speed'; legal: jct"),
        ({"window": 0}, "window = 0; legal"),
        ({"window": 2.5}, "window = 2.5; legal"),
        ({"window": "8"}, "window = '8'; legal"),
        ({"window": None}, "window = None; legal"),
        ({"window": 10**9}, "legal: a whole number, 1 to 1,024"),
        ({"decide_every": -1}, "decide_every = -1; legal"),
        ({"reward_scale": 0}, "reward_scale = 0; legal"),
        ({"reward_scale": float("nan")}, "reward_scale = nan; legal"),
        ({"reward_scale": 1e-320}, "reward_scale = 1e-320; legal"),
        ({"reward_scale": "big"}, "reward_scale = .*big.*; legal"),
        ({"illegal_penalty": float("nan")}, "illegal_penalty = nan; legal"),
        ({"illegal_penalty": "much"}, "illegal_penalty = .*much.*; legal"),
        ({"illegal_penalty": -1.0}, "illegal_penalty = -1.0; legal"),
        ({"clairvoyant": "no"}, "clairvoyant = .*no.*; legal"),
        ({"slots": 0}, "slots = 0; legal"),
        ({"slots": "many"}, "slots = .*many.*; legal"),
        ({"slots": 2.5}, "slots = 2.5; legal"),
        ({"worlds": 0}, "worlds = 0; legal"),
        ({"worlds": 1.5}, "worlds = 1.5; legal"),
        ({"worlds": True}, "worlds = True; legal"),
        ({"bank": "trian"}, "bank 'trian'.*train"),
        ({"bank": 3}, "bank '3'.*train"),
        ({"bins": 3}, "4 bins in one app class.*give bins=4"),
        ({"bins": "many"}, "bins = 'many'; legal"),
        ({"scenario": "tinny"}, "tinny.*did you mean tiny"),
        ({"base": "las-2d+pall"}, "pall.*did you mean pal"),
        ({"base": "fifo"}, "unknown policy 'fifo'"),
        ({"base": 3}, "base = 3; legal: a policy object, as varigym.find_policy gives it"),
        ({"base": "srtf+pal"}, "srtf\\+pal is clairvoyant; it needs clairvoyant=True"),
        ({"render_mode": "human"}, "render_mode = 'human'; legal: 'ansi'"),
    ],
    ids=str,
)
def test_bad_options_are_refused_in_words(given: dict[str, Any], says: str) -> None:
    with pytest.raises(InputError, match=says):
        gymnasium.make(CLUSTER, **{"scenario": SOURCE, "worlds": WORLDS, **CELL, **given})


@pytest.mark.parametrize(
    "action",
    [2.5, float("nan"), float("inf"), "3", "place", None, [1, 2], np.array([1, 2]), {}, 1j, True, np.array([1])],
    ids=str,
)
@pytest.mark.parametrize("illegal_action", ["error", "noop"])
def test_what_is_not_a_whole_number_is_no_action(action: Any, illegal_action: str) -> None:
    env = make(illegal_action=illegal_action)
    env.reset(seed=0)
    before = env.get_state()
    with pytest.raises(InputError, match="action = "):
        env.step(action)
    assert same(env.get_state(), before)


@pytest.mark.parametrize("action", [-1, 38, 10**6, 2**40])
def test_numbers_beyond_the_space_are_refused(action: int) -> None:
    env = make(illegal_action="error")
    env.reset(seed=0)
    before = env.get_state()
    with pytest.raises(InputError, match=f"action = {action}; legal: 0 to 37"):
        env.step(action)
    assert same(env.get_state(), before)


@pytest.mark.parametrize("kind", [int, np.int64, np.int32, np.uint8, np.array])
def test_whole_numbers_of_any_make_are_actions(kind: Any) -> None:
    env = make()
    env.reset(seed=0)
    *_, info = env.step(kind(rest(env)))
    assert info["rounds"] == 1


def test_the_order_of_calls_is_enforced() -> None:
    env = make()
    with pytest.raises(InputError, match="call reset first"):
        env.step(0)
    episode(env, 0)
    before = env.get_state()
    with pytest.raises(InputError, match="call reset first"):
        env.step(rest(env))
    assert same(env.get_state(), before)
    env.reset()
    env.step(rest(env))


@pytest.mark.parametrize(
    ("options", "says"),
    [
        ({"wrld": 1}, "reset option 'wrld'; did you mean world"),
        ({"world": 4}, "world = 4; legal: a whole number, 0 to 3"),
        ({"world": -1}, "world = -1; legal"),
        ({"world": 1.0}, "world = 1.0; legal"),
        ({"world": "first"}, "world = 'first'; legal"),
        ({"world": True}, "world = True; legal"),
        ([0], "reset options = \\[0\\]; legal: a dictionary of world"),
        ("world", "reset options = 'world'; legal: a dictionary"),
    ],
    ids=str,
)
def test_bad_reset_options_are_refused_and_the_episode_goes_on(options: dict[str, Any], says: str) -> None:
    env = make()
    env.reset(seed=0)
    with pytest.raises(InputError, match=says):
        env.reset(options=options)
    env.step(rest(env))


def test_too_few_slots_say_how_many_to_ask_for() -> None:
    late = [SmallJob(0 if k < 20 else 60, 1, 6000, 0) for k in range(40)]
    options = {"action_mode": "select", "window": 1, "slots": 32, "worlds": 2}
    env = make_cluster(Worlds((small_scenario(late), small_scenario([SmallJob(0, 1, 60, 0)] * 40))), **options)
    with pytest.raises(InputError, match=r"more than 32 jobs.*slots=64"):
        env.reset(seed=0, options={"world": 1})
    with pytest.raises(InputError, match="reset"):
        env.step(rest(env))
    env.reset(seed=0, options={"world": 0})
    with pytest.raises(InputError, match=r"more than 32 jobs.*slots=64"):
        env.step(rest(env))
    with pytest.raises(InputError, match="reset"):
        env.step(rest(env))


# --- registration


def test_importing_registers_the_id_once() -> None:
    spec = gymnasium.registry[CLUSTER]
    assert CLUSTER == "varigym/GpuCluster-v0"
    assert spec.vector_entry_point is not None
    varigym.register_all()
    assert gymnasium.registry[CLUSTER] is spec


def test_make_gives_the_environment_with_its_options() -> None:
    env = gymnasium.make(CLUSTER, scenario=SOURCE, worlds=WORLDS, base="fifo+packed", **CELL)
    assert isinstance(env.unwrapped, GpuClusterEnv)
    assert env.unwrapped.kind.options.window == 4
    assert env.action_space == gymnasium.spaces.Discrete(4 * (2 * BINS + 1) + 2)
    assert env.unwrapped.describe(0) == "PLACE(0, within, 0)"
    assert env.unwrapped.describe(9 + 4 + 1) == "PLACE(1, across, 1)"
    assert env.unwrapped.describe(8) == "KEEP(0)"
    assert [env.unwrapped.describe(a) for a in (36, 37)] == ["REST", "COMMIT"]


@pytest.mark.parametrize(("bank", "first"), [("train", 0), ("validation", 100_000), ("held-out", 200_000)])
def test_banks_are_the_seed_ranges_of_the_table(bank: str, first: int) -> None:
    asked: list[int] = []

    class Spy(Worlds):
        def build(self, seed: int) -> ClusterScenario:
            asked.append(seed)
            return self.scenarios[0]

    make_cluster(Spy(SOURCE.scenarios), bank=bank, worlds=2)
    assert asked == [first, first + 1]
