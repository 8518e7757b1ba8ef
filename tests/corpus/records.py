"""Worlds, records of episodes and tables of benchmarks as arrays."""

from __future__ import annotations

import csv
import tempfile
from collections.abc import Sequence
from dataclasses import fields, is_dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import varigym
from corpus.packing import Arrays
from corpus.trail import MEASURED, Trail
from varigym.cli import main

JOBS = "job_id arrival_s start_s finish_s demand app_class work_s jct_s run_slowdown preemptions contention ftf"
EPISODE = "gpus round_s last_round rounds busy_gpu_rounds truncated_jobs"
REQUESTS = "request_id workflow arrival_ms finish_ms slo_ms latency_ms hit shed cost_usd cold_starts"
TASKS = "decided_ms start_ms end_ms billed_ms cost_usd cold queue invoker config batch members counted"
WINDOW = "workflows window_ms task_vgpu vgpus end_ms truncated visits misses unfinished"
CLUSTER_WORLD = "nodes gpus_per_node classes pm_score pm_bin locality_penalty round_s restart_s"
ARRIVALS = "job_id arrival_s demand iterations iter_s app_class tracked work_s"
PLATFORM = "vcpu vgpu window_ms warm keep_alive_s prewarm bill_cold overhead_ms locality queues remarks"
PLATFORM_PARTS = ("grid", "functions", "workflows", "requests", "prices", "transfer")


def add_record(trail: Trail, name: str, record: Any) -> None:
    """Everything of a record but names and measured times."""
    if hasattr(record, "jobs"):
        trail.fields(name, record, EPISODE)
        trail.fields(f"{name}.jobs", record.jobs, JOBS)
    else:
        trail.fields(name, record, WINDOW)
        trail.fields(f"{name}.requests", record.requests, REQUESTS)
        trail.fields(f"{name}.tasks", record.tasks, TASKS)
    trail.add(f"{name}.metrics", varigym.metrics_of(record))


def simulated(scenario: str, policies: Sequence[Any], seeds: Sequence[int]) -> Arrays:
    """Records of policies on the same worlds, one policy after the other."""
    trail = Trail()
    for policy in policies:
        for record in varigym.simulate(scenario, policy, seeds):
            add_record(trail, "record", record)
    return trail.arrays()


def compared(scenarios: Sequence[str], policies: Sequence[str], metrics: str) -> Arrays:
    """Values of `varigym.compare`."""
    results, trail = varigym.compare(scenarios, policies, seeds=2), Trail()
    for metric in metrics.split():
        for scenario in scenarios:
            for policy in policies:
                trail.add(metric, results.values(scenario, policy, metric))
    return trail.arrays()


def worlds(names: Sequence[str], seeds: Sequence[int]) -> Arrays:
    """What sources build."""
    trail = Trail()
    for world in (varigym.find_source(name).build(seed) for name in names for seed in seeds):
        if hasattr(world, "jobs"):
            trail.fields(world.name, world, CLUSTER_WORLD)
            trail.fields(f"{world.name}.jobs", world.jobs, ARRIVALS)
        else:
            trail.fields(world.name, world, PLATFORM)
            trail.add(f"{world.name}.oracle", varigym.oracle_usd_per_request(world))
            for part in PLATFORM_PARTS:
                _add_part(trail, f"{world.name}.{part}", getattr(world, part))
    return trail.arrays()


def _add_part(trail: Trail, name: str, part: Any) -> None:
    """A dataclass, field by field."""
    if is_dataclass(part):
        for field in fields(part):
            _add_part(trail, f"{name}.{field.name}", getattr(part, field.name))
    elif isinstance(part, tuple) and part and not np.isscalar(part[0]):
        for one in part:
            _add_part(trail, name, one)
    else:
        trail.add(name, part)


def command(*arguments: str) -> None:
    """Run the command in this process."""
    with pytest.raises(SystemExit) as end:
        main(arguments)
    assert end.value.code == 0


def written(option: str, *arguments: str) -> Arrays:
    """The CSV that a command writes to the file, or to `rows.csv` in the folder, that `option` names."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "out"
        command(*arguments, option, str(path))
        with (path / "rows.csv" if path.is_dir() else path).open(newline="") as file:
            rows = [row for row in csv.DictReader(file) if row.get("metric") != MEASURED]
    trail = Trail()
    for column in sorted(set(rows[0]) - {"version", "commit", "data_hash", "policy"}):
        cells = [row[column] for row in rows]
        try:
            trail.add(column, np.array([float(cell or "nan") for cell in cells]))
        except ValueError:
            trail.add(column, np.array(cells))
    return trail.arrays()
