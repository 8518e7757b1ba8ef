from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from varigym.scenarios.errors import InputError
from varigym.scenarios.serverless.arrivals import HEAVY, LIGHT, NORMAL, Arrivals
from varigym.scenarios.types import Floats, Ints


def draw(arrivals: Arrivals, seed: int = 1, workflows: int = 4) -> tuple[Floats, Ints]:
    return arrivals.draw(np.random.default_rng(seed), np.random.default_rng(seed + 1), workflows)


def test_gaps_are_uniform_in_their_range_and_workflows_equally_likely() -> None:
    arrival_ms, workflow = draw(Arrivals(*NORMAL))
    gaps = np.diff(arrival_ms, prepend=0.0)
    assert gaps.min() >= 20.0
    assert gaps.max() <= 33.6
    assert gaps.mean() == pytest.approx(26.8, rel=0.01)
    assert gaps.std() == pytest.approx(13.6 / np.sqrt(12), rel=0.02)
    assert np.bincount(workflow, minlength=4) / len(workflow) == pytest.approx(np.full(4, 0.25), abs=0.02)
    assert len(workflow) == len(arrival_ms)


@pytest.mark.parametrize(("gap_ms", "per_s"), [(LIGHT, 18.7), (NORMAL, 37.3), (HEAVY, 74.6)])
def test_rates_of_the_three_loads(gap_ms: tuple[float, float], per_s: float) -> None:
    arrival_ms, _ = draw(Arrivals(*gap_ms))
    assert len(arrival_ms) / 360 == pytest.approx(per_s, rel=0.01)


def test_requests_arrive_until_the_window_ends_and_the_rest_is_left_to_finish() -> None:
    arrivals = Arrivals(warmup_s=2.0, measured_s=3.0, drain_s=4.0)
    assert (arrivals.window_ms, arrivals.horizon_ms) == ((2000.0, 5000.0), 9000.0)
    arrival_ms, _ = draw(arrivals)
    assert 5000 - 16.8 <= arrival_ms[-1] < 5000


def test_load_divides_the_gaps_and_leaves_the_draws() -> None:
    plain, loaded = draw(Arrivals())[0], draw(Arrivals(load=1.25))[0]
    assert loaded[:1000] * 1.25 == pytest.approx(plain[:1000], rel=1e-12)


def test_a_longer_window_begins_like_a_shorter_one() -> None:
    short, long = draw(Arrivals(measured_s=10.0)), draw(Arrivals(measured_s=20.0))
    for part, whole in zip(short, long, strict=True):
        assert (whole[: len(part)] == part).all()


def test_a_gap_shrinks_by_the_rate_of_the_phase_in_which_it_starts() -> None:
    # gaps of 300 ms: 100 in the burst of 3x [0, 1000), 600 in the lull of 0.5x [1000, 3000), and again
    arrivals = Arrivals(300.0, 300.0, 1.0, 1.0, 2.0, 3.0, 0.5, warmup_s=0.0, measured_s=4.1)
    expected = [*range(100, 1001, 100), 1600, 2200, 2800, 3400, *range(3500, 4001, 100), 4600]
    assert draw(arrivals)[0] == pytest.approx([t for t in expected if t < 4100])


def test_the_built_in_cycle_keeps_the_mean_rate() -> None:
    steady, bursty = draw(Arrivals())[0], draw(Arrivals(burst_s=5.0))[0]
    assert len(bursty) == pytest.approx(len(steady), rel=0.01)
    in_burst = bursty % 15_000 < 5000
    assert in_burst.mean() == pytest.approx(8 / 15, abs=0.01)


@given(st.floats(0.5, 3.0), st.floats(0.0, 3.0), st.integers(0, 5))
def test_arrivals_ascend_within_the_window(load: float, burst_s: float, seed: int) -> None:
    arrivals = Arrivals(load=load, burst_s=burst_s, lull_s=1.0, warmup_s=0.0, measured_s=5.0)
    arrival_ms, workflow = draw(arrivals, seed, 3)
    assert (np.diff(arrival_ms) > 0).all()
    assert arrival_ms[0] > 0
    assert arrival_ms[-1] < 5000
    assert set(workflow.tolist()) <= {0, 1, 2}
    slowest = 16.8 / (load * (0.7 if burst_s else 1.0))
    assert arrival_ms[-1] >= 5000 - slowest - 1e-6


@pytest.mark.parametrize(
    ("knobs", "message"),
    [
        ({"gap_low_ms": 0.0}, "gap_low_ms = 0.0; legal: a finite number > 0"),
        ({"gap_low_ms": float("nan")}, "gap_low_ms = nan"),
        ({"gap_high_ms": 9.0}, "gap_high_ms = 9.0; legal: a finite number >= 10"),
        ({"load": 0.0}, "load = 0.0; legal: .* >= 0.001"),
        ({"load": 1e9}, "load = 1000000000.0"),
        ({"burst_s": -1.0}, "burst_s = -1.0"),
        ({"burst_rate": 0.0}, "burst_rate = 0.0"),
        ({"lull_rate": float("inf")}, "lull_rate = inf"),
        ({"warmup_s": -1.0}, "warmup_s = -1.0"),
        ({"measured_s": 0.0}, "measured_s = 0.0; legal: a finite number > 0"),
        ({"drain_s": 1e5}, "drain_s = 100000.0; legal: .* <= 10000"),
        ({"measured_s": 6000.0, "drain_s": 6000.0}, r"warmup_s \+ measured_s \+ drain_s = 12060\.0"),
        ({"gap_low_ms": 0.1, "gap_high_ms": 1.0}, r"up to 3\.6e\+06 requests would arrive; legal: at most 1,000,000"),
        ({"load": "high"}, "load = 'high'"),
    ],
)
def test_bad_arrivals_are_refused(knobs: dict[str, Any], message: str) -> None:
    with pytest.raises(InputError, match=message):
        replace(Arrivals(), **knobs)
