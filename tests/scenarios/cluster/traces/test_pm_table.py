from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from varigym.scenarios.cluster.scenario import Compat
from varigym.scenarios.cluster.traces.pm_table import read_pm_runs, read_pm_table
from varigym.scenarios.cluster.variability.bins import bin_scores
from varigym.scenarios.cluster.variability.quantiles import MEASURED, Kind
from varigym.scenarios.errors import InputError

WriteFile = Callable[[str | bytes], Path]

HEADER = "gpu_id,node_id,score_A,score_B"
ROWS = ("0,0,1.0,1.1", "1,0,1.5,1.0", "2,1,0.9,1.0", "3,1,1.0,0.95")


def table(*rows: str, header: str = HEADER) -> str:
    return "\n".join([header, *rows, ""])


def refusal_of(path: Path, nodes: int = 2, gpus_per_node: int = 2) -> str:
    with pytest.raises(InputError) as refusal:
        read_pm_table(path, nodes, gpus_per_node, Compat.PAPER)
    message = str(refusal.value)
    assert message.startswith(str(path))
    return message


@pytest.mark.parametrize("compat", Compat)
def test_scores_are_read_and_binned(write: WriteFile, compat: Compat) -> None:
    classes, scores, bins, remarks = read_pm_table(write(table(*ROWS)), 2, 2, compat)
    assert classes == ("A", "B")
    assert scores.tolist() == [[1.0, 1.5, 0.9, 1.0], [1.1, 1.0, 1.0, 0.95]]
    assert bins.tolist() == [bin_scores(row, compat).tolist() for row in scores]
    assert remarks == []


def test_given_bins_are_taken_as_they_are(write: WriteFile) -> None:
    rows = [f"{row},{bin_a}" for row, bin_a in zip(ROWS, ("1.25", "1.25", "0.9", "0.9"), strict=True)]
    _, scores, bins, _ = read_pm_table(write(table(*rows, header=f"{HEADER},sf_A")), 2, 2, Compat.PAPER)
    assert bins[0].tolist() == [1.25, 1.25, 0.9, 0.9]
    assert bins[1].tolist() == bin_scores(scores[1]).tolist()


@pytest.mark.parametrize(
    "content",
    [
        b"\xef\xbb\xbf" + table(*ROWS).encode(),
        table(*ROWS).replace("\n", "\r\n").encode(),
        table(*reversed(ROWS)).encode(),
        table(*(f"{row},note" for row in ROWS), header=f"{HEADER},comment").encode(),
        b"score_B,score_A,node_id,gpu_id\n1.1,1.0,n0,0\n1.0,1.5,n0,1\n1.0,0.9,n1,2\n0.95,1.0,n1,3\n",
    ],
    ids=["bom", "crlf", "unsorted", "extra-column", "other-order-and-named-nodes"],
)
def test_harmless_variants_read_the_same(write: WriteFile, content: bytes) -> None:
    classes, scores, _, remarks = read_pm_table(write(content), 2, 2, Compat.PAPER)
    assert classes == ("A", "B")
    assert scores.tolist() == [[1.0, 1.5, 0.9, 1.0], [1.1, 1.0, 1.0, 0.95]]
    assert remarks == []


def test_only_the_first_gpus_are_used_and_it_is_said(write: WriteFile) -> None:
    path = write(table(*ROWS))
    _, scores, _, remarks = read_pm_table(path, 1, 2, Compat.PAPER)
    assert scores.tolist() == [[1.0, 1.5], [1.1, 1.0]]
    (remark,) = remarks
    assert str(path) in remark
    assert "4 GPUs; the first 2" in remark


