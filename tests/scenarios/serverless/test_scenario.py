from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from varigym.scenarios.catalog import find_source
from varigym.scenarios.errors import InputError
from varigym.scenarios.serverless.configs import ConfigGrid
from varigym.scenarios.serverless.requests import Requests, make_requests
from varigym.scenarios.serverless.scenario import TRANSFERS, Prices, Scan, ServerlessScenario, Transfer
from varigym.scenarios.serverless.workflows import Function, Workflow

Change = Callable[[ServerlessScenario], ServerlessScenario]


def tiny() -> ServerlessScenario:
    return find_source("tiny-serverless").build(0)


def field(name: str, value: object) -> Change:
    return lambda scenario: replace(scenario, **{name: value})


def of_requests(**columns: object) -> Change:
    return lambda scenario: replace(scenario, requests=replace(scenario.requests, **columns))


def of_first(part: str, **values: object) -> Change:
    def change(scenario: ServerlessScenario) -> ServerlessScenario:
        first, *others = getattr(scenario, part)
        return replace(scenario, **{part: (replace(first, **values), *others)})

    return change


def test_sizes_and_queues_follow_the_workflows() -> None:
    scenario = tiny()
    assert (scenario.invokers, scenario.stages, len(scenario.requests)) == (2, 2, 6)
    assert scenario.queues == ((0, 0), (0, 1), (1, 0))


def test_a_scan_may_be_given_by_name() -> None:
    assert replace(tiny(), scan="longest").scan is Scan.LONGEST  # type: ignore[arg-type]


def test_requests_of_the_window_count() -> None:
    requests = make_requests(np.array([0.0, 5.0, 10.0, 15.0]), np.zeros(4, np.int32), (5.0, 15.0), stages=3)
    assert requests.counted.tolist() == [False, True, True, False]
    assert requests.noise.tolist() == [[1.0] * 3] * 4
    assert requests.noise.dtype == np.float32


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (
            {"arrival_ms": [0.0, 2.0, 1.0]},
            r"arrival_ms\[2\] = 1\.0, before the one ahead of it \(2\.0\); legal",
        ),
        ({"arrival_ms": [-1.0, 0.0, 1.0]}, r"arrival_ms\[0\] = -1\.0; legal: a finite number >= 0"),
        ({"arrival_ms": [0.0, np.nan, 1.0]}, r"arrival_ms\[1\] = nan"),
        ({"arrival_ms": [0.0, 1.0]}, "request columns have lengths"),
        ({"arrival_ms": "soon"}, "arrival_ms = soon; legal: an array of numbers"),
        ({"workflow": [0.0, 0.5, 1.0]}, r"workflow holds 0\.5; legal: whole numbers"),
        ({"workflow": [0, 2**40, 1]}, "workflow holds 1099511627776; legal: whole numbers of 32 bits"),
        ({"workflow": [0, np.nan, 1]}, "workflow holds nan; legal: whole numbers"),
        ({"counted": [0, 2, 1]}, "counted holds 2; legal: truth values"),
        ({"noise": np.zeros((3, 2))}, r"noise\[0, 0\] = 0\.0; legal: > 0"),
        ({"noise": np.full((3, 2), np.nan)}, r"noise\[0, 0\] = nan"),
        ({"noise": np.full((3, 2), 1e6)}, r"noise\[0, 0\] = 1000000\.0; legal: > 0 and <= 1000"),
        ({"noise": np.ones(3)}, r"noise has shape \(3,\); expected 2 axes"),
        ({"noise": np.ones((2, 2))}, "request columns have lengths"),
    ],
)
def test_bad_requests_are_refused(change: dict[str, Any], message: str) -> None:
    good: dict[str, Any] = {
        "arrival_ms": [0.0, 1.0, 1.0],
        "workflow": [0, 1, 0],
        "counted": [True, False, True],
        "noise": np.ones((3, 2)),
    }
    Requests(**good)
    with pytest.raises(InputError, match=message):
        Requests(**good | change)


