from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from varigym.scenarios.errors import InputError
from varigym.scenarios.serverless.files import ServerlessFiles
from varigym.scenarios.serverless.noise import Noise
from varigym.scenarios.serverless.source import ServerlessPlatform

WORKFLOWS = "workflow,stage,function,after,slo_ms\npair,look,a,,210\npair,say,b,look,210\nsolo,say,b,,60\n"
LATENCIES = "function,batch,vcpu,vgpu,latency_ms,cold_start_ms,input_mb\na,1,1,1,100,500,1\nb,1,1,1,40,500,1\n"
ARRIVALS = "request_id,arrival_ms,workflow\nr0,0,pair\nr1,10,solo\nr2,10,pair\nr3,1500,solo\n"


def source(
    folder: Path, workflows: str = WORKFLOWS, latencies: str = LATENCIES, arrivals: str = ARRIVALS, **options: float
) -> ServerlessFiles:
    paths = [folder / name for name in ("workflows.csv", "latencies.csv", "week.csv")]
    for path, content in zip(paths, (workflows, latencies, arrivals), strict=True):
        path.write_text(content)
    return ServerlessFiles(*paths, platform=ServerlessPlatform(invokers=2), **options)  # type: ignore[arg-type]


def test_the_three_files_are_put_together(tmp_path: Path) -> None:
    files = source(tmp_path)
    scenario = files.build(0)
    assert files.name == scenario.name == "week"
    assert files.history() is None
    assert [f.name for f in scenario.functions] == ["a", "b"]
    assert [(w.name, w.functions, w.slo_ms) for w in scenario.workflows] == [("pair", (0, 1), 210), ("solo", (1,), 60)]
    assert scenario.requests.arrival_ms.tolist() == [0, 10, 10, 1500]
    assert scenario.requests.workflow.tolist() == [0, 1, 0, 1]
    assert scenario.requests.counted.all()
    assert scenario.horizon_ms == pytest.approx(61_500)
    assert scenario.invokers == 2
    assert files.remarks == []


def test_the_seed_decides_the_noise_and_nothing_else(tmp_path: Path) -> None:
    files = source(tmp_path)
    one, same, other = files.build(1), files.build(1), files.build(2)
    assert one.data_hash == same.data_hash
    assert (one.requests.noise != other.requests.noise).any()
    assert (one.requests.arrival_ms == other.requests.arrival_ms).all()


def test_noise_may_be_switched_off(tmp_path: Path) -> None:
    files = source(tmp_path, noise=Noise(0.0, 0.0))  # type: ignore[arg-type]
    assert (files.build(0).requests.noise == np.float32(1)).all()


def test_a_warm_up_does_not_count(tmp_path: Path) -> None:
    assert source(tmp_path, warmup_s=0.01).build(0).requests.counted.tolist() == [False, True, True, True]
    with pytest.raises(InputError, match=r"the last request arrives at 1500 ms; legal: after warmup_s = 2\.0"):
        source(tmp_path, warmup_s=2.0).build(0)


def test_the_last_arrival_counts_without_time_to_drain(tmp_path: Path) -> None:
    assert source(tmp_path, drain_s=0.0).build(0).requests.counted.all()


def test_remarks_are_said_once(tmp_path: Path) -> None:
    files = source(tmp_path, workflows=WORKFLOWS.replace("60", "39"), latencies=LATENCIES.replace(",input_mb", ",note"))
    files.build(0)
    files.build(1)
    assert [remark.split(": ", 1)[0] for remark in files.remarks] == [str(files.latencies), "workflow solo"]
    assert "no column input_mb; 0 is used" in files.remarks[0]
    assert "slo_ms = 39, but its fastest configurations take 40 ms" in files.remarks[1]


@pytest.mark.parametrize(
    ("arrivals", "message"),
    [
        ("arrival_ms,workflow\n5,pair\n4,solo\n", "line 3: arrival_ms = '4'; legal: sorted by time, >= 5 of the row"),
        ("arrival_ms,workflow\n-1,pair\n", "line 2: arrival_ms = '-1'; legal: a finite number >= 0"),
        ("arrival_ms,workflow\nnan,pair\n", "line 2: arrival_ms = 'nan'"),
        ("arrival_ms,workflow\nnoon,pair\n", "line 2: arrival_ms = 'noon'"),
        ("arrival_ms,workflow\n1e9,pair\n", r"line 2: arrival_ms = '1e9'; legal: .* <= 1e\+07"),
        ("arrival_ms,workflow\n1,pear\n", "line 2: unknown workflow 'pear'; did you mean pair"),
        ("arrival_ms,workflow\n1,\n", "line 2: workflow = ''; legal: a name"),
        ("request_id,arrival_ms,workflow\nr,1,pair\nr,2,pair\n", "line 3: request_id = 'r'; legal: one row per"),
        ("arrival_ms\n1\n", "no column workflow"),
        ("arrival_ms,workflow\n", "no rows"),
    ],
)
def test_bad_arrivals_are_refused(tmp_path: Path, arrivals: str, message: str) -> None:
    with pytest.raises(InputError, match=message):
        source(tmp_path, arrivals=arrivals).build(0)


def test_a_function_that_no_invoker_can_hold_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="no invoker can hold a configuration of 1 vCPU and 9 vGPU"):
        source(tmp_path, latencies=LATENCIES.replace("1,1,1", "1,1,9")).build(0)


def test_a_workflow_of_a_function_without_a_profile_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="unknown function 'b'; legal: a; every function needs rows"):
        source(tmp_path, latencies="".join(LATENCIES.splitlines(keepends=True)[:2])).build(0)


@pytest.mark.parametrize("option", [{"warmup_s": -1.0}, {"drain_s": float("nan")}])
def test_bad_options_are_refused(tmp_path: Path, option: dict[str, float]) -> None:
    with pytest.raises(InputError, match=r"warmup_s = -1|drain_s = nan"):
        source(tmp_path, **option)


def test_a_missing_file_is_refused(tmp_path: Path) -> None:
    files = source(tmp_path)
    files.latencies.unlink()
    with pytest.raises(InputError, match=r"latencies\.csv: cannot be read"):
        files.build(0)
