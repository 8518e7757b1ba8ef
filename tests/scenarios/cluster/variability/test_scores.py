from __future__ import annotations

import csv
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray
from varigym.scenarios.catalog import find_source
from varigym.scenarios.cluster.scenario import ClusterScenario, Compat
from varigym.scenarios.cluster.variability.bins import bin_scores
from varigym.scenarios.cluster.variability.quantiles import CLASSES, MEASURED, Kind
from varigym.scenarios.cluster.variability.scores import SLOW_RANGE, Variability, draw_scores, profile
from varigym.scenarios.errors import InputError

Floats = NDArray[np.float64]
GPUS = 64
MANY = 100_000


def drawn(seed: int = 0, gpus: int = GPUS, kind: Kind = Kind.PER_GPU, **knobs: float) -> Floats:
    return draw_scores(Variability(**knobs), gpus, kind, np.random.default_rng(seed))


def held(truth: Floats, redrawn: Floats, seed: int = 0, **knobs: float) -> Floats:
    return profile(truth, redrawn, Variability(**knobs), Compat.PAPER, np.random.default_rng(seed))


def world(knobs: str, seed: int = 5) -> ClusterScenario:
    return find_source(f"sia-64{knobs}").build(seed)


def same_jobs(one: ClusterScenario, other: ClusterScenario) -> bool:
    columns = ("job_id", "arrival_s", "demand", "iterations", "iter_s", "app_class", "tracked")
    return all(np.array_equal(getattr(one.jobs, name), getattr(other.jobs, name)) for name in columns)


def test_no_spread_makes_all_gpus_equal() -> None:
    assert (drawn(spread=0.0) == 1.0).all()


def test_spread_is_an_exponent() -> None:
    np.testing.assert_allclose(drawn(spread=2.0), drawn() ** 2)


def test_slow_gpus_are_slow_for_every_class_by_one_factor_in_range() -> None:
    factor = drawn(slow_rate=0.3) / drawn()
    slow = factor[0] > 1
    np.testing.assert_allclose(factor, np.broadcast_to(factor[0], factor.shape))
    assert 5 < slow.sum() < 35
    assert (factor[:, ~slow] == 1.0).all()
    assert (factor[0, slow] >= SLOW_RANGE[0]).all()
    assert (factor[0, slow] <= SLOW_RANGE[1]).all()


def test_a_higher_slow_rate_slows_the_same_gpus_and_more() -> None:
    plain, some, more = drawn(), drawn(slow_rate=0.1), drawn(slow_rate=0.4)
    slow = some != plain
    assert slow.any()
    assert (some[slow] == more[slow]).all()
    assert (more != plain).sum() > slow.sum()


def test_slow_rate_is_the_share_of_slow_gpus() -> None:
    plain, some = drawn(gpus=MANY), drawn(gpus=MANY, slow_rate=0.08)
    assert (plain != some)[0].mean() == pytest.approx(0.08, abs=0.005)


def test_classes_and_gpus_are_independent() -> None:
    scores = drawn(gpus=MANY)
    correlation = np.corrcoef(np.vstack([scores, np.roll(scores[:1], 1, axis=1)]))
    assert np.abs(correlation - np.eye(len(correlation))).max() < 0.02


def test_equal_seeds_draw_equal_scores() -> None:
    assert (drawn(7) == drawn(7)).all()
    assert (drawn(7) != drawn(8)).mean() > 0.99


@pytest.mark.parametrize("cluster", MEASURED)
@pytest.mark.parametrize("kind", Kind)
def test_many_draws_follow_the_measured_quantiles(cluster: str, kind: Kind) -> None:
    scores = draw_scores(Variability(cluster=cluster), MANY, kind, np.random.default_rng(0))
    for row, letter in zip(scores, CLASSES, strict=True):
        shares, slowdowns = MEASURED[cluster][letter][kind]
        below = [(row <= slowdown).mean() for slowdown in slowdowns]
        np.testing.assert_allclose(below, shares, atol=0.006)


@pytest.mark.parametrize("cluster", MEASURED)
@pytest.mark.parametrize("letter", CLASSES)
@pytest.mark.parametrize("kind", Kind)
def test_tables_are_cumulative_with_median_one(cluster: str, letter: str, kind: Kind) -> None:
    shares, slowdowns = MEASURED[cluster][letter][kind]
    assert list(shares) == sorted(set(shares))
    assert (shares[0], shares[-1]) == (0.0, 1.0)
    assert list(slowdowns) == sorted(slowdowns)
    assert slowdowns[shares.index(0.5)] == 1.0


