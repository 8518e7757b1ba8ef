"""What every entry of a catalog has to keep to: the tests of the catalogs and of plug-ins call these."""

from __future__ import annotations

import csv
import io
import math
import warnings
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import gymnasium
import numpy as np
import pytest
import varigym
from gymnasium.utils.env_checker import check_env
from gymnasium.vector import AutoresetMode
from serverless_schedulers import decisions, record_of
from serverless_small import same
from serverless_steps import is_over, task_log
from varigym import IllegalActionWarning
from varigym.bench.grid.world_kinds import KINDS, find_policy_of, kind_of
from varigym.bench.simulate import simulate
from varigym.envs.cluster.record import Record
from varigym.envs.serverless.bank import make_bank
from varigym.envs.serverless.record import Record as ServerlessRecord
from varigym.policies.cluster.catalog import ORDERS
from varigym.policies.information import Information
from varigym.policies.serverless.policy import Scheduler
from varigym.scenarios.catalog import SCENARIOS, find_source, knobs
from varigym.scenarios.cluster.source import ClusterFiles
from varigym.scenarios.serverless.scenario import ServerlessScenario
from worlds import SmallJob, small_scenario

CROWD = small_scenario([SmallJob(37 * k, 1 + (5 * k) % 9, 40 + 90 * (k % 4), k % 2) for k in range(12)])


def check_cluster_policy(name: str) -> Record:
    """It finishes every job, starts none before it came, and bears its name; the record is returned."""
    (record,) = simulate(CROWD, name)
    assert record.policy == name
    assert not np.isnan(record.jobs.finish_s).any()
    assert (record.jobs.start_s >= record.jobs.arrival_s).all()
    return record


def check_order(name: str) -> None:
    """Work that the order says it does not know does not change its first plan."""
    longer = small_scenario([SmallJob(0, 5, 600, 0), SmallJob(0, 5, 60, 1)])
    shorter = small_scenario([SmallJob(0, 5, 60, 0), SmallJob(0, 5, 600, 1)])
    first = [int(np.argmin(simulate(world, f"{name}+packed")[0].jobs.start_s)) for world in (longer, shorter)]
    clairvoyant = ORDERS[name].information is Information.CLAIRVOYANT
    assert first == ([1, 0] if clairvoyant else [0, 0])


def check_scheduler(scheduler: Scheduler, world: ServerlessScenario) -> ServerlessRecord:
    """A whole episode by legal decisions, the same twice, and scores for what is legal alone; its record."""
    data = scheduler.bind(make_bank([world]))
    for state, view, _ in decisions(scheduler, world):  # asserts that each is legal
        if not is_over(state):
            scores = np.asarray(scheduler.program.scores(data, view))  # type: ignore[attr-defined]
            assert scores.shape == (world.grid.size,)
            assert not np.isfinite(scores[~np.asarray(view.legal)]).any()
            assert not np.isnan(scores).any()
    assert is_over(state)
    assert int(state.tally.ended) == len(world.requests)
    assert not bool(state.truncated)
    record = record_of(scheduler, world)
    assert record.requests.hit.sum() == int(state.tally.hits)
    assert record.misses <= len(record.tasks.queue)
    runs = [task_log(list(decisions(scheduler, world, seed=3))[-1][0]) for _ in range(2)]
    assert runs[0] == runs[1]
    return record


def check_scenario(name: str) -> None:
    """Equal seeds give equal worlds, and a knob at its default changes nothing."""
    source = find_source(name)
    assert source.name == source.build(3).name == name
    assert kind_of(source).name == SCENARIOS[name].world
    assert source.build(3).data_hash == source.build(3).data_hash
    for knob, (_, value) in knobs(source).items():
        assert replace(find_source(f"{name}:{knob}={value}"), name=name) == source


def check_trace_format(name: str, path: Path) -> None:
    """Found by its content, and by its name."""
    found, named = ClusterFiles(path).build(0), ClusterFiles(path, format=name).build(0)
    assert found.data_hash == named.data_hash
    assert (np.diff(found.jobs.arrival_s) >= 0).all()


def check_metrics(world: str, record: Any) -> None:
    """Each has a definition, a unit and a value; `unfinished` is one of them."""
    metrics = KINDS[world].metrics
    assert "unfinished" in metrics
    for name, metric in metrics.items():
        assert metric.name == name
        assert metric.unit
        assert metric.definition
        assert isinstance(metric.of(record), float)
    assert list(varigym.metrics_of(record)) == list(metrics)


