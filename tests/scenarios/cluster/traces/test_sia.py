from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from varigym.scenarios.cluster.scenario import Jobs, make_jobs
from varigym.scenarios.cluster.traces.formats import DurationUnit, TraceUse
from varigym.scenarios.cluster.traces.models import MODELS
from varigym.scenarios.cluster.traces.sia import read_sia, wrap_around
from varigym.scenarios.errors import InputError

WriteFile = Callable[[str | bytes], Path]

HEADER = "job_id,num_gpus,submit_time,duration,model"
FIRST = "a,4,0,100,resnet50"
GOOD = f"{HEADER}\n{FIRST}\nb,1,30.5,200,vgg19\n"


def read(path: Path, unit: DurationUnit = DurationUnit.SECONDS, gpus: int = 64) -> tuple[Jobs, list[str]]:
    return read_sia(path, TraceUse(MODELS, unit, gpus))


def test_every_column_is_read(write: WriteFile) -> None:
    jobs, remarks = read(write(GOOD))
    assert jobs.job_id.tolist() == ["a", "b"]
    assert jobs.arrival_s.tolist() == [0.0, 30.5]
    assert jobs.demand.tolist() == [4, 1]
    assert jobs.work_s.tolist() == [100.0, 200.0]
    assert jobs.app_class.tolist() == [0, 2]
    assert jobs.tracked.all()
    assert remarks == []


def test_duration_may_count_iterations(write: WriteFile) -> None:
    jobs, _ = read(write(GOOD), DurationUnit.ITERATIONS)
    assert jobs.iterations.tolist() == [100.0, 200.0]
    assert jobs.work_s.tolist() == [100 * 0.17540429367763434, 200 * 0.300610341]


@pytest.mark.parametrize(
    "content",
    [
        b"\xef\xbb\xbf" + GOOD.encode(),
        GOOD.replace("\n", "\r\n").encode(),
        GOOD.rstrip("\n").encode(),
        GOOD.replace("\n", "\n\n").encode(),
        GOOD.replace("job_id,", " job_id , ").encode(),
        b"model,note,duration,submit_time,num_gpus,job_id,batch_size\n"
        b'resnet50,"x, y",100,0,4,a,128\nvgg19,,2e2,30.5,1.0,b,\n',
    ],
    ids=["bom", "crlf", "no-last-newline", "blank-lines", "padded-header", "other-order-and-columns"],
)
def test_harmless_variants_read_the_same(write: WriteFile, content: bytes) -> None:
    jobs, remarks = read(write(content))
    assert jobs.job_id.tolist() == ["a", "b"]
    assert jobs.arrival_s.tolist() == [0.0, 30.5]
    assert jobs.demand.tolist() == [4, 1]
    assert jobs.work_s.tolist() == [100.0, 200.0]
    assert remarks == []


def test_unsorted_arrivals_are_sorted_and_said(write: WriteFile) -> None:
    path = write(f"{HEADER}\na,1,10,1,BERT\nb,1,50,1,BERT\nc,1,20,1,BERT\nd,1,20,1,BERT\n")
    jobs, remarks = read(path)
    assert jobs.job_id.tolist() == ["a", "c", "d", "b"]
    (remark,) = remarks
    assert f"{path}, line 4" in remark
    assert "sorted" in remark