@pytest.mark.parametrize(("cluster", "letters"), [("longhorn", "ABCD"), ("frontera", "ABD")])
@pytest.mark.parametrize(("kind", "published"), [(Kind.PER_RUN, "per_run"), (Kind.PER_GPU, "per_gpu_median")])
def test_tables_equal_the_published_quantiles(
    shared: Path, cluster: str, letters: str, kind: Kind, published: str
) -> None:
    with (shared / "specs/pm_score_quantiles.csv").open() as file:
        rows = [row for row in csv.DictReader(file) if row["cluster"].lower() == cluster and row["kind"] == published]
    for letter in letters:
        (row,) = [row for row in rows if row["class"][0] == letter]
        shares, slowdowns = MEASURED[cluster][letter][kind]
        for percent in (0, 1, 5, 10, 25, 50, 75, 90, 95, 99, 100):
            expected = float(row[f"q{percent}"]) / float(row["q50"])  # the file divides GPUs by the median run
            assert slowdowns[shares.index(percent / 100)] == pytest.approx(expected, abs=6e-4), (letter, percent)


def test_an_exact_profile_holds_the_bins_of_the_true_scores() -> None:
    truth = drawn(1)
    bins = held(truth, drawn(2))
    assert bins.tolist() == [bin_scores(row).tolist() for row in truth]
    for scores, row in zip(truth, bins, strict=True):
        for value in np.unique(row):
            assert scores[row == value].mean() == pytest.approx(value)


def test_a_wholly_stale_profile_does_not_depend_on_the_truth() -> None:
    redrawn = drawn(2)
    assert held(drawn(1), redrawn, profile_stale=1.0).tolist() == held(redrawn, drawn(3)).tolist()


def test_a_wholly_stale_profile_is_unrelated_to_the_truth() -> None:
    def correlation(knobs: str) -> float:
        worlds = [world(knobs, seed) for seed in range(20)]
        truth, bins = (np.concatenate([getattr(w, part)[0] for w in worlds]) for part in ("pm_score", "pm_bin"))
        return float(np.corrcoef(truth, bins)[0, 1])

    assert correlation("") > 0.6
    assert abs(correlation(":profile_stale=1")) < 0.1


def test_a_stale_gpu_is_stale_for_every_class() -> None:
    truth, redrawn = np.full((4, 1000), 1.0), np.full((4, 1000), 2.0)
    bins = held(truth, redrawn, profile_stale=0.25)
    assert (bins == bins[0]).all()
    assert (bins[0] == 2.0).mean() == pytest.approx(0.25, abs=0.05)


def test_noise_changes_the_profile_and_grows_with_its_knob() -> None:
    truth = np.ones((4, 400))
    spreads = [np.log(held(truth, truth, profile_noise=noise)).std() for noise in (0.0, 0.05, 0.2)]
    assert spreads[0] == 0.0
    assert spreads[1:] == [pytest.approx(0.05, rel=0.25), pytest.approx(0.2, rel=0.25)]


@pytest.mark.parametrize("knob", [":slow_rate=0.2", ":spread=3", ":profile_noise=0.1", ":profile_stale=0.5"])
def test_a_variability_knob_leaves_the_jobs_as_they_are(knob: str) -> None:
    assert same_jobs(world(knob), world(""))
    assert world(knob).data_hash != world("").data_hash


@pytest.mark.parametrize("knob", [":profile_noise=0.1", ":profile_stale=0.5"])
def test_a_profile_knob_leaves_the_true_scores_as_they_are(knob: str) -> None:
    assert (world(knob).pm_score == world("").pm_score).all()
    assert (world(knob).pm_bin != world("").pm_bin).any()


def test_artifact_draws_single_runs() -> None:
    assert max(world(":compat=paper", seed).pm_score[0].max() for seed in range(20)) < 1.2
    assert max(world(":compat=artifact", seed).pm_score[0].max() for seed in range(20)) > 2.5


@pytest.mark.parametrize(
    ("knob", "value"),
    [
        ("cluster", "summit"),
        ("spread", -0.1),
        ("spread", 11.0),
        ("spread", float("nan")),
        ("slow_rate", -0.1),
        ("slow_rate", 1.1),
        ("profile_noise", -1.0),
        ("profile_noise", float("inf")),
        ("profile_stale", 1.01),
        ("profile_stale", float("nan")),
    ],
)
def test_bad_values_are_refused(knob: str, value: float | str) -> None:
    with pytest.raises(InputError, match=rf"^{knob} = '?{value}'?; legal: "):
        Variability(**{knob: value})