def check_world(world: str, scenario: str, policies: Sequence[str]) -> None:
    """From a scenario and policies to records, metrics, rows; and all names that the kind gives are known."""
    kind, source = KINDS[world], find_source(scenario)
    assert kind_of(source) is kind
    for policy in policies:
        for record in simulate(scenario, policy, [0, 1]):
            assert isinstance(record, kind.record)
            assert (record.scenario, record.policy) == (scenario, find_policy_of(kind, policy).name)
            assert record.data_hash == source.build(record.seed).data_hash
            check_metrics(world, record)
            assert kind.heading(record)
            assert all(math.isfinite(value) or math.isnan(value) for value in kind.details(record).values())
            header, *rows = csv.reader(io.StringIO(kind.rows(record)))
            assert rows
            assert {len(row) for row in rows} == {len(header)}
    layout = kind.layout
    columns = (*layout.columns, *layout.compared, *layout.along_knobs, *layout.judged, *layout.overview)
    assert {column.metric for column in columns} <= set(kind.metrics)  # type: ignore[attr-defined]
    assert all(len(row) == len(listing.columns) for listing in kind.listings for row in listing.rows)
    for name in (kind.usual_policy, kind.usual_baseline, *kind.experts):
        assert kind.knows_policy(name)
        assert kind.is_policy(kind.find_policy(name))
    for suite in kind.suites.values():
        assert all(SCENARIOS[name.partition(":")[0]].world == world for name in suite.scenarios)
        assert all(kind.find_policy(kind.baseline_of(suite.baseline, name)) for name in suite.policies)


# --- environments


def check_checkers(name: str, made: dict[str, Any]) -> None:
    """The checkers of Gymnasium and Stable-Baselines3 pass with default options."""
    checker = pytest.importorskip("stable_baselines3.common.env_checker")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        warnings.simplefilter("ignore", IllegalActionWarning)
        check_env(gymnasium.make(name, render_mode="ansi", **made).unwrapped, skip_render_check=False)
        checker.check_env(gymnasium.make(name, **made).unwrapped, warn=True)


def check_loop(name: str, made: dict[str, Any]) -> None:
    """The loop of every tutorial: illegal actions are reported, counted, and said once per environment."""
    env = gymnasium.make(name, **made)
    env.action_space.seed(0)
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always")
        total = 0
        for seed in (0, 1, 2):
            env.reset(seed=seed)
            illegal, over = 0, False
            while not over:
                *_, terminated, truncated, info = env.step(env.action_space.sample())
                illegal, over = illegal + info["illegal"], terminated or truncated
            assert info["metrics"]["illegal_actions"] == illegal
            total += illegal
    assert total > 0
    assert [warning.category for warning in said] == [IllegalActionWarning]
    assert "action_mask" in str(said[0].message)


def native(name: str, made: dict[str, Any], lanes: int, mode: AutoresetMode) -> Any:
    return gymnasium.make_vec(name, lanes, autoreset_mode=mode, **made)


def scalar(name: str, made: dict[str, Any], lanes: int, mode: AutoresetMode) -> Any:
    return gymnasium.make_vec(name, lanes, vectorization_mode="sync", vector_kwargs={"autoreset_mode": mode}, **made)


def lockstep(name: str, made: dict[str, Any], lanes: int, mode: AutoresetMode, steps: int) -> Iterator[Any]:
    """Steps of the native batch, each equal to the last bit to Gymnasium's batch of single environments."""
    mine, other = native(name, made, lanes, mode), scalar(name, made, lanes, mode)
    obs = mine.reset(seed=3)[0]
    assert same(obs, other.reset(seed=3)[0])
    rng = np.random.default_rng(0)
    for _ in range(steps):
        action = np.array([rng.choice(np.flatnonzero(lane)) if lane.any() else 0 for lane in obs["action_mask"]])
        stepped, expected = mine.step(action), other.step(action)
        assert same(stepped[0], expected[0])
        for got, right in zip(stepped[1:4], expected[1:4], strict=True):
            assert got.dtype == right.dtype
            assert got.tolist() == right.tolist()
        obs, over = stepped[0], stepped[2] | stepped[3]
        by_hand = over if mode is AutoresetMode.DISABLED else np.zeros(lanes, bool)
        by_hand = yield over, by_hand
        if by_hand.any():
            obs = mine.reset(options={"reset_mask": by_hand.copy()})[0]
            assert same(obs, other.reset(options={"reset_mask": by_hand.copy()})[0])


def play(trial: Any, by_hand_at: int | None = None) -> list[int]:
    """How many lanes ended in each step; lane 0 is reset by hand in step `by_hand_at` as well."""
    ended, (over, reset) = [], next(trial)
    while True:
        ended.append(int(over.sum()))
        if len(ended) == by_hand_at:
            reset = reset.copy()
            reset[0] = True
        try:
            over, reset = trial.send(reset)
        except StopIteration:
            return ended
