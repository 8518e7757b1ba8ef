from __future__ import annotations

import math

import numpy as np
import pytest
from varigym.bench.grid.intervals import Interval, mean_interval, ratio_interval


def normal(n: int, seed: int = 0) -> np.ndarray:
    return np.random.default_rng(seed).normal(10.0, 2.0, n)


def test_the_value_is_the_mean_within_its_bounds() -> None:
    values = normal(30)
    interval = mean_interval(values)
    assert interval.value == values.mean()
    assert interval.low < interval.value < interval.high


def test_bounds_of_many_samples_are_those_of_the_normal_law() -> None:
    values = normal(400)
    interval = mean_interval(values)
    half = 1.96 * values.std(ddof=1) / 20
    assert interval.low == pytest.approx(values.mean() - half, abs=half / 5)
    assert interval.high == pytest.approx(values.mean() + half, abs=half / 5)


def test_nineteen_of_twenty_intervals_hold_the_truth() -> None:
    intervals = [mean_interval(normal(20, seed)) for seed in range(200)]
    held = np.mean([interval.low <= 10.0 <= interval.high for interval in intervals])
    assert 0.89 <= held <= 0.985


def test_equal_samples_give_equal_bounds() -> None:
    assert mean_interval(normal(12)) == mean_interval(normal(12))


def test_one_sample_says_nothing_of_the_spread() -> None:
    interval = mean_interval(np.array([3.0]))
    assert interval.value == 3.0
    assert math.isnan(interval.low)
    assert math.isnan(interval.high)


def test_one_pair_has_a_ratio_without_bounds() -> None:
    interval = ratio_interval(np.array([3.0]), np.array([2.0]))
    assert interval.value == pytest.approx(1.5)
    assert math.isnan(interval.low)
    assert math.isnan(interval.high)


@pytest.mark.parametrize("value", [0.0, 7.0, 0.1])
@pytest.mark.parametrize("n", [2, 10])
def test_constant_samples_have_no_spread(value: float, n: int) -> None:
    interval = mean_interval(np.full(n, value))
    assert interval.value == pytest.approx(value)
    assert interval.low == interval.value == interval.high


@pytest.mark.parametrize("n", [2, 3])
def test_few_samples_have_bounds_around_the_mean(n: int) -> None:
    interval = mean_interval(np.arange(1.0, n + 1))
    assert 1.0 <= interval.low < interval.value < interval.high <= n


def test_the_ratio_of_equal_arrays_is_exactly_one() -> None:
    values = normal(10)
    assert ratio_interval(values, values.copy()) == Interval(1.0, 1.0, 1.0)


def test_a_constant_ratio_is_found_through_noise_that_both_share() -> None:
    base = normal(10)
    interval = ratio_interval(base * 0.8, base)
    assert [interval.value, interval.low, interval.high] == pytest.approx([0.8] * 3)


def test_the_ratio_is_the_geometric_mean_of_the_pairs() -> None:
    interval = ratio_interval(np.array([1.0, 4.0, 2.0]), np.array([2.0, 2.0, 2.0]))
    assert interval.value == pytest.approx((0.5 * 2 * 1) ** (1 / 3))


def test_swapping_the_pair_inverts_the_ratio() -> None:
    one, other = normal(15, 1), normal(15, 2)
    there, back = ratio_interval(one, other), ratio_interval(other, one)
    assert there.value * back.value == pytest.approx(1.0)
    assert there.low * back.high == pytest.approx(1.0, abs=0.01)
