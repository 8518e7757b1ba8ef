from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np
import pytest
from varigym.scenarios.catalog import find_source, knobs
from varigym.scenarios.cluster.catalog import SCENARIOS as CLUSTER
from varigym.scenarios.cluster.scenario import ClusterScenario, Compat, make_jobs, with_tracked
from varigym.scenarios.cluster.source import Source
from varigym.scenarios.errors import InputError
from varigym.scenarios.seeds import HELD_OUT, TRAIN, VALIDATION

Change = Callable[[ClusterScenario], ClusterScenario]


def tiny() -> ClusterScenario:
    return find_source("tiny").build(0)


@pytest.fixture(params=CLUSTER)
def name(request: pytest.FixtureRequest) -> str:
    return str(request.param)


def test_equal_seeds_give_equal_worlds_and_others_do_not(name: str) -> None:
    source = find_source(name)
    assert source.build(3).data_hash == source.build(3).data_hash
    assert (source.build(3).data_hash == source.build(4).data_hash) == (name == "tiny")


def test_a_source_is_called_what_it_was_asked_for(name: str) -> None:
    variant = f"{name}:restart_s=30:locality_penalty=1.5"
    assert find_source(name).name == name
    assert find_source(variant).name == find_source(variant).build(0).name == variant


def test_history_comes_from_train_seeds(name: str) -> None:
    history = find_source(name).history()
    assert history is not None
    assert set(find_source(name).build(TRAIN.first).jobs.demand.tolist()) <= set(history.demand.tolist())


def test_every_knob_can_be_set_to_its_default_and_nothing_changes(name: str) -> None:
    source = find_source(name)
    defaults = [f"{knob}={value}" for knob, (_, value) in knobs(source).items()]
    assert len(defaults) >= 6
    for setting in defaults:
        assert replace(find_source(f"{name}:{setting}"), name=name) == source
    everything = ":".join([name, *defaults])
    assert find_source(everything).build(5).data_hash == source.build(5).data_hash


@pytest.mark.parametrize(
    "setting",
    [
        "nodes=17",
        "gpus_per_node=2",
        "round_s=300",
        "restart_s=90",
        "locality_penalty=2",
        "locality_penalty=A=1.16/B=1/C=1/D=1.1",
        "compat=artifact",
        "cluster=frontera",
        "spread=2",
        "slow_rate=0.5",
        "profile_noise=0.1",
        "profile_stale=0.5",
        "jobs=20",
        "span_h=3",
    ],
)
def test_every_knob_changes_the_world(setting: str) -> None:
    changed = find_source(f"sia-64:{setting}").build(5)
    assert changed.data_hash != find_source("sia-64").build(5).data_hash


def test_knobs_do_what_they_say() -> None:
    world = find_source("sia-64:nodes=3:gpus_per_node=5:round_s=60:restart_s=9:jobs=7:compat=artifact").build(0)
    assert (world.nodes, world.gpus_per_node, world.gpus) == (3, 5, 15)
    assert (world.round_s, world.restart_s, len(world.jobs), world.compat) == (60.0, 9.0, 7, Compat.ARTIFACT)
    assert world.locality_penalty.tolist() == [1.7] * 4


def test_the_locality_penalty_may_differ_by_class() -> None:
    world = find_source("tiny:locality_penalty=D=1.1/A=1.16/B=1/C=1.5").build(0)
    assert world.locality_penalty.tolist() == [1.16, 1.0, 1.5, 1.1]


def test_a_knob_is_given_once_and_their_order_does_not_matter() -> None:
    with pytest.raises(InputError, match="restart_s is given twice"):
        find_source("tiny:restart_s=1:restart_s=2")
    low, high = "gap_low_ms=20", "gap_high_ms=33.6"
    worlds = [find_source(f"relaxed-heavy:measured_s=2:{a}:{b}").build(0) for a, b in ((low, high), (high, low))]
    assert worlds[0].data_hash == worlds[1].data_hash


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("sia64", "unknown scenario 'sia64'; did you mean sia-64"),
        ("", "unknown scenario ''; legal: tiny, sia-64"),
        ("sia-64:spred=2", "unknown knob of sia-64 'spred'; did you mean spread"),
        ("sia-64:", "unknown knob of sia-64 ''; legal: jobs"),
        ("tiny:spread=2", "unknown knob of tiny 'spread'"),
    ],
)
def test_unknown_names_are_refused_with_the_closest(text: str, message: str) -> None:
    with pytest.raises(InputError) as refusal:
        find_source(text)
    assert str(refusal.value).startswith(message)