def test_no_requests_are_refused() -> None:
    with pytest.raises(InputError, match="number of requests = 0; legal: a whole number, 1 to 1,000,000"):
        make_requests(np.zeros(0), np.zeros(0, np.int32), (0.0, 1.0))


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: Prices(usd_per_vcpu_h=-0.1), "usd_per_vcpu_h = -0.1; legal: a finite number >= 0"),
        (lambda: Prices(usd_per_vgpu_h=float("nan")), "usd_per_vgpu_h = nan"),
        (lambda: Transfer(local_ms=-1.0), "local_ms = -1.0"),
        (lambda: Transfer(remote_gb_s=0.0), "remote_gb_s = 0.0; legal: a finite number >= 1e-06"),
        (lambda: Transfer(remote_gb_s=float("nan")), "remote_gb_s = nan"),
        (lambda: Transfer(remote_ms=float("inf")), "remote_ms = inf"),
    ],
)
def test_bad_prices_and_transfers_are_refused(make: Callable[[], object], message: str) -> None:
    with pytest.raises(InputError, match=message):
        make()


def test_transfers_take_what_the_docs_say() -> None:
    assert TRANSFERS["fast"].most_ms(2.5) == pytest.approx(1 + 2.5 / 1.25)
    assert TRANSFERS["slow"].most_ms(2.7) == pytest.approx(50)
    assert TRANSFERS["none"].most_ms(1e6) == 0


FUNCTION = Function("f", np.full(4, 10.0), 0.0, 0.0)
WORKFLOW = Workflow("w", (0,), (), 10.0)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (field("grid", "S100"), "grid is a str; legal: ConfigGrid"),
        (field("requests", None), "requests is a NoneType; legal: Requests"),
        (field("grid", ConfigGrid()), "latency_ms of look has 4 values; legal: one per configuration, 100"),
        (field("functions", ()), "number of functions = 0"),
        (field("functions", (FUNCTION, FUNCTION)), "function 'f' is given twice; legal: distinct names"),
        (field("functions", (FUNCTION,)), "function of stage 1 of look-and-say = 1; legal: a whole number, 0 to 0"),
        (field("workflows", ()), "number of workflows = 0"),
        (field("workflows", (WORKFLOW, WORKFLOW)), "workflow 'w' is given twice"),
        (field("workflows", (WORKFLOW,)), r"workflow\[2\] = 1; legal: a workflow index, 0 to 0"),
        (field("vcpu", []), "number of invokers = 0"),
        (field("vcpu", [2, 2, 2]), "vcpu and vgpu have lengths 3 and 2; they must be equal"),
        (field("vcpu", [0, 2]), r"vcpu\[0\] = 0; legal: 1 to 1024"),
        (field("vcpu", [1.5, 2]), r"vcpu holds 1\.5; legal: whole numbers"),
        (field("vcpu", 2), r"vcpu has shape \(\); expected 1 axis"),
        (field("vgpu", [1, 1]), "no invoker can hold a configuration of 1 vCPU and 2 vGPU .* smaller grid"),
        (field("warm", -1), "warm = -1; legal: a whole number, 0 to 64"),
        (field("warm", 1.5), "warm = 1.5"),
        (field("warm", True), "warm = True"),
        (field("warm", 10**6), "warm = 1000000"),
        (field("keep_alive_s", -1), "keep_alive_s = -1; legal: a finite number >= 0"),
        (field("keep_alive_s", float("inf")), "keep_alive_s = inf"),
        (field("overhead_ms", -1), "overhead_ms = -1"),
        (field("prewarm", "yes"), "prewarm = 'yes'; legal: True or False"),
        (field("bill_cold", 1), "bill_cold = 1; legal: True or False"),
        (field("locality", None), "locality = None"),
        (field("scan", "random"), "scan = 'random'; legal: rr, slack, longest"),
        (field("horizon_ms", 0), "horizon_ms = 0; legal: a finite number > 0"),
        (field("horizon_ms", float("inf")), "horizon_ms = inf"),
        (field("horizon_ms", 1e9), r"horizon_ms = 1000000000\.0; legal: .* <= 1e\+07"),
        (field("horizon_ms", 100.0), r"the last request arrives at 140\.0 ms; legal: by horizon_ms = 100"),
        (field("window_ms", (50.0, 50.0)), r"window_ms = \(50\.0, 50\.0\); legal: 0 <= from < to <= 2000"),
        (field("window_ms", (0.0, 3000.0)), r"window_ms = \(0\.0, 3000\.0\); legal"),
        (field("window_ms", (-1.0, 200.0)), r"window_ms = \(-1\.0, 200\.0\); legal"),
        (field("window_ms", (20.0, 200.0)), "counted does not say which requests arrive in window_ms"),
        (of_requests(counted=np.zeros(6, bool)), "counted does not say"),
        (of_requests(workflow=np.full(6, -1)), r"workflow\[0\] = -1; legal: a workflow index, 0 to 1"),
        (of_requests(noise=np.ones((6, 1))), "noise has 1 stages; legal: at least 2"),
        (of_first("functions", cold_start_ms=1e7), r"a task of look may take 1e\+07 ms; legal: at most 1e\+07"),
        (of_first("functions", latency_ms=np.full(4, 1e7)), "a task of look may take"),
    ],
)
def test_parts_that_do_not_fit_are_refused(change: Change, message: str) -> None:
    with pytest.raises(InputError, match=message):
        change(tiny())


