from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from varigym.scenarios.errors import InputError
from varigym.scenarios.serverless.configs import GRIDS, ConfigGrid

AXIS = st.sets(st.integers(2, 32), max_size=5)


def test_the_batch_is_slowest_and_the_vgpu_fastest() -> None:
    grid = ConfigGrid(batches=(1, 3), vcpus=(2, 4), vgpus=(1, 7))
    assert grid.size == 8
    assert grid.batch.tolist() == [1, 1, 1, 1, 3, 3, 3, 3]
    assert grid.vcpu.tolist() == [2, 2, 4, 4, 2, 2, 4, 4]
    assert grid.vgpu.tolist() == [1, 7, 1, 7, 1, 7, 1, 7]
    assert {array.dtype for array in (grid.batch, grid.vcpu, grid.vgpu)} == {np.dtype(np.int32)}


def test_named_grids_hold_as_many_configurations_as_they_say() -> None:
    assert {name: grid.size for name, grid in GRIDS.items()} == {"S20": 20, "S100": 100, "S256": 256}
    assert GRIDS["S20"].batches == (1,)
    assert GRIDS["S100"] == ConfigGrid()
    assert (GRIDS["S256"].vcpus, GRIDS["S256"].vgpus) == (tuple(range(1, 9)),) * 2


@given(AXIS, AXIS, AXIS)
def test_a_configuration_and_its_number_are_one(batches: set[int], vcpus: set[int], vgpus: set[int]) -> None:
    grid = ConfigGrid(*(tuple(sorted({1} | axis)) for axis in (batches, vcpus, vgpus)))
    shares = list(zip(grid.batch.tolist(), grid.vcpu.tolist(), grid.vgpu.tolist(), strict=True))
    assert len(set(shares)) == grid.size
    assert [grid.index(*share) for share in shares] == list(range(grid.size))


def test_a_configuration_that_the_grid_lacks_is_refused() -> None:
    with pytest.raises(InputError, match=r"configuration \(1, 3, 1\); legal: .* vCPU of \(1, 2, 4, 8\)"):
        ConfigGrid().index(1, 3, 1)


@pytest.mark.parametrize(
    ("axes", "message"),
    [
        ({"batches": (2, 4)}, r"batches = \(2, 4\); legal: 1 is among them"),
        ({"batches": (1, 1)}, r"batches = \(1, 1\); legal: ascending and distinct"),
        ({"vcpus": (2, 1)}, r"vcpus = \(2, 1\); legal: ascending and distinct"),
        ({"vgpus": ()}, r"vgpus = \(\); legal: 1 to 64 whole numbers"),
        ({"vgpus": (0, 1)}, "vgpus = 0; legal: a whole number, 1 to 1,024"),
        ({"vgpus": (1, 1.5)}, r"vgpus = 1\.5; legal: a whole number"),
        ({"vcpus": (True,)}, "vcpus = True; legal: a whole number"),
        ({"vcpus": 4}, "vcpus = 4; legal: 1 to 64 whole numbers"),
        ({"vcpus": "12"}, "vcpus = 12; legal: 1 to 64 whole numbers"),
        ({"vcpus": (1, 10**9)}, "vcpus = 1000000000; legal: .* 1 to 1,024"),
        ({"vcpus": tuple(range(1, 66))}, "vcpus = .*; legal: 1 to 64"),
        ({"vcpus": tuple(range(1, 65)), "vgpus": tuple(range(1, 65))}, "20,480 configurations; legal: at most 4,096"),
    ],
)
def test_a_bad_axis_is_refused(axes: dict[str, Any], message: str) -> None:
    with pytest.raises(InputError, match=message):
        ConfigGrid(**axes)
