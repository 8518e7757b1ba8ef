from __future__ import annotations

import numpy as np
import pytest
from varigym.scenarios.errors import InputError
from varigym.scenarios.serverless.noise import Noise


def draw(noise: Noise, requests: int = 200_000, stages: int = 2) -> np.ndarray[tuple[int, ...], np.dtype[np.float32]]:
    return noise.draw(np.random.default_rng(1), np.random.default_rng(2), requests, stages)


def test_the_factor_has_mean_one_and_the_spread_asked_for() -> None:
    factors = draw(Noise(noise_cv=0.2, straggler_share=0.0))
    assert factors.shape == (200_000, 2)
    assert factors.dtype == np.float32
    assert factors.mean() == pytest.approx(1.0, abs=2e-3)
    assert factors.std() == pytest.approx(0.2, abs=2e-3)
    assert np.log(factors).std() == pytest.approx(np.sqrt(np.log(1.04)), abs=2e-3)


def test_stragglers_take_longer_and_raise_the_mean_by_one_percent() -> None:
    plain, straggling = draw(Noise(straggler_share=0.0)), draw(Noise())
    slower = straggling != plain
    assert slower.mean() == pytest.approx(0.02, abs=1e-3)
    assert straggling[slower] == pytest.approx(1.5 * plain[slower], rel=1e-6)
    assert straggling.mean() == pytest.approx(1.01, abs=2e-3)


def test_no_noise_is_exactly_one() -> None:
    assert (draw(Noise(0.0, 0.0), 100) == 1.0).all()


def test_a_longer_stream_begins_like_a_shorter_one() -> None:
    assert (draw(Noise(), 50, 3) == draw(Noise(), 80, 3)[:50]).all()


@pytest.mark.parametrize(
    ("knobs", "message"),
    [
        ({"noise_cv": -0.1}, "noise_cv = -0.1; legal: a finite number >= 0 and <= 1"),
        ({"noise_cv": 1.1}, "noise_cv = 1.1"),
        ({"noise_cv": float("nan")}, "noise_cv = nan"),
        ({"straggler_share": 1.5}, "straggler_share = 1.5; legal: .* <= 1"),
        ({"straggler_factor": 0.0}, "straggler_factor = 0.0; legal: .* >= 0.1 and <= 10"),
    ],
)
def test_bad_noise_is_refused(knobs: dict[str, float], message: str) -> None:
    with pytest.raises(InputError, match=message):
        Noise(**knobs)
