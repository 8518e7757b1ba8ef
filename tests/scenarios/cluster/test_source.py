from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from varigym.scenarios.cluster.scenario import Compat
from varigym.scenarios.cluster.source import ClusterFiles, ClusterPlatform
from varigym.scenarios.cluster.traces.sia import DurationUnit
from varigym.scenarios.errors import InputError

WriteFile = Callable[[str | bytes], Path]

TRACE = "job_id,num_gpus,submit_time,duration,model\na,2,0,100,resnet50\nb,1,30,200,vgg19\nc,4,10,50,BERT\n"
SMALL = ClusterPlatform(nodes=2, gpus_per_node=2)
ARTIFACT = ClusterPlatform(nodes=2, gpus_per_node=2, compat=Compat.ARTIFACT)


def beside(path: Path, name: str, content: str) -> Path:
    (path.parent / name).write_text(content)
    return path.parent / name


def test_a_trace_is_named_after_its_file_and_has_no_history(write: WriteFile) -> None:
    source = ClusterFiles(write(TRACE), SMALL)
    assert source.name == source.build(0).name == "given"
    assert source.history() is None


def test_the_seed_decides_drawn_scores_and_nothing_else(write: WriteFile) -> None:
    source = ClusterFiles(write(TRACE), SMALL)
    one, same, other = source.build(1), source.build(1), source.build(2)
    assert one.data_hash == same.data_hash
    assert (one.pm_score != other.pm_score).any()
    assert one.jobs.job_id.tolist() == other.jobs.job_id.tolist() == ["a", "c", "b"]


def test_remarks_are_said_once(write: WriteFile) -> None:
    source = ClusterFiles(write(TRACE), SMALL)
    source.build(0)
    source.build(1)
    (remark,) = source.remarks
    assert "sorted by submit_time" in remark


def test_duration_counts_seconds_or_under_artifact_iterations(write: WriteFile) -> None:
    path = write(TRACE)
    seconds = ClusterFiles(path, SMALL).build(0).jobs.work_s
    assert seconds.tolist() == [100, 50, 200]
    assert ClusterFiles(path, ARTIFACT).build(0).jobs.work_s[:3] == pytest.approx([17.540429, 8.95, 60.1220682])
    asked = ClusterFiles(path, SMALL, duration_unit=DurationUnit.ITERATIONS).build(0)
    assert asked.jobs.work_s == pytest.approx([17.540429, 8.95, 60.1220682])


def test_artifact_streams_untracked_jobs_behind_the_trace(write: WriteFile) -> None:
    world = ClusterFiles(write(TRACE), ARTIFACT, stream_jobs=5).build(0)
    assert world.streamed == 5
    assert world.jobs.tracked.tolist() == [True] * 3 + [False] * 5
    assert world.jobs.arrival_s[3] == 30 + 260


def test_tracked_counts_positions_in_arrival_order(write: WriteFile) -> None:
    world = ClusterFiles(write(TRACE), ARTIFACT, tracked=(1, 2), stream_jobs=2).build(0)
    assert world.jobs.tracked.tolist() == [False, True, True, False, False]


def test_given_scores_are_used_whatever_the_seed(write: WriteFile) -> None:
    path = write(TRACE)
    header = "gpu_id,node_id,score_A,score_B,score_C\n"
    table = beside(path, "pm.csv", header + "".join(f"{g},{g // 2},1,1.{g},1\n" for g in range(4)))
    worlds = [ClusterFiles(path, SMALL, pm_scores=table).build(seed) for seed in (0, 1)]
    assert worlds[0].data_hash == worlds[1].data_hash
    assert worlds[0].classes == ("A", "B", "C")
    assert worlds[0].pm_score[1].tolist() == [1.0, 1.1, 1.2, 1.3]


