from __future__ import annotations

import csv
from itertools import combinations
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray
from sklearn.cluster import KMeans
from sklearn.metrics import silhouette_score
from varigym.scenarios.cluster.scenario import Compat
from varigym.scenarios.cluster.variability.bins import best_grouping, bin_scores, line_kmeans, room_for_bins, silhouette
from varigym.scenarios.cluster.variability.quantiles import Kind
from varigym.scenarios.cluster.variability.scores import Variability, draw_scores

Floats = NDArray[np.float64]

points = st.lists(st.floats(0.5, 4.0), min_size=1, max_size=9).map(np.array)
few_values = st.lists(st.sampled_from([0.9, 1.0, 1.25, 2.0]), min_size=1, max_size=9).map(np.array)
some_points = points | few_values


def within_squares(values: Floats, group: NDArray[np.int64]) -> float:
    return sum(float(((part - part.mean()) ** 2).sum()) for g in set(group.tolist()) for part in [values[group == g]])


def brute_force(values: Floats, k: int) -> float:
    x = np.sort(values)
    partitions = (np.split(x, cuts) for cuts in combinations(range(1, len(x)), k - 1))
    return min(sum(float(((part - part.mean()) ** 2).sum()) for part in parts) for parts in partitions)


def pm_scores(seed: int, kind: Kind = Kind.PER_RUN) -> Floats:
    return draw_scores(Variability(), 64, kind, np.random.default_rng(seed))


def with_outliers() -> Floats:
    scores = np.linspace(0.95, 1.05, 62)
    return np.insert(scores, [10, 40], [3.0, 3.5])


@given(some_points, st.integers(1, 5))
def test_line_kmeans_is_as_good_as_every_contiguous_partition(values: Floats, k: int) -> None:
    k = min(k, len(np.unique(values)))
    assert within_squares(values, line_kmeans(values, k)) == pytest.approx(brute_force(values, k), abs=1e-9)


@given(some_points, st.integers(1, 12))
def test_line_kmeans_groups_are_numbered_upwards_and_none_is_empty(values: Floats, k: int) -> None:
    group = line_kmeans(values, k)
    order = np.argsort(values, kind="stable")
    assert (np.diff(group[order]) >= 0).all()
    assert set(group.tolist()) == set(range(min(k, len(np.unique(values)))))


@given(few_values, st.integers(1, 12))
def test_line_kmeans_keeps_equal_values_together(values: Floats, k: int) -> None:
    group = line_kmeans(values, k)
    assert all(len(set(group[values == value])) == 1 for value in values)


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("k", [2, 6])
def test_line_kmeans_is_never_worse_than_restarted_lloyd(seed: int, k: int) -> None:
    for values in (pm_scores(seed)[0], np.random.default_rng(seed).random(64)):
        lloyd = KMeans(n_clusters=k, n_init=10, random_state=seed).fit(values.reshape(-1, 1))
        assert within_squares(values, line_kmeans(values, k)) <= lloyd.inertia_ + 1e-9


@pytest.mark.parametrize("seed", range(5))
def test_silhouette_equals_scikit_learns(seed: int) -> None:
    rng = np.random.default_rng(seed)
    values = np.round(rng.random(40), 2)  # some values equal
    for k in (2, 3, 7, 39):
        for labels in (line_kmeans(values, k), rng.integers(0, k, 40)):
            group = np.unique(labels, return_inverse=True)[1]
            if group.max() < 39:
                assert silhouette(values, group) == pytest.approx(silhouette_score(values.reshape(-1, 1), group))


def test_silhouette_counts_a_value_alone_as_nought() -> None:
    # 0 and 1 are 1 apart and 9 or 10 from the other group; 10 is alone.
    assert silhouette(np.array([0.0, 1.0, 10.0]), np.array([0, 0, 1])) == pytest.approx((9 / 10 + 8 / 9 + 0) / 3)


@pytest.mark.parametrize("centres", [(1.0, 2.0), (1.0, 1.5, 2.0), (1.0, 1.2, 1.4, 1.6, 1.8)])
def test_best_grouping_finds_separate_clusters(centres: tuple[float, ...]) -> None:
    offsets = np.linspace(-0.01, 0.01, 8)
    values = np.concatenate([centre + offsets for centre in centres])
    assert best_grouping(values).tolist() == np.repeat(np.arange(len(centres)), 8).tolist()


