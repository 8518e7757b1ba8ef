"""The decision process: rewards are metrics, REST is the base policy, plans are what runs, nothing leaks."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import pytest
from reference.cluster_reference import RefJob
from reference.cluster_reference import pal as reference_pal
from varigym.bench.simulate import simulate
from varigym.envs.cluster.mdp.env import EnvState
from varigym.envs.cluster.mdp.faces import GpuClusterEnv
from varigym.envs.cluster.mdp.observation import SLOT_FEATURES
from varigym.envs.cluster.state import FREE
from varigym.envs.cluster.world import horizon_round
from varigym.envs.lanes.programs import TERMINATED, TRUNCATED
from varigym.registration import make_cluster
from varigym.scenarios.cluster.scenario import ClusterScenario, Compat
from worlds import CLASSES, GPUS, LEVELS, PER_NODE, SmallJob, Worlds, as_reference, gangs, small_scenario

WORLDS, BINS = 4, 4
# Every process is a compilation; together they cover modes, decision rhythms and rewards in pairs.
CELL_1 = {"window": 4, "decide_every": 1}
SELECT_10 = {"action_mode": "select", "window": 4, "clairvoyant": True}
CELL_0 = {"window": 6, "decide_every": 0}
SELECT_1_SLOWDOWN = {"action_mode": "select", "window": 6, "decide_every": 1, "clairvoyant": True, "reward": "slowdown"}
CELL_10_MAKESPAN = {"window": 6, "clairvoyant": True, "reward": "makespan"}
SELECT_10_FTF = {"action_mode": "select", "window": 4, "reward": "ftf"}
PROCESSES = {
    "cell-1-jct": CELL_1,
    "select-10-jct": SELECT_10,
    "cell-0-jct": CELL_0,
    "select-1-slowdown": SELECT_1_SLOWDOWN,
    "cell-10-makespan": CELL_10_MAKESPAN,
    "select-10-ftf": SELECT_10_FTF,
}


def random_world(seed: int) -> ClusterScenario:
    rng = np.random.default_rng(seed)
    rows = [
        SmallJob(
            arrival_s=int(rng.integers(0, 400)),
            demand=int(rng.integers(1, 6 if k else GPUS + 1)),
            work_s=int(rng.integers(1, 500)),
            app_class=int(rng.integers(2)),
            tracked=k == 0 or rng.random() < 0.8,
        )
        for k in range(9)
    ]
    return small_scenario(
        rows,
        pm_bin=rng.choice(LEVELS, (2, GPUS)),
        pm_score=rng.choice(LEVELS, (2, GPUS)),
        locality_penalty=rng.choice([1.0, 1.1, 1.7], 2),
        restart_s=float(rng.choice([0, 0, 45])),
        compat=Compat.ARTIFACT if seed % 2 else Compat.PAPER,
    )


RANDOM = Worlds(tuple(random_world(seed) for seed in range(WORLDS)))


def make(
    process: dict[str, Any], scenario: Worlds | ClusterScenario = RANDOM, base: str = "las-2d+pal+backfill", **more: Any
) -> GpuClusterEnv:
    source = scenario if isinstance(scenario, Worlds) else Worlds((scenario,) * WORLDS)
    return make_cluster(source, base, worlds=WORLDS, **process, **more)


def state_of(env: GpuClusterEnv) -> EnvState:
    return env.lane.state()


def rest(env: GpuClusterEnv) -> int:
    return int(env.action_space.n) - 2


def commit(env: GpuClusterEnv) -> int:
    return int(env.action_space.n) - 1


def action_of(env: GpuClusterEnv, slot: int, cell: int) -> int:
    return slot * (2 * BINS + 1) + cell


def legal_of(env: GpuClusterEnv, last: int = 2) -> np.ndarray[Any, Any]:
    """Legal actions without the `last` ones."""
    return np.flatnonzero(env.action_masks()[: int(env.action_space.n) - last])


Chooser = Callable[[GpuClusterEnv, np.random.Generator], int]


def at_random(env: GpuClusterEnv, rng: np.random.Generator) -> int:
    return int(rng.choice(np.flatnonzero(env.action_masks())))


def commits_mostly(env: GpuClusterEnv, rng: np.random.Generator) -> int:
    return commit(env) if rng.random() < 0.6 else int(rng.choice(np.flatnonzero(env.action_masks())))


def rests(env: GpuClusterEnv, rng: np.random.Generator) -> int:
    return rest(env)


def fills(env: GpuClusterEnv, rng: np.random.Generator) -> int:
    """Place while anything can be placed, then COMMIT."""
    legal = legal_of(env)
    return int(rng.choice(legal)) if len(legal) else commit(env)


def anything(env: GpuClusterEnv, rng: np.random.Generator) -> int:
    """Legal or not, numbers beyond the space included."""
    return int(rng.integers(-2, int(env.action_space.n) + 3)) if rng.random() < 0.6 else at_random(env, rng)


def play(env: GpuClusterEnv, choose: Chooser, world: int, seed: int = 0) -> list[dict[str, Any]]:
    """Infos of a whole episode, `reward` among them."""
    rng = np.random.default_rng(seed)
    env.reset(seed=seed, options={"world": world})
    infos, over = [], False
    while not over:
        _, reward, terminated, truncated, info = env.step(choose(env, rng))
        infos.append({**info, "reward": reward, "truncated": truncated})
        over = terminated or truncated
    return infos


def owed(env: GpuClusterEnv, kind: str) -> float:
    """The metric that the rewards must sum to minus of, recomputed from the record."""
    record = env.record()
    jobs = record.jobs
    end_s = np.where(np.isnan(jobs.finish_s), record.last_round * record.round_s, jobs.finish_s)
    return {
        "jct": (end_s - jobs.arrival_s).sum(),
        "slowdown": ((end_s - jobs.arrival_s) / jobs.work_s).sum(),
        "makespan": end_s.max() - jobs.arrival_s.min(),
        "ftf": ((end_s - jobs.arrival_s) / (jobs.work_s * jobs.contention)).sum(),
    }[kind]


# --- rewards are metrics


@pytest.mark.parametrize("name", PROCESSES)
@pytest.mark.parametrize("choose", [at_random, rests, commits_mostly, fills])
def test_raw_rewards_sum_to_minus_the_metric(name: str, choose: Chooser) -> None:
    env = make(PROCESSES[name])
    kind = name.rsplit("-", maxsplit=1)[-1]
    for world in range(WORLDS):
        infos = play(env, choose, world)
        total = sum(info["reward_raw"] for info in infos)
        if kind in ("slowdown", "ftf"):
            assert total == pytest.approx(-owed(env, kind), rel=1e-12)
        else:
            assert total == -owed(env, kind)
        assert sum(info["reward"] for info in infos) == pytest.approx(total / env.reward_scale)


def test_metrics_of_the_last_info_are_what_the_rewards_sum_to() -> None:
    env = make(CELL_1)
    infos = play(env, at_random, 0)
    jobs = int(RANDOM.scenarios[0].jobs.tracked.sum())
    assert sum(info["reward_raw"] for info in infos) == pytest.approx(-infos[-1]["metrics"]["mean_jct_s"] * jobs)


def test_an_untracked_job_to_come_costs_nothing() -> None:
    """The episode is over with the last tracked job; its clock must not run on to an arrival nobody waits for."""
    world = small_scenario([SmallJob(0, 1, 60, 0), SmallJob(6000, 1, 60, 0, tracked=False)])
    env = make(CELL_10_MAKESPAN, world)
    infos = play(env, rests, 0)
    assert [info["reward_raw"] for info in infos] == [-60.0]
    assert env.record().last_round == 1
    assert infos[-1]["time_s"] == 60.0
    assert infos[-1]["metrics"]["utilization"] == 1 / GPUS


def test_nor_does_it_move_the_end_of_a_simulated_episode() -> None:
    world = small_scenario([SmallJob(0, 1, 60, 0), SmallJob(6000, 1, 60, 0, tracked=False)])
    assert [record.last_round for record in simulate(Worlds((world,) * WORLDS), "fifo+pal", range(WORLDS))] == [1] * 4


@pytest.mark.parametrize("illegal_action", ["noop", "penalty"])
def test_illegal_actions_gain_nothing(illegal_action: str) -> None:
    env = make(CELL_1, illegal_action=illegal_action, illegal_penalty=2.5)
    for world in range(WORLDS):
        infos = play(env, anything, world, seed=world)
        illegal = sum(info["illegal"] for info in infos)
        assert illegal > 0
        total = sum(info["reward_raw"] for info in infos)
        assert total == -owed(env, "jct")
        fine = 2.5 * illegal if illegal_action == "penalty" else 0.0
        assert sum(info["reward"] for info in infos) == pytest.approx(total / env.reward_scale - fine)


@pytest.mark.parametrize("process", [CELL_1, SELECT_10, CELL_0])
def test_truncation_counts_time_up_to_the_horizon(process: dict[str, Any]) -> None:
    world = small_scenario([SmallJob(0, 1, 60, 0), SmallJob(30, 2, 60, 1)])
    env = make(process, world)
    infos = play(env, lambda env, rng: commit(env), 0)
    record = env.record()
    horizon_s = horizon_round(world) * record.round_s
    assert infos[-1]["truncated"]
    assert record.last_round == horizon_round(world)
    assert record.truncated_jobs == 2
    assert record.jobs.jct_s.tolist() == [horizon_s, horizon_s - 30]
    assert sum(info["reward_raw"] for info in infos) == -(2 * horizon_s - 30)
    assert not any(info["truncated"] for info in infos[:-1])
    assert sum(info["rounds"] for info in infos) == record.last_round


# --- REST is the base policy


@pytest.mark.parametrize(
    ("base", "process"),
    [
        ("las-2d+pal+backfill", CELL_1),
        ("fifo+packed+sticky", CELL_1),
        ("gittins+pal+backfill", CELL_1),
        ("las+pm-first+sticky+backfill", CELL_1),
        ("srtf+pal", SELECT_1_SLOWDOWN),
        ("fifo+packed+sticky", SELECT_1_SLOWDOWN),
    ],
)
def test_rest_alone_is_the_base_policy(base: str, process: dict[str, Any]) -> None:
    env = make(process, base=base)
    for world, record in enumerate(simulate(RANDOM, base, range(WORLDS))):
        play(env, rests, world)
        jobs = env.record().jobs
        for column in ("job_id", "start_s", "finish_s", "run_slowdown", "preemptions", "contention", "ftf"):
            np.testing.assert_array_equal(getattr(jobs, column), getattr(record.jobs, column))
        assert env.record().last_round == record.last_round
        assert env.record().busy_gpu_rounds == record.busy_gpu_rounds


def test_rest_draws_the_lots_of_a_random_base() -> None:
    env = make(CELL_1, base="fifo+random")
    seeds = [5, 6, 7, 8]
    worlds = Worlds(RANDOM.scenarios[:1] * 9)  # world by seed is always the first
    for seed, record in zip(seeds, simulate(worlds, "fifo+random", seeds), strict=True):
        env.reset(options={"world": 0})
        batch = env.lane.reset(0, np.array([0, seed], np.uint32))
        while not batch.result[[TERMINATED, TRUNCATED]].any():
            batch = env.lane.step(rest(env))
        finish = env.record().jobs.finish_s
        np.testing.assert_array_equal(finish, record.jobs.finish_s)


# --- plans are what runs


def long_world(restart_s: float = 0.0) -> ClusterScenario:
    """Nothing ends for 30 rounds, so that slots keep their numbers."""
    rng = np.random.default_rng(9)
    rows = [SmallJob(0 if k < 7 else 100, 1 + (3 * k) % 5, 6000, k % 2) for k in range(9)]
    return small_scenario(
        rows, pm_bin=rng.choice(LEVELS, (2, GPUS)), pm_score=rng.choice(LEVELS, (2, GPUS)), restart_s=restart_s
    )


@pytest.mark.parametrize("base", ["las-2d+pal+backfill", "fifo+packed+sticky", "las+pm-first+sticky+backfill"])
def test_rest_completes_a_plan_and_leaves_it_unchanged(base: str) -> None:
    env = make(CELL_1, long_world(), base)
    env.reset(seed=0)
    rng = np.random.default_rng(1)
    for _ in range(30):
        for _ in range(rng.integers(0, 5)):
            legal = legal_of(env)
            if len(legal):
                env.step(int(rng.choice(legal)))
        plan, count = np.asarray(state_of(env).draft.plan.owner), int(state_of(env).settled.cluster.count)
        env.step(rest(env))
        after = state_of(env).settled.cluster
        owner = np.asarray(after.owner)
        assert (owner[plan != FREE] == plan[plan != FREE]).all()
        held = np.bincount(owner[owner != FREE].ravel(), minlength=len(after.slots.demand))
        demand = np.asarray(after.slots.demand)
        assert ((held == 0) | (held == demand)).all()
        if base.endswith("backfill"):  # nobody who was there waits though there is room
            there = np.arange(len(demand)) < count
            assert (demand[there & (held == 0)] > (owner == FREE).sum()).all()


def test_keep_keeps_exactly_the_gang() -> None:
    env = make(CELL_1, long_world(restart_s=45.0))
    env.reset(seed=0)
    rng = np.random.default_rng(2)
    kept = 0
    for _ in range(25):
        running = gangs(state_of(env).settled.cluster)
        while True:
            mask = env.action_masks()[:-2].reshape(4, 2 * BINS + 1)
            window = _window_slots(env)
            plan = np.asarray(state_of(env).draft.plan.owner).ravel()
            for row, slot in enumerate(window):
                intact = slot in running and (plan[running[slot]] == FREE).all()
                assert mask[row, 2 * BINS] == intact
            keepable = [row for row in range(len(window)) if mask[row, 2 * BINS]]
            if not keepable or rng.random() < 0.2:
                break
            row = int(rng.choice(keepable))
            env.step(action_of(env, row, 2 * BINS))
            now = np.asarray(state_of(env).draft.plan.owner).ravel()
            assert np.flatnonzero(now == window[row]).tolist() == running[window[row]]
            assert (now[now != window[row]] == plan[now != window[row]]).all()
            kept += 1
        placed = legal_of(env)
        if len(placed):
            env.step(int(rng.choice(placed)))
        env.step(commit(env))
    assert kept > 5


def test_a_kept_gang_pays_no_restart_and_is_not_preempted() -> None:
    env = make(CELL_1, small_scenario([SmallJob(0, 3, 300, 0)], restart_s=45.0))
    env.reset(seed=0)
    env.step(action_of(env, 0, 0))
    env.step(commit(env))
    over = False
    while not over:
        env.step(action_of(env, 0, 2 * BINS))
        *_, over, _, info = env.step(commit(env))
    assert env.record().jobs.finish_s.tolist() == [300.0]
    assert info["metrics"]["preemptions"] == 0


def test_selected_jobs_run_where_pal_puts_them_class_first() -> None:
    scenario = long_world()
    env = make(SELECT_1_SLOWDOWN, scenario)
    world, jobs = as_reference(scenario)
    env.reset(seed=0)
    rng = np.random.default_rng(3)
    for _ in range(20):
        window, chosen = [], []
        while len(legal_of(env)) and rng.random() < 0.85:
            window = _window_slots(env)
            row = int(rng.choice(legal_of(env)))
            chosen.append(window[row])
            env.step(row)
        sequence = np.asarray(state_of(env).settled.memory.sequence).tolist()
        env.step(commit(env))
        assert gangs(state_of(env).settled.cluster) == _placed_by_pal(world, jobs, chosen, sequence)


def _placed_by_pal(world: Any, jobs: list[RefJob], chosen: list[int], sequence: list[int]) -> dict[int, list[int]]:
    free, found = list(range(GPUS)), {}
    for slot in sorted(chosen, key=lambda slot: (jobs[slot].app_class, sequence.index(slot))):
        gang = reference_pal(world, free, jobs[slot])
        assert gang is not None
        found[slot] = sorted(gang)
        free = [g for g in free if g not in gang]
    return dict(sorted(found.items()))


# --- an independent account of what was granted


@dataclass
class Account:
    """What a job has received, from the plans alone."""

    done: float = 0.0
    debt_s: float = 0.0
    gang: tuple[int, ...] = ()
    start_round: int | None = None
    finish_round: int | None = None
    preemptions: int = 0


@dataclass
class Bookkeeper:
    """Replays plans in plain Python: a job gets only the GPUs that the plan gave it, for the rounds that passed."""

    scenario: ClusterScenario
    accounts: dict[int, Account] = field(default_factory=dict)

    def run(self, plan: dict[int, list[int]], start: int, rounds: int) -> None:
        scenario, jobs = self.scenario, self.scenario.jobs
        active = {j for j, a in self.accounts.items() if a.finish_round is None} | set(plan)
        for j in active:
            account, gang = self.accounts.setdefault(j, Account()), tuple(plan.get(j, ()))
            assert len(gang) in (0, int(jobs.demand[j]))
            if gang and gang != account.gang and account.start_round is not None:
                account.debt_s = scenario.restart_s
            account.preemptions += bool(account.gang) and gang != account.gang
            account.gang = gang
            if gang and account.start_round is None:
                account.start_round = start
        for now in range(start, start + rounds):
            going = [j for j in plan if self.accounts[j].finish_round is None]
            for j in going:
                account = self.accounts[j]
                spans = len({g // PER_NODE for g in account.gang}) > 1
                score = scenario.pm_score[jobs.app_class[j], list(account.gang)].max()
                slowdown = score * (scenario.locality_penalty[jobs.app_class[j]] if spans else 1.0)
                lost_s = min(account.debt_s, scenario.round_s)
                account.debt_s -= lost_s
                account.done += (scenario.round_s - lost_s) / (slowdown * jobs.iter_s[j])
                if account.done >= jobs.iterations[j]:
                    account.finish_round, account.gang = now + 1, ()


@pytest.mark.parametrize(
    ("process", "choose"), [(CELL_1, fills), (CELL_1, commits_mostly), (CELL_0, fills), (CELL_0, commits_mostly)]
)
def test_a_job_gets_what_plans_gave_it_and_nothing_else(process: dict[str, Any], choose: Chooser) -> None:
    env = make(process)
    for world, scenario in enumerate(RANDOM.scenarios):
        books, rng, total, over = Bookkeeper(scenario), np.random.default_rng(world), 0.0, False
        env.reset(seed=0, options={"world": world})
        while not over:
            action = choose(env, rng)
            if action == rest(env):
                continue  # what REST adds is another test's business
            before = state_of(env)
            *_, terminated, truncated, info = env.step(action)
            total, over = total + info["reward_raw"], terminated or truncated
            if action != commit(env):
                assert (info["rounds"], info["reward_raw"]) == (0, 0.0)
                continue
            plan = gangs(replace(before.settled.cluster, owner=before.draft.plan.owner))
            books.run(plan, int(before.settled.cluster.round), info["rounds"])
            for job, gpus in gangs(state_of(env).settled.cluster).items():
                assert plan[job] == gpus
        record, tracked = env.record(), np.flatnonzero(scenario.jobs.tracked).tolist()
        _assert_books(books, tracked, record)
        end = [books.accounts.get(j, Account()).finish_round or record.last_round for j in tracked]
        assert total == -sum(60.0 * e - scenario.jobs.arrival_s[j] for e, j in zip(end, tracked, strict=True))


def _assert_books(books: Bookkeeper, tracked: list[int], record: Any) -> None:
    def seconds(rounds: Iterable[int | None]) -> list[float]:
        return [np.nan if r is None else 60.0 * r for r in rounds]

    mine = [books.accounts.get(j, Account()) for j in tracked]
    np.testing.assert_array_equal(record.jobs.finish_s, seconds(a.finish_round for a in mine))
    np.testing.assert_array_equal(record.jobs.start_s, seconds(a.start_round for a in mine))
    assert record.jobs.preemptions.tolist() == [a.preemptions for a in mine]


# --- empty plans and decision points


@pytest.mark.parametrize("process", [CELL_1, CELL_0, SELECT_10])
def test_committing_nothing_stops_everything_and_never_hangs(process: dict[str, Any]) -> None:
    env = make(process, small_scenario([SmallJob(0, 2, 60, 0), SmallJob(0, 3, 6000, 1)]))
    env.reset(seed=0)
    env.step(rest(env))
    assert list(gangs(state_of(env).settled.cluster)) == [1]
    for _ in range(5):
        *_, info = env.step(commit(env))
        assert gangs(state_of(env).settled.cluster) == {}
        assert info["rounds"] == 1
    assert state_of(env).settled.cluster.slots.preemptions[:1].tolist() == [1]


@pytest.mark.parametrize(("process", "rounds"), [(CELL_1, [1] * 3), (CELL_0, [25, 1]), (SELECT_10, [10, 10, 5, 1])])
def test_with_somebody_to_come_an_empty_plan_waits_for_the_next_decision(
    process: dict[str, Any], rounds: list[int]
) -> None:
    env = make(process, small_scenario([SmallJob(0, 2, 60, 0), SmallJob(1500, 3, 60, 1)]))
    env.reset(seed=0)
    assert [env.step(commit(env))[-1]["rounds"] for _ in rounds] == rounds


@pytest.mark.parametrize(("process", "most"), [(CELL_1, 1), (SELECT_10, 10), (CELL_0, 10**9)])
def test_a_decision_is_due_on_every_change_and_after_decide_every_rounds(process: dict[str, Any], most: int) -> None:
    rows = [SmallJob(0, 1, 60 * 7, 0), SmallJob(60 * 31, 1, 60, 0), SmallJob(0, 1, 60 * 50, 1)]
    changes, now, due = [7, 31, 32, 50], 0, []
    while now < changes[-1]:
        now = min(now + most, next(change for change in changes if change > now))
        due.append(now)
    infos = play(make(process, small_scenario(rows)), rests, 0)
    assert np.cumsum([info["rounds"] for info in infos]).tolist() == due


def test_an_empty_stretch_is_skipped_in_one_step() -> None:
    env = make(CELL_1, small_scenario([SmallJob(0, 1, 60, 0), SmallJob(60_000, 1, 60, 0)]))
    infos = play(env, rests, 0)
    assert [info["rounds"] for info in infos] == [1000, 1]
    assert [info["reward_raw"] for info in infos] == [-60.0, -60.0]


# --- the window


def _features(env: GpuClusterEnv, obs: dict[str, Any]) -> np.ndarray[Any, Any]:
    return obs["jobs"].reshape(-1, len(SLOT_FEATURES) + len(CLASSES))


def _column(env: GpuClusterEnv, obs: dict[str, Any], name: str) -> np.ndarray[Any, Any]:
    return _features(env, obs)[:, SLOT_FEATURES.index(name)]


def _demands(env: GpuClusterEnv, obs: dict[str, Any]) -> list[int]:
    return np.rint(np.expm1(_column(env, obs, "log demand") * np.log(GPUS + 1.0))).astype(int).tolist()


def _window_slots(env: GpuClusterEnv) -> list[int]:
    """The first W unplaced active slots in base order, worked out from the state."""
    state = state_of(env)
    chosen, count = np.asarray(state.draft.plan.chosen), int(state.settled.cluster.count)
    waiting = [s for s in np.asarray(state.settled.memory.sequence).tolist() if s < count and not chosen[s]]
    return waiting[: env.kind.options.window]


def test_the_window_is_in_base_order_and_refilled_after_each_placement() -> None:
    rows = [SmallJob(k, 1 + k, 6000, k % 2) for k in range(8)]  # demands 1 to 8 tell the jobs apart
    env = make(CELL_1, small_scenario(rows), "fifo+packed")
    obs, _ = env.reset(seed=0)
    assert _demands(env, obs) == [1, 0, 0, 0]  # the others arrive in the next round
    obs, *_ = env.step(rest(env))
    assert _demands(env, obs) == [1, 2, 3, 4]
    obs, *_ = env.step(action_of(env, 1, 0))
    assert _demands(env, obs) == [1, 3, 4, 5]
    obs, *_ = env.step(action_of(env, 3, BINS))
    assert _demands(env, obs) == [1, 3, 4, 6]
    assert _column(env, obs, "fits").tolist() == [1, 0, 0, 0]
    obs, *_ = env.step(action_of(env, 0, BINS))
    assert _demands(env, obs) == [3, 4, 6, 7]
    obs, *_ = env.step(commit(env))
    assert _demands(env, obs) == [1, 2, 3, 4]
    assert _column(env, obs, "running").tolist() == [1, 1, 0, 0]


def test_the_window_follows_attained_service() -> None:
    rows = [SmallJob(0, 1 + k, 6000, k % 2) for k in range(6)]
    env = make(CELL_1, small_scenario(rows), "las-2d+pal+backfill")
    obs, _ = env.reset(seed=0)
    assert _demands(env, obs) == [1, 2, 3, 4]
    env.step(action_of(env, 3, BINS))
    obs, *_ = env.step(commit(env))
    assert _demands(env, obs) == [1, 2, 3, 5]  # the job of 4 GPUs has got something and goes behind
    for _ in range(3):
        obs, *_ = env.step(env.action_masks()[:-2].argmax())
    assert _demands(env, obs) == [5, 6, 4, 0]


def test_nothing_is_shown_in_empty_rows() -> None:
    env = make(CELL_1, small_scenario([SmallJob(0, 2, 6000, 1)]))
    obs, _ = env.reset(seed=0)
    assert (_features(env, obs)[1:] == 0).all()
    assert (obs["cells"].reshape(4, -1)[1:] == 0).all()
    assert (obs["action_mask"][:-2].reshape(4, -1)[1:] == 0).all()


def test_what_the_base_would_run_is_counted_on_what_selection_leaves_free() -> None:
    rows = [SmallJob(0, n, 6000, 0) for n in (6, 4, 3, 9)]
    env = make(SELECT_1_SLOWDOWN, small_scenario(rows), "fifo+pal+backfill")
    obs, _ = env.reset(seed=0)
    assert _column(env, obs, "base policy would run it").tolist() == [1, 0, 1, 0, 0, 0]
    obs, *_ = env.step(0)
    assert _demands(env, obs)[:3] == [4, 3, 9]
    assert _column(env, obs, "fits").tolist()[:3] == [0, 1, 0]
    assert _column(env, obs, "base policy would run it").tolist() == [0, 1, 0, 0, 0, 0]


def test_what_the_base_would_run_is_counted_on_what_placement_leaves_free() -> None:
    env = make(CELL_1, small_scenario([SmallJob(0, n, 6000, 0) for n in (6, 4, 3, 9)]), "fifo+pal+backfill")
    env.reset(seed=0)
    obs, *_ = env.step(action_of(env, 0, BINS))
    assert _column(env, obs, "base policy would run it").tolist() == [0, 1, 0, 0]


def test_cells_show_the_slowdown_that_the_profile_promises() -> None:
    bins = np.tile(np.repeat([1.0, 1.25, 2.0], 3), (2, 1))
    scores = np.full((2, GPUS), 0.9)
    env = make(CELL_1, small_scenario([SmallJob(0, 2, 6000, 0)], bins, scores, (1.5, 3.0)))
    obs, _ = env.reset(seed=0)
    cells = np.exp(obs["cells"].reshape(4, 2, BINS)[0])
    # One bin per node: PM-First's two fastest are the first node's gang, so that across 1.0 is masked.
    np.testing.assert_allclose(cells, [[1.0, 1.25, 2.0, 1.0], [1.0, 1.0, 1.0, 1.0]], rtol=1e-6)


# --- nothing leaks


def _seen(env: GpuClusterEnv, decisions: int) -> list[Any]:
    obs, _ = env.reset(seed=0, options={"world": 0})
    seen = [obs]
    for _ in range(decisions):
        seen += [env.step(env.action_masks()[:-2].argmax() if env.action_masks()[:-2].any() else commit(env))[0]]
        seen += [env.step(rest(env))[0]]
    return seen


@pytest.mark.parametrize("base", ["las-2d+pal+backfill", "gittins+packed+sticky"])
def test_no_observation_knows_work_true_scores_or_the_future(base: str) -> None:
    plain = long_world()
    jobs = plain.jobs
    later = jobs.arrival_s > 0
    variants = {
        "work": replace(plain, jobs=replace(jobs, iterations=jobs.iterations * np.linspace(1, 3, len(jobs)))),
        "scores": replace(plain, pm_score=plain.pm_score[:, ::-1] * 1.1),
        "future": replace(
            plain,
            jobs=replace(
                jobs,
                arrival_s=np.where(later, 9000.0, jobs.arrival_s),
                demand=np.where(later, 9, jobs.demand),
                app_class=np.where(later, 1, jobs.app_class),
            ),
        ),
        "number": small_scenario(
            [SmallJob(0, int(d), 6000, int(c)) for d, c in zip(jobs.demand[:7], jobs.app_class[:7], strict=True)],
            pm_bin=plain.pm_bin,
        ),
    }
    for name, variant in variants.items():
        decisions = 0 if name in ("future", "number") else 6
        mine, other = _seen(make(CELL_1, plain, base), decisions), _seen(make(CELL_1, variant, base), decisions)
        for a, b in zip(mine, other, strict=True):
            for part in a:
                np.testing.assert_array_equal(a[part], b[part], err_msg=f"{name}, {part}")


def test_what_the_profile_says_is_shown() -> None:
    """The counterpart of the leak tests: bins, unlike true scores, do change what is seen."""
    plain = long_world()
    other = replace(plain, pm_bin=plain.pm_bin[:, ::-1])
    a, b = _seen(make(CELL_1, plain), 0)[0], _seen(make(CELL_1, other), 0)[0]
    assert not all(np.array_equal(a[part], b[part]) for part in a)


def test_only_the_clairvoyant_see_remaining_work() -> None:
    rows = [SmallJob(0, 1, 600, 0), SmallJob(0, 1, 1200, 1)]
    world = small_scenario(rows, pm_bin=np.ones((2, GPUS)))
    name = "log remaining rounds (clairvoyant)"
    env = make(SELECT_1_SLOWDOWN, world)
    obs, _ = env.reset(seed=0)
    np.testing.assert_allclose(_column(env, obs, name)[:3], np.log1p([10, 20, 0]) / 10, rtol=1e-5)
    obs, *_ = env.step(rest(env))
    np.testing.assert_allclose(_column(env, obs, name)[:3], np.log1p([9, 19, 0]) / 10, rtol=1e-5)
    blind = make(CELL_1, world)
    assert (_column(blind, blind.reset(seed=0)[0], name) == 0).all()