def test_scores_are_drawn_from_given_runs(write: WriteFile) -> None:
    path = write(TRACE)
    flat = beside(path, "flat.csv", "uuid,perf\nu,5\nv,5\n")
    wild = beside(path, "wild.csv", "uuid,perf\nu,1\nv,2\nw,4\nw,4\n")  # median run 3, median GPU 2
    runs = (("C", flat), ("A", wild), ("B", flat))
    worlds = [ClusterFiles(path, SMALL, pm_runs=runs).build(seed) for seed in range(20)]
    assert worlds[0].classes == ("A", "B", "C")
    assert {value for world in worlds for value in world.pm_score[0].tolist()} == {0.5, 1.0, 2.0}
    assert {value for world in worlds for value in world.pm_score[1:].ravel().tolist()} == {1.0}
    artifact = [ClusterFiles(path, ARTIFACT, pm_runs=runs).build(seed) for seed in range(20)]
    drawn = np.unique([world.pm_score[0] for world in artifact])
    assert drawn == pytest.approx([1 / 3, 2 / 3, 4 / 3])


def test_runs_given_twice_for_a_class_are_refused(write: WriteFile) -> None:
    path = write(TRACE)
    runs = beside(path, "runs.csv", "uuid,perf\nu,5\nv,5\n")
    with pytest.raises(InputError, match="A"):
        ClusterFiles(path, SMALL, pm_runs=(("A", runs), ("A", runs), ("B", runs), ("C", runs))).build(0)


@pytest.mark.parametrize(
    ("platform", "message"),
    [
        ({"nodes": 0}, "nodes = 0"),
        ({"nodes": -1}, "nodes = -1"),
        ({"gpus_per_node": 0}, "gpus_per_node = 0"),
        ({"nodes": 1, "gpus_per_node": 2}, "num_gpus = '4'; legal: a whole number, 1 to 2"),
        ({"nodes": True}, "nodes = True"),
        ({"nodes": 5000}, "at most 16,384 GPUs together"),
        ({"round_s": 0.0}, "round_s = 0.0"),
        ({"round_s": float("nan")}, "round_s = nan; legal"),
        ({"restart_s": -1.0}, "restart_s = -1.0"),
        ({"locality_penalty": 0.9}, "locality_penalty of class A = 0.9"),
        ({"locality_penalty": "high"}, "locality_penalty = 'high'; legal: a number >= 1, or one per class"),
        ({"locality_penalty": "A=1/B=1"}, "locality_penalty = 'A=1/B=1'"),
        ({"locality_penalty": "A=1/B=1/C=1/D=1/E=1"}, "unknown app class 'E'"),
    ],
)
def test_a_bad_platform_is_refused(write: WriteFile, platform: dict[str, Any], message: str) -> None:
    with pytest.raises(InputError, match=message):
        ClusterFiles(write(TRACE), ClusterPlatform(**platform)).build(0)


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"duration_unit": "hours"}, "duration_unit = 'hours'; legal: seconds, iterations"),
        ({"trace": None}, "trace = None; legal: the path of a file"),
        ({"trace": 3}, "trace = 3; legal: the path of a file"),
        ({"pm_scores": 3}, "pm_scores = 3; legal: the path of a file"),
        ({"platform": "x"}, "platform = 'x'; legal: ClusterPlatform"),
        ({"tracked": "0-1"}, "tracked = '0-1'; legal: \\(first, last\\)"),
        ({"tracked": (0, 1.5)}, "last of tracked = 1.5; legal: a whole number"),
    ],
    ids=str,
)
def test_what_is_no_file_or_option_is_refused(given: dict[str, Any], message: str) -> None:
    with pytest.raises(InputError, match=message):
        ClusterFiles(**{"trace": "trace.csv", **given})


def test_units_can_be_named(write: WriteFile) -> None:
    path = write(TRACE)
    by_name = ClusterFiles(path, SMALL, duration_unit="iterations").build(0)  # type: ignore[arg-type]
    assert by_name.jobs.work_s.tolist() != ClusterFiles(path, SMALL).build(0).jobs.work_s.tolist()


def test_a_negative_seed_is_refused(write: WriteFile) -> None:
    with pytest.raises(InputError, match="seed = -1"):
        ClusterFiles(write(TRACE), SMALL).build(-1)