@pytest.mark.parametrize(
    ("setting", "legal"),
    [
        ("nodes=many", "a whole number"),
        ("nodes=1.5", "a whole number"),
        ("jobs=", "a whole number"),
        ("spread", "a number"),
        ("restart_s=soon", "a number"),
        ("locality_penalty=high", "a number"),
        ("compat=other", "paper, artifact"),
        ("cluster=summit", "longhorn, frontera"),
    ],
)
def test_a_knob_of_the_wrong_kind_is_refused(setting: str, legal: str) -> None:
    knob, _, value = setting.partition("=")
    with pytest.raises(InputError, match=rf"^{knob} = '{value}'; legal: {legal}"):
        find_source(f"sia-64:{setting}")


@pytest.mark.parametrize(
    "setting",
    [
        "nodes=0",
        "nodes=-1",
        "gpus_per_node=0",
        "nodes=100000000000000",
        "jobs=0",
        "jobs=1000000000000000",
        "round_s=0",
        "round_s=-1",
        "round_s=nan",
        "round_s=inf",
        "restart_s=-1",
        "restart_s=nan",
        "locality_penalty=0.5",
        "locality_penalty=nan",
        "locality_penalty=inf",
        "locality_penalty=A=0.5/B=1/C=1/D=1",
        "locality_penalty=A=1/B=1",
        "locality_penalty=A=1/B=1/C=1/D=high",
        "span_h=0",
        "span_h=1e308",
        "spread=-1",
        "slow_rate=2",
    ],
)
def test_a_knob_out_of_range_is_refused_when_the_world_is_built(setting: str) -> None:
    with pytest.raises(InputError, match=setting.split("=", maxsplit=1)[0]):
        find_source(f"sia-64:{setting}").build(0)


def test_a_penalty_of_an_unknown_class_is_refused() -> None:
    with pytest.raises(InputError, match="unknown app class 'E'; legal: A, B, C, D"):
        find_source("sia-64:locality_penalty=A=1/B=1/C=1/D=1/E=1").build(0)


def test_rounds_too_short_to_count_are_refused() -> None:
    with pytest.raises(InputError, match=r"times reach .* s, over .* rounds of 1e-09 s; use shorter times or longer"):
        find_source("sia-64:round_s=1e-9").build(0)


@pytest.mark.parametrize("scenario", ["tiny", "sia-64", "synergy-256"])
def test_a_negative_seed_is_refused(scenario: str) -> None:
    with pytest.raises(InputError, match="seed = -1; legal: 0 to 2147483647"):
        find_source(scenario).build(-1)


def test_seed_ranges_do_not_overlap_and_leave_no_gap() -> None:
    assert TRAIN.first == 0
    assert TRAIN.last + 1 == VALIDATION.first <= VALIDATION.last
    assert VALIDATION.last + 1 == HELD_OUT.first <= HELD_OUT.last


def test_train_seeds_of_the_history_lie_in_the_train_range() -> None:
    sources: list[Source] = [find_source(name) for name in CLUSTER]
    assert all(getattr(source, "train_seeds", 1) - 1 <= TRAIN.last for source in sources)


def with_jobs(**columns: object) -> Change:
    return lambda scenario: replace(scenario, jobs=replace(scenario.jobs, **columns))


def first_changed(column: str, value: float) -> Change:
    def change(scenario: ClusterScenario) -> ClusterScenario:
        values = getattr(scenario.jobs, column).copy()
        values[0] = value
        return with_jobs(**{column: values})(scenario)

    return change