@pytest.mark.parametrize(
    ("row", "parts"),
    [
        ("1,0,0,1.0", ["line 3", "score_A = '0'", "a finite number > 0"]),
        ("1,0,-1.5,1.0", ["line 3", "score_A = '-1.5'", "a finite number > 0"]),
        ("1,0,1.0,nan", ["line 3", "score_B = 'nan'", "a finite number > 0"]),
        ("1,0,1.0,inf", ["line 3", "score_B = 'inf'", "a finite number > 0"]),
        ("1,0,1.0,slow", ["line 3", "score_B = 'slow'", "a finite number > 0"]),
        ("1,0,1.0,", ["line 3", "score_B = ''", "a finite number > 0"]),
        ("x,0,1.0,1.0", ["line 3", "gpu_id = 'x'", "a whole number >= 0"]),
        ("-1,0,1.0,1.0", ["line 3", "gpu_id = '-1'", "a whole number >= 0"]),
        ("1.5,0,1.0,1.0", ["line 3", "gpu_id = '1.5'", "a whole number >= 0"]),
        ("0,0,1.0,1.0", ["line 3", "gpu_id = '0'", "line 2 has the same"]),
        ("0.0,0,1.0,1.0", ["line 3", "gpu_id = '0.0'", "line 2 has the same"]),
        ("1,,1.0,1.0", ["line 3", "node_id = ''"]),
        ("1,7,1.0,1.0", ["line 3", "node_id = '7'", "legal: 0", "2 GPUs per node"]),
        ("1,0,1.0", ["line 3", "3 cells", "legal: 4"]),
    ],
)
def test_a_bad_row_is_refused_by_line_value_and_rule(write: WriteFile, row: str, parts: list[str]) -> None:
    message = refusal_of(write(table(ROWS[0], row, *ROWS[2:])))
    for part in parts:
        assert part in message


@pytest.mark.parametrize(
    ("content", "parts"),
    [
        ("", ["empty"]),
        (f"{HEADER}\n", ["no rows"]),
        ("gpu_id,score_A\n0,1\n", ["line 1", "no column node_id"]),
        ("gpu_id,node_id,speed\n0,0,1\n", ["line 1", "no column score_*"]),
        ("gpu_id,node_id,score_A,sf_B\n0,0,1,1\n", ["line 1", "sf_B has no score_B"]),
        (table(*ROWS[:3]), ["3 GPUs", "2 x 2 = 4"]),
        (table("0,0,1,1", "1,0,1,1", "2,0,1,1", "3,0,1,1"), ["node_id 0", "more than 2 GPUs"]),
        (b"\x00\x01\x02", ["not a text file"]),
        (table(*ROWS).encode() + b"4,caf\xe9,1,1\n", ["not UTF-8"]),
    ],
    ids=["empty", "header-only", "no-node", "no-score", "bin-alone", "too-few", "big-nodes", "binary", "latin-1"],
)
def test_a_table_that_does_not_fit_is_refused_with_the_reason(
    write: WriteFile, content: str | bytes, parts: list[str]
) -> None:
    message = refusal_of(write(content))
    for part in parts:
        assert part in message


def test_smaller_nodes_than_the_clusters_are_refused(write: WriteFile) -> None:
    message = refusal_of(write(table(*ROWS)), nodes=1, gpus_per_node=4)
    assert "line 4: node_id = '1'; legal: 0, as GPU 0: 4 GPUs per node" in message


def test_a_bad_given_bin_is_refused(write: WriteFile) -> None:
    message = refusal_of(write(table(*(f"{row},0" for row in ROWS), header=f"{HEADER},sf_B")))
    assert "line 2: sf_B = '0'; legal: a finite number > 0" in message


@pytest.mark.parametrize("name", ["", "none.csv"])
def test_a_path_that_cannot_be_read_is_refused(tmp_path: Path, name: str) -> None:
    assert "cannot be read" in refusal_of(tmp_path / name)
    with pytest.raises(InputError, match=str(tmp_path / name)):
        read_pm_runs(tmp_path / name)


def test_runs_are_divided_by_the_median_run_and_gpus_by_the_median_gpu(write: WriteFile) -> None:
    # medians: run 4; GPUs g 2 (of 2, 2, 40), h 4, i 10 (of 8, 12); GPU 4
    per_run, per_gpu = read_pm_runs(write("uuid,perf\nh,4\ng,2\ni,8\ng,40\ni,12\ng,2\nh,4\n"))
    assert sorted(per_run) == [0.5, 0.5, 1.0, 1.0, 2.0, 3.0, 10.0]
    assert sorted(per_gpu) == [0.5, 1.0, 2.5]