@pytest.mark.parametrize(
    ("row", "column", "value", "legal"),
    [
        ("b,1,-1,100,BERT", "submit_time", "-1", "a finite number >= 0"),
        ("b,1,nan,100,BERT", "submit_time", "nan", "a finite number >= 0"),
        ("b,1,inf,100,BERT", "submit_time", "inf", "a finite number >= 0"),
        ("b,1,noon,100,BERT", "submit_time", "noon", "a finite number >= 0"),
        ("b,1,,100,BERT", "submit_time", "", "a finite number >= 0"),
        ("b,1,0,0,BERT", "duration", "0", "a finite number > 0"),
        ("b,1,0,-5,BERT", "duration", "-5", "a finite number > 0"),
        ("b,1,0,NaN,BERT", "duration", "NaN", "a finite number > 0"),
        ("b,1,0,1e999,BERT", "duration", "1e999", "a finite number > 0"),
        ("b,1,0,long,BERT", "duration", "long", "a finite number > 0"),
        ("b,0,0,100,BERT", "num_gpus", "0", "a whole number, 1 to 64"),
        ("b,-2,0,100,BERT", "num_gpus", "-2", "a whole number, 1 to 64"),
        ("b,1.5,0,100,BERT", "num_gpus", "1.5", "a whole number, 1 to 64"),
        ("b,nan,0,100,BERT", "num_gpus", "nan", "a whole number, 1 to 64"),
        ("b,two,0,100,BERT", "num_gpus", "two", "a whole number, 1 to 64"),
        ("b,65,0,100,BERT", "num_gpus", "65", "a whole number, 1 to 64"),
        ("a,1,0,100,BERT", "job_id", "a", "line 2 has the same"),
        (" ,1,0,100,BERT", "job_id", " ", "a name"),
        ("b,1,0,100,", "model", "", "a name"),
    ],
)
def test_a_bad_value_is_refused_by_file_line_value_and_rule(
    write: WriteFile, row: str, column: str, value: str, legal: str
) -> None:
    path = write(f"{HEADER}\n{FIRST}\n{row}\n")
    with pytest.raises(InputError) as refusal:
        read(path)
    message = str(refusal.value)
    assert message.startswith(f"{path}, line 3: {column} = '{value}'; legal: ")
    assert legal in message


def test_line_numbers_count_blank_lines(write: WriteFile) -> None:
    with pytest.raises(InputError, match=r"line 5: duration = '0'"):
        read(write(f"{HEADER}\n\n{FIRST}\n\nb,1,0,0,BERT\n"))


def test_an_unknown_model_is_refused_with_the_closest_names_and_the_way_out(write: WriteFile) -> None:
    path = write(f"{HEADER}\n{FIRST}\nb,1,0,100,resnet5\n")
    with pytest.raises(InputError) as refusal:
        read(path)
    message = str(refusal.value)
    assert message.startswith(f"{path}, line 3: ")
    assert "'resnet5'; did you mean resnet50?" in message
    assert "--models" in message


def test_a_model_of_a_class_without_scores_is_refused(write: WriteFile) -> None:
    path = write(GOOD)
    with pytest.raises(InputError, match=r"line 3: model = 'vgg19'; legal: a model of class A, B \(this one is C\)"):
        read_sia(path, TraceUse(MODELS, DurationUnit.SECONDS, 64, ("A", "B")))


def test_classes_are_numbered_as_the_table_of_scores_has_them(write: WriteFile) -> None:
    jobs, _ = read_sia(write(GOOD), TraceUse(MODELS, DurationUnit.SECONDS, 64, ("A", "C")))
    assert jobs.app_class.tolist() == [0, 1]


@pytest.mark.parametrize(
    ("content", "parts"),
    [
        ("", ["the file is empty", *HEADER.split(",")]),
        ("\n", ["the file is empty"]),
        (b"\xef\xbb\xbf", ["the file is empty"]),
        (f"{HEADER}\n", ["no rows after the header"]),
        (f"{HEADER}\n\n , \n", ["no rows after the header"]),
        ("job_id,num_gpus,submit_time,model\na,1,0,BERT\n", ["line 1", "no column duration", "submit_time"]),
        ("1,2,3,4,5\n1,2,3,4,5\n", ["line 1", "no column job_id, num_gpus", "found 1, 2, 3"]),
        (f"{HEADER},model\n{FIRST},BERT\n", ["line 1", "column model occurs twice"]),
        (f"{HEADER}\n{FIRST}\nb,1,0,100\n", ["line 3", "4 cells", "legal: 5"]),
        (f"{HEADER}\n{FIRST}\nb,1,0,100,BERT,9\n", ["line 3", "6 cells", "legal: 5"]),
        (bytes(range(256)), ["not a text file"]),
        (f"{HEADER}\nb,1,0,100,caf\xe9\n".encode("latin-1"), ["not UTF-8 text"]),
    ],
    ids=[
        "empty",
        "one-newline",
        "bom-only",
        "header-only",
        "blank-rows",
        "missing-column",
        "no-header",
        "column-twice",
        "short-row",
        "long-row",
        "binary",
        "latin-1",
    ],
)
def test_a_file_that_is_no_trace_is_refused_with_the_reason(
    write: WriteFile, content: str | bytes, parts: list[str]
) -> None:
    path = write(content)
    with pytest.raises(InputError) as refusal:
        read(path)
    for part in [str(path), *parts]:
        assert part in str(refusal.value)


