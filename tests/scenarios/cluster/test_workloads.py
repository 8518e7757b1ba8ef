from __future__ import annotations

from collections import Counter

import numpy as np
import pytest
from varigym.scenarios.cluster.scenario import Compat, Jobs
from varigym.scenarios.cluster.traces.models import MODELS
from varigym.scenarios.cluster.variability.quantiles import CLASSES
from varigym.scenarios.cluster.workloads import SHAPES, SYNERGY_DEMAND, SiaPhilly, Synergy, Workload
from varigym.scenarios.errors import InputError

MANY = 20_000


def draw(workload: Workload, seed: int = 0, gpus: int = 64, compat: Compat = Compat.PAPER) -> Jobs:
    return workload.draw(np.random.default_rng(seed), gpus, compat)


def shares(values: np.ndarray) -> dict[int, float]:
    return {value: count / len(values) for value, count in Counter(values.tolist()).items()}


@pytest.mark.parametrize("workload", [SiaPhilly(), Synergy()])
def test_equal_seeds_give_equal_jobs(workload: Workload) -> None:
    one, same, other = draw(workload, 3), draw(workload, 3), draw(workload, 4)
    for column in ("arrival_s", "demand", "iterations", "app_class"):
        assert np.array_equal(getattr(one, column), getattr(same, column))
        assert not np.array_equal(getattr(one, column), getattr(other, column))


@pytest.mark.parametrize("workload", [SiaPhilly(), Synergy()])
def test_arrivals_are_whole_seconds_in_order(workload: Workload) -> None:
    arrival_s = draw(workload).arrival_s
    assert (arrival_s == np.round(arrival_s)).all()
    assert (np.diff(arrival_s) >= 0).all()


@pytest.mark.parametrize("workload", [SiaPhilly(), Synergy()])
def test_no_job_asks_for_more_than_the_cluster(workload: Workload) -> None:
    for gpus in (1, 2, 8):
        assert draw(workload, gpus=gpus).demand.max() <= gpus


def test_sia_demand_and_class_follow_the_fitted_shares() -> None:
    jobs = draw(SiaPhilly(jobs=MANY))
    total = sum(count for _, _, count, _ in SHAPES)
    demand: Counter[int] = Counter()
    letters: Counter[int] = Counter()
    for model, gpus, count, _ in SHAPES:
        demand[gpus] += count / total
        letters[CLASSES.index(MODELS[model].app_class)] += count / total
    assert shares(jobs.demand) == pytest.approx(dict(demand), abs=0.012)
    assert shares(jobs.app_class) == pytest.approx(dict(letters), abs=0.012)


def test_sia_run_times_follow_their_shape() -> None:
    jobs = draw(SiaPhilly(jobs=MANY))
    single = jobs.work_s[jobs.demand == 1]  # vgg19 alone; jitter of a log-normal leaves the median about where it is
    assert np.median(single) == pytest.approx(305, rel=0.1)
    assert single.min() > 18 * np.exp(-5 * 0.3)
    assert single.max() < 1027 * np.exp(5 * 0.3)


def test_sia_arrivals_fill_the_span_evenly() -> None:
    arrival_s = draw(SiaPhilly(jobs=MANY, span_h=2.0)).arrival_s
    assert arrival_s.min() >= 0
    assert arrival_s.max() <= 7200
    assert np.quantile(arrival_s, [0.25, 0.5, 0.75]) == pytest.approx([1800, 3600, 5400], rel=0.03)


def test_sia_span_moves_arrivals_and_nothing_else() -> None:
    near, far = draw(SiaPhilly(span_h=2.0)), draw(SiaPhilly(span_h=20.0))
    assert np.array_equal(near.work_s, far.work_s)
    assert np.array_equal(near.demand, far.demand)
    assert np.abs(near.arrival_s * 10 - far.arrival_s).max() <= 10


def test_sia_leaves_out_shapes_that_do_not_fit() -> None:
    assert set(draw(SiaPhilly(jobs=2000), gpus=8).demand.tolist()) == {1, 4, 6, 8}


def test_synergy_arrives_at_its_mean_rate() -> None:
    arrival_s = draw(Synergy(load_per_h=10.0, jobs=MANY)).arrival_s
    assert np.diff(arrival_s).mean() == pytest.approx(360, rel=0.03)
    assert np.diff(arrival_s).std() == pytest.approx(360, rel=0.05)


def test_synergy_demand_follows_its_shares() -> None:
    assert shares(draw(Synergy(jobs=MANY)).demand) == pytest.approx(dict(SYNERGY_DEMAND), abs=0.012)


def test_synergy_run_times_follow_gavels_law() -> None:
    work_s = draw(Synergy(jobs=MANY)).work_s
    assert work_s.min() >= 60 * 10**1.5
    assert work_s.max() <= 60 * 10**4
    assert (work_s > 60 * 10**3).mean() == pytest.approx(0.2, abs=0.012)


def test_synergy_tracks_the_jobs_behind_the_warm_up() -> None:
    tracked = draw(Synergy(jobs=50, warm_up=10, tracked=15)).tracked
    assert np.flatnonzero(tracked).tolist() == list(range(10, 25))


def test_synergy_is_all_class_a_under_artifact_and_nothing_else_changes() -> None:
    paper, artifact = draw(Synergy()), draw(Synergy(), compat=Compat.ARTIFACT)
    assert set(paper.app_class.tolist()) == {0, 1, 2, 3}
    assert set(artifact.app_class.tolist()) == {0}
    assert np.array_equal(paper.demand, artifact.demand)
    assert np.array_equal(paper.work_s, artifact.work_s)


@pytest.mark.parametrize(
    ("make", "knob", "value"),
    [
        (SiaPhilly, "jobs", 0),
        (SiaPhilly, "jobs", -1),
        (SiaPhilly, "span_h", 0.0),
        (SiaPhilly, "span_h", float("nan")),
        (SiaPhilly, "span_h", float("inf")),
        (Synergy, "load_per_h", -8.0),
        (Synergy, "load_per_h", float("inf")),
        (Synergy, "warm_up", -1),
        (Synergy, "tracked", 0),
        (Synergy, "jobs", 499),
    ],
)
def test_bad_knobs_are_refused(make: type[SiaPhilly] | type[Synergy], knob: str, value: float) -> None:
    with pytest.raises(InputError, match=rf"^{knob} = {value}; legal: "):
        make(**{knob: value})