def test_a_gpu_may_be_named_by_node_and_device(write: WriteFile) -> None:
    _, per_gpu = read_pm_runs(write("perf,node,device\n1,a,0\n3,a,0\n4,a,1\n6,b,0\n"))
    assert sorted(per_gpu) == [0.5, 1.0, 1.5]  # medians 2, 4, 6


def test_equal_nodes_of_two_cabinets_are_two_nodes(write: WriteFile) -> None:
    _, per_gpu = read_pm_runs(write("perf,cabinet,node,device\n1,x,a,0\n3,y,a,0\n"))
    assert sorted(per_gpu) == [0.5, 1.5]


def test_uuid_wins_over_node_and_device(write: WriteFile) -> None:
    _, per_gpu = read_pm_runs(write("perf,uuid,node,device\n1,u,a,0\n3,u,b,1\n"))
    assert per_gpu.tolist() == [1.0]


@pytest.mark.parametrize(
    ("content", "parts"),
    [
        ("", ["empty"]),
        ("uuid,perf\n", ["no rows"]),
        ("uuid,time\nu,1\n", ["line 1", "no column perf"]),
        ("perf,node\n1,a\n", ["line 1", "no column uuid, nor node and device"]),
        ("uuid,perf\nu,1\nv,0\n", ["line 3", "perf = '0'", "a finite number > 0"]),
        ("uuid,perf\nu,1\nv,nan\n", ["line 3", "perf = 'nan'"]),
        ("uuid,perf\nu,1\nv,fast\n", ["line 3", "perf = 'fast'"]),
        ("uuid,perf\nu,1\n,2\n", ["line 3", "uuid = ''", "a name"]),
    ],
    ids=lambda value: value[-1] if isinstance(value, list) else "",
)
def test_bad_runs_are_refused(write: WriteFile, content: str, parts: list[str]) -> None:
    path = write(content)
    with pytest.raises(InputError) as refusal:
        read_pm_runs(path)
    for part in [str(path), *parts]:
        assert part in str(refusal.value)


@pytest.mark.parametrize(
    ("app", "letter", "runs", "gpus"),
    [("resnet", "A", 1404, 336), ("bert", "B", 1096, 136), ("pagerank", "D", 880, 172)],
)
def test_real_runs_give_the_quantiles_that_scores_are_drawn_from(
    shared: Path, app: str, letter: str, runs: int, gpus: int
) -> None:
    per_run, per_gpu = read_pm_runs(shared / f"data/gpu_variability_pal/original/sim/{app}-longhorn-agg.csv")
    assert (len(per_run), len(per_gpu)) == (runs, gpus)
    for kind, values in ((Kind.PER_RUN, per_run), (Kind.PER_GPU, per_gpu)):
        shares, slowdowns = MEASURED["longhorn"][letter][kind]
        np.testing.assert_allclose(np.quantile(values, shares), slowdowns, atol=6e-5)


def test_the_other_real_files_read_cleanly(shared: Path) -> None:
    folder = shared / "data/gpu_variability_pal/original"
    assert [len(values) for values in read_pm_runs(folder / "sim/sgemm-longhorn-agg.csv")] == [11087, 392]
    assert [len(values) for values in read_pm_runs(folder / "frontera/frontera-resnet-agg.csv")] == [1480, 296]


def test_the_golden_table_reads_cleanly(shared: Path) -> None:
    path = shared / "golden/pal/pm_scores_64gpu_seed42.csv"
    classes, scores, bins, remarks = read_pm_table(path, 16, 4, Compat.ARTIFACT)
    assert classes == ("A", "B", "C", "D")
    assert scores.shape == bins.shape == (4, 64)
    assert scores[0, 35] == pytest.approx(2.828, abs=1e-3)
    assert remarks == []
