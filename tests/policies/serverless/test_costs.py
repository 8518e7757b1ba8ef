"""Costs per job in exact units, and the fall-backs of a queue that cannot make it."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from varigym.policies.serverless.costs import NO_PATH, in_units, job_cost_usd
from varigym.policies.serverless.esg.fallback import best_effort, give_up

BATCH, VCPU, VGPU = (np.array(axis, np.int32) for axis in ([1, 1, 4, 4], [1, 8, 1, 8], [1, 7, 1, 7]))


def test_a_job_bears_its_part_of_the_batch() -> None:
    seconds = np.array([[1.0, 0.25, 2.0, 0.5]])
    usd = job_cost_usd(seconds, BATCH, VCPU, VGPU, 0.034, 0.67)
    expected = [
        Fraction(s) * (int(c) * Fraction("0.034") + int(g) * Fraction("0.67")) / 3600 / int(b)
        for s, b, c, g in zip(seconds[0], BATCH, VCPU, VGPU, strict=True)
    ]
    assert usd[0] == pytest.approx([float(cost) for cost in expected], rel=1e-14)


@given(usd=st.lists(st.floats(0, 1e6), min_size=1, max_size=20), stages=st.integers(1, 31))
def test_units_are_as_fine_as_32_bits_allow(usd: list[float], stages: int) -> None:
    units = in_units(usd, stages)
    assert units.cost.dtype == np.int32
    assert int(units.cost.max()) * stages < NO_PATH
    assert np.abs(units.cost * units.unit_usd - usd).max() <= units.unit_usd / 2
    if max(usd) > 1e-300:
        assert int(units.cost.max()) * stages > NO_PATH / 2 - 2 * stages


def test_free_resources_cost_nothing() -> None:
    assert in_units([0.0, 0.0], 5).cost.tolist() == [0, 0]


def test_best_effort_is_fast_first_and_cheap_among_the_fastest() -> None:
    """Queue of 3 on batches 1 and 2: batch 2 it is. Fastest 100, so 110 counts as fastest too and 111 does not."""
    time = np.array([50, 111, 100, 110, 300, 110], np.int32)
    cost = np.array([1, 1, 9, 5, 1, 5], np.int32)
    batch = np.array([1, 2, 2, 2, 2, 2], np.int32)
    assert best_effort(time, cost, batch, length=3).tolist() == [3, 5, 2, 1, 4]
    assert best_effort(time, cost, batch, length=3, near_percent=0).tolist() == [2, 3, 5, 1, 4]
    assert best_effort(time, cost, batch, length=1).tolist() == [0]


def test_give_up_is_cheap_first() -> None:
    cost, batch = np.array([7, 3, 1, 3], np.int32), np.array([1, 1, 4, 2], np.int32)
    assert give_up(cost, batch, length=2).tolist() == [1, 3, 0]
    assert give_up(cost, batch, length=4).tolist() == [2, 1, 3, 0]
