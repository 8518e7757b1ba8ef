"""Every kind of world keeps the contract of `BenchKind`, and every scenario that of sources."""

from __future__ import annotations

import pytest
from contracts import check_scenario, check_world
from varigym.bench.grid.world_kinds import KINDS
from varigym.scenarios.catalog import SCENARIOS

SMALL = {"cluster": ("tiny", ("pal", "tiresias")), "serverless": ("tiny-serverless", ("esg", "min-config"))}


def test_every_kind_is_tried() -> None:
    assert set(SMALL) == set(KINDS) == {entry.world for entry in SCENARIOS.values()}


@pytest.mark.parametrize("world", SMALL)
def test_a_kind_keeps_its_contract(world: str) -> None:
    check_world(world, *SMALL[world])


@pytest.mark.parametrize("name", SCENARIOS)
def test_a_scenario_keeps_its_contract(name: str) -> None:
    check_scenario(name)