def test_best_grouping_has_the_highest_silhouette_of_2_to_10() -> None:
    values = pm_scores(3)[0]
    rated = [silhouette_score(values.reshape(-1, 1), line_kmeans(values, k)) for k in range(2, 11)]
    assert best_grouping(values).max() + 1 == 2 + int(np.argmax(rated))


@pytest.mark.parametrize("value", [1.0, 1.1, 0.1])
def test_equal_scores_are_one_bin(value: float) -> None:
    assert np.unique(bin_scores(np.full(64, value))) == pytest.approx([value])
    assert np.unique(bin_scores(np.full(64, value), Compat.ARTIFACT)) == pytest.approx([1.0])


def test_paper_gives_each_outlier_its_own_bin() -> None:
    scores = with_outliers()
    bins = bin_scores(scores)
    assert bins[scores >= 3.0].tolist() == [3.0, 3.5]
    assert (bins[scores < 3.0] < 1.1).all()


def test_paper_does_not_let_outliers_decide_the_other_bins() -> None:
    scores = with_outliers()
    usual = scores < 3.0
    assert bin_scores(scores)[usual].tolist() == bin_scores(scores[usual]).tolist()


def test_artifact_has_two_bins_plus_one_per_outlier() -> None:
    bins = bin_scores(with_outliers(), Compat.ARTIFACT)
    assert len(np.unique(bins)) == 4
    assert np.median(np.unique(bins)) == pytest.approx(1.0)


@pytest.mark.parametrize("seed", range(4))
def test_artifact_bins_are_the_centroids_over_their_median(seed: int) -> None:
    scores = pm_scores(seed)[0]
    k = 2 + int((scores > scores.mean() + 3 * scores.std(ddof=1)).sum())
    group = line_kmeans(scores, k)
    best = np.array([[scores[group == g].mean()] for g in range(k)])
    lloyd = KMeans(n_clusters=k, init=best, n_init=1).fit(scores.reshape(-1, 1))  # cannot improve on the optimum
    centroid = lloyd.cluster_centers_[lloyd.labels_, 0] / np.median(lloyd.cluster_centers_)
    assert bin_scores(scores, Compat.ARTIFACT) == pytest.approx(centroid)


@given(some_points)
def test_paper_bins_keep_the_mean_and_the_order(scores: Floats) -> None:
    bins = bin_scores(scores)
    assert bins.mean() == pytest.approx(scores.mean())
    assert (np.diff(bins[np.argsort(scores, kind="stable")]) >= -1e-12).all()


@pytest.mark.parametrize("gpus", [1, 2, 3])
def test_a_handful_of_gpus_can_be_binned(gpus: int) -> None:
    for compat in Compat:
        assert bin_scores(np.array([1.0, 1.5, 2.5])[:gpus], compat).shape == (gpus,)


@pytest.mark.parametrize("app_class", "ABCD")
def test_bins_equal_those_of_the_public_simulator(shared: Path, app_class: str) -> None:
    with (shared / "golden/pal/pm_scores_64gpu_seed42.csv").open() as file:
        rows = list(csv.DictReader(file))
    scores, expected = (np.array([float(row[f"{kind}_{app_class}"]) for row in rows]) for kind in ("score", "sf"))
    np.testing.assert_allclose(bin_scores(scores, Compat.ARTIFACT), expected, rtol=0, atol=1e-9)


@pytest.mark.parametrize(("gpus", "compat", "room"), [(4, "paper", 4), (64, "paper", 16), (64, "artifact", 8)])
def test_drawn_scores_have_room(gpus: int, compat: str, room: int) -> None:
    assert room_for_bins(gpus, Compat(compat)) == room
    rng = np.random.default_rng(0)
    for _ in range(20):
        scores = rng.lognormal(0, 1, gpus)  # far heavier tails than any measured cluster has
        assert len(np.unique(bin_scores(scores, Compat(compat)))) <= room
