from __future__ import annotations

import pytest
from varigym.scenarios.catalog import find_source
from varigym.scenarios.errors import InputError
from varigym.scenarios.serverless.tiny import TinyArrivals, TinyProfiles


def test_the_world_is_as_small_as_the_docs_say() -> None:
    scenario = find_source("tiny-serverless").build(7)
    assert (scenario.vcpu.tolist(), scenario.vgpu.tolist(), scenario.warm) == ([2, 2], [2, 2], 1)
    assert (scenario.grid.batch.tolist(), scenario.grid.vgpu.tolist()) == ([1, 1, 2, 2], [1, 2, 1, 2])
    assert [(f.name, f.latency_ms.tolist(), f.cold_start_ms) for f in scenario.functions] == [
        ("look", [100, 60, 150, 90], 500),
        ("say", [40, 30, 60, 40], 500),
    ]
    assert [(w.name, w.functions, w.slo_ms) for w in scenario.workflows] == [
        ("look-and-say", (0, 1), pytest.approx(210)),
        ("say-only", (1,), pytest.approx(60)),
    ]
    assert scenario.requests.arrival_ms.tolist() == [0, 10, 20, 30, 130, 140]
    assert scenario.requests.workflow.tolist() == [0, 0, 1, 0, 1, 0]
    assert scenario.requests.counted.all()
    assert (scenario.requests.noise == 1).all()


def test_what_the_world_lacks_is_refused() -> None:
    with pytest.raises(InputError, match="unknown function 'hear'"):
        TinyProfiles().function("hear")
    with pytest.raises(InputError, match="tiny-serverless has 2 workflows, not 3"):
        TinyArrivals().draw(None, None, 3)  # type: ignore[arg-type]
