"""Job-by-job equality with the unmodified public simulator of PAL, on the Sia-Philly workloads."""

from __future__ import annotations

import csv
import json
from functools import cache
from pathlib import Path

import numpy as np
import pytest
from varigym.bench.grid.world_kinds import KINDS
from varigym.envs.cluster.bank import Bank
from varigym.envs.cluster.metrics import metrics_of
from varigym.envs.cluster.record import Record
from varigym.policies.cluster.catalog import find_policy
from varigym.scenarios.cluster.scenario import Compat
from varigym.scenarios.cluster.source import ClusterFiles, ClusterPlatform
from worlds import gangs, steps

PLACEMENTS = {
    "PAL": "pal",
    "PMFirst": "pm-first",
    "Default-Packed-S": "packed+sticky",
    "Default-Packed-NS": "packed",
    "Default-Random-S": "random+sticky",
    "Default-Random-NS": "random",
}
RUNS = [
    (workload, order, placement)
    for workload, orders in ((1, ("Fifo", "Las", "Srtf")), (3, ("Fifo",)), (4, ("Fifo",)))
    for order in orders
    for placement in PLACEMENTS
]
EXACT = [run for run in RUNS if "Random" not in run[2]]
DRAWN = [run for run in RUNS if "Random" in run[2]]
DRAWS = 20
"""Runs of ours among which a random run of the artifact must lie; more would only be easier to lie within."""


@cache
def source(shared: Path, workload: int) -> ClusterFiles:
    return ClusterFiles(
        trace=shared / f"data/pal_sia_philly_workloads/original/workload-{workload}.csv",
        pm_scores=shared / "golden/pal/pm_scores_64gpu_seed42.csv",
        platform=ClusterPlatform(round_s=360.0, locality_penalty=1.7, compat=Compat.ARTIFACT),
    )


def simulate(shared: Path, workload: int, policy: str, seeds: range = range(1)) -> list[Record]:
    """The same world for every seed, in a bank of one, so that all runs share a program."""
    bank = bank_of(shared, workload)
    return [
        record
        for seed in seeds
        for record in KINDS["cluster"].run(source(shared, workload), find_policy(policy), [seed], bank)
    ]


@cache
def bank_of(shared: Path, workload: int) -> Bank:
    origin = source(shared, workload)
    return KINDS["cluster"].bank(origin, [origin.build(0)])


def golden_rows(shared: Path, workload: int, order: str, placement: str) -> list[dict[str, str]]:
    path = shared / f"golden/pal/runs/w{workload}_{order}_{placement}_lp1.7.csv"
    with path.open() as file:
        return sorted(csv.DictReader(file), key=lambda row: int(row["job_id"]))


def summary(shared: Path, workload: int, order: str, placement: str) -> dict[str, str]:
    with (shared / "golden/pal/summary.csv").open() as file:
        rows = list(csv.DictReader(file))
    key = (f"workload-{workload}.csv", order, placement)
    return next(row for row in rows if (row["trace"], row["sched"], row["place"]) == key)


@pytest.mark.parametrize(("workload", "order", "placement"), EXACT)
def test_every_job_of_the_deterministic_runs(shared: Path, workload: int, order: str, placement: str) -> None:
    (record,) = simulate(shared, workload, f"{order.lower()}+{PLACEMENTS[placement]}")
    jobs, rows = record.jobs, golden_rows(shared, workload, order, placement)
    assert jobs.job_id.tolist() == [row["job_id"] for row in rows]
    for name, column in (("arrival_s", "arrival"), ("start_s", "start"), ("finish_s", "finish")):
        assert getattr(jobs, name).tolist() == [float(row[column]) for row in rows]
    assert jobs.run_slowdown.tolist() == pytest.approx([float(row["mean_slowdown"]) for row in rows], rel=1e-12)
    expected, values = summary(shared, workload, order, placement), metrics_of(record)
    assert values["mean_jct_s"] == pytest.approx(float(expected["avg_jct_s"]), abs=1e-3)
    assert values["p99_jct_s"] == pytest.approx(float(expected["p99_jct_s"]), abs=1e-2)
    assert values["utilization"] == pytest.approx(float(expected["util"]), abs=1e-4)
    assert values["mean_queueing_s"] == pytest.approx(float(expected["wait_s"]), abs=1e-3)


@pytest.mark.parametrize("placement", ["PAL", "PMFirst", "Default-Packed-S", "Default-Packed-NS"])
def test_every_gang_of_the_first_400_rounds(shared: Path, placement: str) -> None:
    path = shared / f"golden/pal/runs/w1_Fifo_{placement}_lp1.7.sched400.json"
    expected = [
        (time_s, {int(job): gpus for job, gpus in held.items()}) for time_s, held in json.loads(path.read_text())
    ]
    scenario = source(shared, 1).build(0)
    policy = find_policy(f"fifo+{PLACEMENTS[placement]}")
    planned = [state for _, state in steps(scenario, policy, rounds=400, slots=256)]
    seen = {int(state.round) * 360: gangs(state) for state in planned}
    assert all(seen.get(time_s, {}) == dict(sorted(held.items())) for time_s, held in expected)


@pytest.mark.parametrize(("workload", "order", "placement"), DRAWN)
def test_the_artifact_s_random_runs_lie_within_ours(shared: Path, workload: int, order: str, placement: str) -> None:
    records = simulate(shared, workload, f"{order.lower()}+{PLACEMENTS[placement]}", range(DRAWS))
    ours = np.array([metrics_of(record)["mean_jct_s"] for record in records])
    artifact = float(summary(shared, workload, order, placement)["avg_jct_s"])
    assert ours.min() <= artifact <= ours.max()