def field(name: str, value: object) -> Change:
    return lambda scenario: replace(scenario, **{name: value})


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (field("nodes", 3), r"pm_score has shape \(4, 4\); expected \[classes, GPUs\] = \(4, 6\)"),
        (field("nodes", 0), "nodes|pm_score"),
        (field("gpus_per_node", 0), "gpus_per_node|pm_score"),
        (field("classes", ("A", "B")), r"pm_score has shape \(4, 4\); expected .* = \(2, 4\)"),
        (field("pm_score", np.ones(4)), r"pm_score has shape \(4,\)"),
        (field("pm_bin", np.ones((4, 3))), r"pm_bin has shape \(4, 3\)"),
        (field("locality_penalty", np.ones(3)), r"locality_penalty has shape \(3,\)"),
        (field("locality_penalty", np.array([1, 1, 0.99, 1])), "locality_penalty of class C = 0.99; legal: .* >= 1"),
        (field("locality_penalty", np.array([1, np.inf, 1, 1])), "locality_penalty of class B = inf"),
        (field("pm_score", np.array([[1.0, np.nan, 1, 1]] * 4)), r"pm_score\[0, 1\] = nan; legal: .* > 0"),
        (field("pm_score", np.zeros((4, 4))), r"pm_score\[0, 0\] = 0.0"),
        (field("pm_bin", np.full((4, 4), np.inf)), r"pm_bin\[0, 0\] = inf"),
        (field("round_s", 0.0), "round_s = 0.0; legal: a finite number > 0"),
        (field("round_s", float("nan")), "round_s = nan"),
        (field("restart_s", -1.0), "restart_s = -1.0; legal: a finite number >= 0"),
        (field("restart_s", float("inf")), "restart_s = inf"),
        (first_changed("demand", 0), r"demand\[0\] = 0; legal: 1 to 4 GPUs"),
        (first_changed("demand", 5), r"demand\[0\] = 5; legal: 1 to 4 GPUs"),
        (first_changed("iterations", 0.0), r"work_s\[0\] = 0.0; legal: a finite number > 0"),
        (first_changed("iterations", float("nan")), r"work_s\[0\] = nan"),
        (first_changed("iter_s", float("inf")), r"work_s\[0\] = inf"),
        (first_changed("arrival_s", -1.0), r"arrival_s\[0\] = -1.0; legal: a finite number >= 0"),
        (first_changed("arrival_s", float("nan")), r"arrival_s\[0\] = nan"),
        (first_changed("app_class", 4), r"app_class\[0\] = 4; legal: a class index"),
        (first_changed("app_class", -1), r"app_class\[0\] = -1"),
        (first_changed("arrival_s", 90.0), "arrival_s"),
        (with_jobs(tracked=np.zeros(4, bool)), "no job is tracked"),
        (with_jobs(demand=np.ones(3, np.int32)), "demand"),
        (with_jobs(iterations=np.ones(5)), "iterations"),
        (first_changed("iterations", 1e15), "times reach .* rounds of 60.0 s"),
        (field("round_s", 1e-9), "times reach"),
        (field("restart_s", 1e15), "times reach"),
    ],
)
def test_parts_that_do_not_fit_are_refused(change: Change, message: str) -> None:
    with pytest.raises(InputError, match=message):
        change(tiny())


def test_a_scenario_without_jobs_is_refused() -> None:
    none = make_jobs(*(np.zeros(0) for _ in range(6)))
    with pytest.raises(InputError, match="no jobs"):
        replace(tiny(), jobs=none)


def test_make_jobs_sorts_by_arrival_and_keeps_ties() -> None:
    jobs = make_jobs(
        job_id=np.array(["late", "first", "second"]),
        arrival_s=np.array([9.0, 1.0, 1.0]),
        demand=np.array([1, 2, 3], np.int32),
        iterations=np.array([10.0, 20.0, 30.0]),
        iter_s=np.array([1.0, 2.0, 3.0]),
        app_class=np.array([0, 1, 2], np.int32),
        tracked=np.array([True, False, True]),
    )
    assert jobs.job_id.tolist() == ["first", "second", "late"]
    assert jobs.demand.tolist() == [2, 3, 1]
    assert jobs.work_s.tolist() == [40.0, 90.0, 10.0]
    assert jobs.app_class.tolist() == [1, 2, 0]
    assert jobs.tracked.tolist() == [False, True, True]


def test_with_tracked_counts_positions_of_the_arrival_order() -> None:
    assert with_tracked(tiny(), 1, 2).jobs.tracked.tolist() == [False, True, True, False]
    assert with_tracked(tiny(), 0, 3).data_hash == tiny().data_hash


@pytest.mark.parametrize(("first", "last"), [(-1, 2), (2, 1), (0, 4), (4, 4)])
def test_a_range_that_holds_no_jobs_is_refused(first: int, last: int) -> None:
    with pytest.raises(InputError, match=rf"tracked = {first}-{last}; legal: FIRST-LAST within 0-3"):
        with_tracked(tiny(), first, last)


def test_the_hash_leaves_out_the_name_and_sees_everything_else() -> None:
    scenario = tiny()
    assert replace(scenario, name="other").data_hash == scenario.data_hash
    changes = [
        field("round_s", 61.0),
        field("restart_s", 1.0),
        field("compat", Compat.ARTIFACT),
        field("streamed", 1),
        field("classes", ("A", "B", "C", "E")),
        field("pm_score", scenario.pm_score * 1.01),
        field("pm_bin", scenario.pm_bin * 1.01),
        field("locality_penalty", scenario.locality_penalty * 1.01),
        with_jobs(job_id=np.array(["0", "1", "2", "x"])),
        first_changed("demand", 1),
        first_changed("iterations", 121.0),
        first_changed("iter_s", 1.5),
        first_changed("app_class", 3),
        first_changed("tracked", False),
        with_jobs(arrival_s=scenario.jobs.arrival_s + 1),
    ]
    hashes = [scenario.data_hash, *(change(scenario).data_hash for change in changes)]
    assert len(set(hashes)) == len(hashes)
