from __future__ import annotations

import math
from collections.abc import Callable
from pathlib import Path

import pytest
from varigym.scenarios.errors import InputError
from varigym.scenarios.serverless.profiles.measured import BATCHES, GPCS, PARVAGPU
from varigym.scenarios.serverless.profiles.parvagpu import read_parvagpu

WriteFile = Callable[[str | bytes], Path]

HEADER = "Mig instance,Batch size,Workload Number,Throughput,Latency"


def test_latency_comes_from_the_throughput_of_one_process(write: WriteFile) -> None:
    table = read_parvagpu(write(f"{HEADER}\n1,1,1,250,0.005\n1,8,1,400,0.02\n1,8,2,160,0.05\n7,8,1,0,0\n"))
    assert table.model == "given"
    assert table.latency_ms == {(1, 1): 4.0, (8, 1): 20.0, (8, 7): math.inf}


def test_other_numbers_of_processes_can_be_asked_for(write: WriteFile) -> None:
    path = write(f"{HEADER}\n1,1,1,250,0.005\n1,8,2,160,0.05\n")
    assert read_parvagpu(path, processes=2).latency_ms == {(8, 1): 50.0}
    with pytest.raises(InputError, match="no row with Workload Number = 3"):
        read_parvagpu(path, processes=3)


@pytest.mark.parametrize(
    ("row", "message"),
    [
        ("1,1,1,-1,0.005", "Throughput = '-1'; legal: a finite number >= 0"),
        ("1,1,1,nan,0.005", "Throughput = 'nan'"),
        ("1,1,1,250,0", "Latency = '0'; legal: a finite number > 0"),
        ("8,1,1,250,0.005", "Mig instance = '8'; legal: a whole number, 1 to 7"),
        ("1,0,1,250,0.005", "Batch size = '0'"),
        ("1,4,1,250,0.005\n1,4,1,250,0.005", "Mig instance = '1'; legal: one row per"),
    ],
)
def test_a_bad_row_is_refused(write: WriteFile, row: str, message: str) -> None:
    path = write(f"{HEADER}\n{row}\n")
    with pytest.raises(InputError, match=message) as refusal:
        read_parvagpu(path)
    assert str(refusal.value).startswith(f"{path}, line ")


def test_a_file_of_another_kind_is_refused(write: WriteFile) -> None:
    with pytest.raises(InputError, match="no column Mig instance, Batch size"):
        read_parvagpu(write("a,b\n1,2\n"))


@pytest.mark.parametrize("model", PARVAGPU)
def test_built_in_numbers_are_those_of_the_files(shared: Path, model: str) -> None:
    table = read_parvagpu(shared / f"data/parvagpu_mig_mps_profiles/original/prof_data/{model}.csv")
    for key in ((batch, gpcs) for batch in BATCHES for gpcs in GPCS):
        assert PARVAGPU[model].latency_ms[key] == table.latency_ms[key]


@pytest.mark.parametrize(("model", "fits"), [("resnet152", 33), ("densenet169", 36), ("inceptionv3", 42)])
def test_what_did_not_fit_is_infinite(shared: Path, model: str, fits: int) -> None:
    table = read_parvagpu(shared / f"data/parvagpu_mig_mps_profiles/original/prof_data/{model}.csv")
    assert len(table.latency_ms) == 45
    assert sum(math.isfinite(ms) for ms in table.latency_ms.values()) == fits