@pytest.mark.parametrize(("name", "reason"), [("", "directory"), ("none.csv", "No such file")])
def test_a_path_that_cannot_be_read_is_refused(tmp_path: Path, name: str, reason: str) -> None:
    with pytest.raises(InputError, match=rf"{tmp_path / name}: cannot be read \(.*{reason}"):
        read(tmp_path / name)


def two_jobs() -> Jobs:
    return make_jobs(
        job_id=np.array(["a", "b"]),
        arrival_s=np.array([0.0, 100.0]),
        demand=np.array([1, 4], np.int32),
        iterations=np.array([10.0, 20.0]),
        iter_s=np.array([0.5, 0.25]),
        app_class=np.array([0, 3], np.int32),
    )


def test_wrap_around_streams_copies_at_the_artifacts_arrivals() -> None:
    # random.Random(1): U = .13436, .84743, .76377; ceil(-ln(1 - U) / 2 * 3600) = 260, 3385, 2598
    jobs = wrap_around(two_jobs(), 3)
    assert jobs.arrival_s.tolist() == [0, 100, 360, 3745, 6343]
    assert jobs.demand.tolist() == [1, 4, 1, 4, 1]
    assert jobs.work_s.tolist() == [5, 5, 5, 5, 5]
    assert jobs.iterations.tolist() == [10, 20, 10, 20, 10]
    assert jobs.app_class.tolist() == [0, 3, 0, 3, 0]


def test_wrapped_jobs_do_not_count_and_have_ids_of_their_own() -> None:
    jobs = wrap_around(two_jobs(), 5)
    assert jobs.tracked.tolist() == [True, True] + 5 * [False]
    assert len(set(jobs.job_id.tolist())) == 7


def test_a_longer_stream_begins_like_a_shorter_one() -> None:
    assert wrap_around(two_jobs(), 9).arrival_s[:6].tolist() == wrap_around(two_jobs(), 4).arrival_s.tolist()


def test_no_stream_is_the_trace_itself() -> None:
    assert wrap_around(two_jobs(), 0).job_id.tolist() == ["a", "b"]


def test_a_negative_stream_is_refused() -> None:
    with pytest.raises(InputError, match="extra = -1"):
        wrap_around(two_jobs(), -1)


@pytest.mark.parametrize(("number", "gpu_hours"), [(1, 1462), (2, 5584), (3, 1862), (4, 1421), (5, 7227)])
def test_real_workloads_read_cleanly(shared: Path, number: int, gpu_hours: int) -> None:
    path = shared / f"data/pal_sia_philly_workloads/original/workload-{number}.csv"
    jobs, remarks = read(path, DurationUnit.ITERATIONS)
    assert len(jobs) == 160
    assert remarks == []
    assert (jobs.work_s * jobs.demand).sum() / 3600 == pytest.approx(gpu_hours, abs=0.6)


def test_a_real_trace_with_batch_sizes_reads_cleanly(shared: Path) -> None:
    jobs, _ = read(shared / "data/pal_sia_philly_workloads/original/blox_exp__workload__sia-160job-trace.csv")
    assert len(jobs) == 160


def test_a_real_trace_of_another_format_is_refused(shared: Path) -> None:
    name = "workload-traces__shockwave__poisson_trace_50_lam1.csv"
    with pytest.raises(InputError, match="no column job_id"):
        read(shared / "data/pal_sia_philly_workloads/original" / name)
