from __future__ import annotations

from typing import Any

import pytest
from varigym.scenarios.errors import InputError
from varigym.scenarios.serverless.configs import GRIDS, ConfigGrid
from varigym.scenarios.serverless.profiles.functions import FUNCTIONS, LawProfiles

T0_MS = {
    "super-resolution": 86.0,
    "segmentation": 293.0,
    "deblur": 319.0,
    "classification": 147.0,
    "background-removal": 1047.0,
    "depth": 828.0,
}


@pytest.mark.parametrize("name", FUNCTIONS)
@pytest.mark.parametrize("grid", GRIDS)
def test_the_minimum_configuration_takes_what_is_cited(name: str, grid: str) -> None:
    function = LawProfiles(grid).function(name)
    assert function.latency_ms[0] == pytest.approx(T0_MS[name])
    assert len(function.latency_ms) == GRIDS[grid].size
    assert (function.cold_start_ms, function.input_mb) == (FUNCTIONS[name].cold_start_ms, FUNCTIONS[name].input_mb)


def test_a_grid_of_ones_own_may_be_given() -> None:
    grid = ConfigGrid((1, 32), (1,), (1, 14))
    assert LawProfiles(grid).configs == grid
    assert len(LawProfiles(grid).function("depth").latency_ms) == 4


def test_the_scales_act_on_every_function() -> None:
    plain, scaled = LawProfiles().function("deblur"), LawProfiles(exponent_scale=0.6, s_shift=0.2).function("deblur")
    grid = LawProfiles().configs
    x = grid.index(4, 2, 4)
    cpu = 319 * 0.15 * (1 + 0.9 * 3) / 2**0.6
    assert plain.latency_ms[x] == pytest.approx(cpu + 319 * 0.85 * (1 + 0.7 * 3) / 4**0.75)
    assert scaled.latency_ms[x] == pytest.approx(cpu + 319 * 0.85 * (1 + 0.9 * 3) / 4**0.45)


@pytest.mark.parametrize(
    ("knobs", "message"),
    [
        ({"grid": "S99"}, "unknown grid 'S99'; legal: S20, S100, S256"),
        ({"exponent_scale": -1.0}, "exponent_scale = -1.0"),
        ({"s_shift": -0.41}, "s_shift = -0.41: classification would take less for a larger batch; legal: >= -0.4"),
        ({"s_shift": float("nan")}, "s_shift = nan"),
    ],
)
def test_bad_knobs_are_refused(knobs: dict[str, Any], message: str) -> None:
    with pytest.raises(InputError, match=message):
        LawProfiles(**knobs)


def test_a_function_without_a_profile_is_refused() -> None:
    with pytest.raises(InputError, match="unknown function 'deblurr'; did you mean deblur"):
        LawProfiles().function("deblurr")
