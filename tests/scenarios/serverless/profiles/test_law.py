from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from varigym.scenarios.errors import InputError
from varigym.scenarios.serverless.configs import GRIDS, ConfigGrid
from varigym.scenarios.serverless.profiles.law import Law

SHARE = st.floats(0.0, 1.0)
LAWS = st.builds(Law, st.floats(1.0, 1000.0), SHARE, SHARE, SHARE, SHARE)


def at(law: Law, batch: int, vcpu: int, vgpu: int) -> float:
    grid = GRIDS["S100"]
    return float(law.latency_ms(grid)[grid.index(batch, vcpu, vgpu)])


def test_the_formula_by_hand() -> None:
    law = Law(100.0, gpu_share=0.8, vgpu_exponent=0.5, vcpu_exponent=0.5, batch_slope=0.5)
    assert at(law, 1, 1, 1) == pytest.approx(100.0)
    assert at(law, 1, 1, 4) == pytest.approx(20 + 80 / 2)
    assert at(law, 1, 4, 1) == pytest.approx(20 / 2 + 80)
    assert at(law, 2, 1, 1) == pytest.approx(20 * 1.9 + 80 * 1.5)
    assert at(law, 8, 4, 4) == pytest.approx(20 * 7.3 / 2 + 80 * 4.5 / 2)


def test_more_than_four_vcpus_gain_nothing() -> None:
    law = Law(100.0, 0.8, 0.5, 0.6, 0.5)
    assert at(law, 4, 8, 2) == at(law, 4, 4, 2)


@given(LAWS)
def test_more_resources_never_hurt_and_a_larger_batch_never_pays_per_batch(law: Law) -> None:
    grid = ConfigGrid()
    table = law.latency_ms(grid).reshape(len(grid.batches), len(grid.vcpus), len(grid.vgpus))
    assert table[0, 0, 0] == pytest.approx(law.t0_ms)
    assert (np.diff(table, axis=0) >= -1e-9 * law.t0_ms).all()
    assert (np.diff(table, axis=1) <= 1e-9 * law.t0_ms).all()
    assert (np.diff(table, axis=2) <= 1e-9 * law.t0_ms).all()
    per_request = table / np.array(grid.batches)[:, None, None]
    assert (np.diff(per_request, axis=0) <= 1e-9 * law.t0_ms).all()


def test_scaling_touches_the_vgpu_exponent_and_the_batch_slope_alone() -> None:
    assert Law(9.0, 0.8, 0.5, 0.6, 0.4).scaled(0.6, 0.2) == Law(9.0, 0.8, 0.5 * 0.6, 0.6, 0.4 + 0.2)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"t0_ms": 0.0}, "t0_ms = 0.0; legal: a finite number > 0"),
        ({"t0_ms": float("nan")}, "t0_ms = nan"),
        ({"gpu_share": 1.1}, "gpu_share = 1.1; legal: a finite number >= 0 and <= 1"),
        ({"vgpu_exponent": -0.1}, "vgpu_exponent = -0.1"),
        ({"batch_slope": -0.1}, "batch_slope = -0.1"),
    ],
)
def test_a_bad_law_is_refused(change: dict[str, Any], message: str) -> None:
    good = {"t0_ms": 1.0, "gpu_share": 0.5, "vgpu_exponent": 0.5, "vcpu_exponent": 0.5, "batch_slope": 0.5}
    with pytest.raises(InputError, match=message):
        Law(**good | change)