def test_a_window_without_requests_is_refused() -> None:
    scenario = tiny()
    window_ms = (150.0, 200.0)
    requests = make_requests(scenario.requests.arrival_ms, scenario.requests.workflow, window_ms, stages=2)
    with pytest.raises(InputError, match="no request arrives in the measured window"):
        replace(scenario, requests=requests, window_ms=window_ms)


def test_an_slo_that_no_configuration_meets_is_remarked_and_not_refused() -> None:
    assert tiny().remarks == ()
    (remark,) = of_first("workflows", slo_ms=89.9)(tiny()).remarks
    assert "workflow look-and-say: slo_ms = 89.9" in remark
    assert "fastest configurations take 90 ms" in remark
    assert of_first("workflows", slo_ms=90.0)(tiny()).remarks == ()


def test_the_hash_leaves_out_the_name_and_sees_everything_else() -> None:
    scenario = tiny()
    assert replace(scenario, name="other").data_hash == scenario.data_hash
    changes = [
        field("grid", ConfigGrid(batches=(1, 2), vcpus=(2,), vgpus=(1, 2))),
        field("vcpu", [2, 3]),
        field("vgpu", [2, 3]),
        field("prices", Prices(usd_per_vcpu_h=0.035)),
        field("prices", Prices(usd_per_vgpu_h=0.68)),
        field("transfer", TRANSFERS["slow"]),
        field("warm", 2),
        field("keep_alive_s", 1.0),
        field("prewarm", False),
        field("bill_cold", True),
        field("overhead_ms", 1.0),
        field("scan", Scan.SLACK),
        field("locality", False),
        field("horizon_ms", 1999.0),
        field("window_ms", (0.0, 201.0)),
        of_requests(arrival_ms=scenario.requests.arrival_ms + 1),
        of_requests(workflow=1 - scenario.requests.workflow),
        of_requests(noise=scenario.requests.noise * 1.01),
        of_first("functions", name="see"),
        of_first("functions", latency_ms=scenario.functions[0].latency_ms * 1.01),
        of_first("functions", cold_start_ms=1.0),
        of_first("functions", input_mb=1.0),
        of_first("workflows", name="other"),
        of_first("workflows", functions=(1, 0)),
        of_first("workflows", slo_ms=99.0),
    ]
    hashes = [scenario.data_hash, *(change(scenario).data_hash for change in changes)]
    assert len(set(hashes)) == len(hashes)
