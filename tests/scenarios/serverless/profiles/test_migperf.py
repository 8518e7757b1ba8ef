from __future__ import annotations

import math
from collections.abc import Callable
from pathlib import Path

import pytest
from varigym.scenarios.errors import InputError
from varigym.scenarios.serverless.profiles.migperf import read_migperf

WriteFile = Callable[[str | bytes], Path]


def test_slices_may_be_named_by_profile(write: WriteFile) -> None:
    path = write("model_name,batch_size,latency,mig_profile\na,1,5.5,1g.10gb\nb,2,0,3g.40gb\na,1,1.5,7g.80gb\n")
    tables = read_migperf(path)
    assert tables["a"].latency_ms == {(1, 1): 5.5, (1, 7): 1.5}
    assert tables["b"].latency_ms == {(2, 3): math.inf}


def test_slices_may_be_named_by_memory(write: WriteFile) -> None:
    rows = "".join(f"a,1,{ms},{gb}\n" for ms, gb in ((8, 5), (4, 10), (2, 20), (1, 40)))
    tables = read_migperf(write(f"model_name,batch_size,latency,instance_memory\n{rows}"))
    assert tables["a"].latency_ms == {(1, 1): 8.0, (1, 2): 4.0, (1, 3): 2.0, (1, 7): 1.0}


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("model_name,batch_size,latency\na,1,5\n", "line 1: no column mig_profile, nor instance_memory"),
        ("model_name,batch_size,latency,mig_profile\na,1,5,9g\n", "mig_profile = '9g'; legal: a MIG profile such as"),
        ("model_name,batch_size,latency,instance_memory\na,1,5,30\n", "instance_memory = '30'; legal: 5, 10, 20, 40"),
        ("model_name,batch_size,latency,instance_memory\na,1,-5,40\n", "latency = '-5'; legal: a finite number >= 0"),
        ("model_name,batch_size,latency,instance_memory\na,1,nan,40\n", "latency = 'nan'"),
        ("model_name,batch_size,latency,instance_memory\na,1,5,40\na,1,6,40\n", "legal: one row per"),
    ],
)
def test_a_bad_file_is_refused(write: WriteFile, content: str, message: str) -> None:
    with pytest.raises(InputError, match=message):
        read_migperf(write(content))


def test_the_measured_files_read_cleanly(shared: Path) -> None:
    folder = shared / "data/migperf_a100/original"
    vision = read_migperf(folder / "A100-80g/infer/cv/cv_infer.csv")
    assert sorted(vision) == ["resnet50", "vision_transformer"]
    assert vision["vision_transformer"].gpu_ms(1, 7) == 5.38
    assert all(len(table.latency_ms) == 36 for table in vision.values())
    between = vision["vision_transformer"].gpu_ms(8, 4)
    assert vision["vision_transformer"].gpu_ms(8, 7) < between < vision["vision_transformer"].gpu_ms(8, 3)
    (bert,) = read_migperf(folder / "A100-40g/infer_bsz/bert-base/bert-base_bsz.csv").values()
    assert bert.gpu_ms(1, 1) == 11.17
