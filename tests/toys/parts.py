"""A plug-in: a toy of everything that can be added to the two built-in worlds."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import varigym
from varigym.agents.checkpoints.checkpoint import Training, save_checkpoint
from varigym.agents.checkpoints.policies import index_checkpoint
from varigym.commands.folder_run import FolderRun
from varigym.commands.named import Word
from varigym.commands.plugins import PluginOption
from varigym.policies.cluster.index_net import HIDDEN, untrained
from varigym.policies.serverless.policy import NONE, SchedulerProgram, best_of, serve_or_wait
from varigym.scenarios.cluster.workloads import SiaPhilly

# --- training cluster: who is next, and where


def widest(view: Any, history: Any) -> jax.Array:
    return -view.demand.astype(view.remaining_s.dtype)


def from_the_last(profile: Any, app_class: Any, free: jax.Array, demand: Any, key: Any) -> jax.Array:
    flat = free.reshape(-1)
    behind = jnp.cumsum(flat[::-1], dtype=jnp.int32)[::-1]
    return (flat & (behind <= demand)).reshape(free.shape)


varigym.add_order(varigym.Order("widest", widest, varigym.Information.NON_CLAIRVOYANT, "a toy: widest job first"))
varigym.add_placement(varigym.Placement("from-the-last", from_the_last, "a toy: the last free GPUs"))

# --- serverless platform


def _first(data: Any, view: Any) -> Any:
    config, found = best_of(jnp.arange(view.legal.size, dtype=jnp.int32), view.legal)
    return serve_or_wait(config, found, view.legal.size)


def _scores(data: Any, view: Any) -> jax.Array:
    return jnp.where(view.legal, -jnp.arange(view.legal.size, dtype=jnp.float32) / NONE, -jnp.inf)


PROGRAM = SchedulerProgram(_first, _scores)


@dataclass(frozen=True)
class FirstLegal:
    name: str
    patience: int = 0

    @property
    def program(self) -> SchedulerProgram:
        return PROGRAM

    def bind(self, bank: Any) -> Any:
        return ()

    def adapt(self, worlds: Any, data: Any) -> Any:
        return worlds


varigym.add_scheduler("first-legal", varigym.SchedulerEntry(FirstLegal, "a toy: the first configuration that is legal"))

# --- worlds, what they are read from, what they are judged by


def _small(name: str) -> varigym.ClusterSynthetic:
    return varigym.ClusterSynthetic(name, SiaPhilly(jobs=12), varigym.ClusterPlatform(nodes=4))


def _recognises(line: str) -> bool:
    return line.startswith("#pipes")


def _read(path: Path, use: varigym.TraceUse) -> tuple[varigym.Jobs, list[str]]:
    rows = [line.split("|") for line in path.read_text().splitlines()[1:]]
    for number, cells in enumerate(rows, 2):
        if len(cells) != 4:
            raise varigym.InputError(f"{path}, line {number}: {len(cells)} cells; legal: 4")
    job_id, arrival, demand, seconds = np.array(rows).T
    jobs = varigym.make_jobs(
        job_id=job_id,
        arrival_s=arrival.astype(float),
        demand=demand.astype(np.int32),
        iterations=seconds.astype(float),
        iter_s=np.ones(len(rows)),
        app_class=np.zeros(len(rows), np.int32),
    )
    return jobs, []


def _widest_wait_h(record: Any) -> float:
    jobs = record.jobs
    return float(np.nanmax(jobs.start_s - jobs.arrival_s)) / 3600


varigym.add_scenario("toy-16", varigym.ScenarioEntry("cluster", _small, "a toy: 12 jobs on 16 GPUs"))
varigym.add_trace_format(varigym.TraceFormat("pipes", "a toy: id|arrival_s|gpus|seconds", _recognises, _read))
varigym.add_metric(
    "cluster",
    varigym.Metric("longest_wait_h", "h", varigym.Better.LOWER, "longest wait for a first start", _widest_wait_h),
)

# --- learners


@dataclass(frozen=True)
class Guess(FolderRun):
    """Write an index with random weights (a toy)."""

    out: Path
    """Folder of the checkpoint."""
    word: Word = ""
    """Where to learn."""
    algo: str = "guess"
    """Learner."""
    plugin: PluginOption = None
    seed: int = 0
    """Of the guess."""

    def run(self) -> None:
        expert = varigym.find_policy("gittins+pal+backfill")
        training = Training("guess", {"seed": self.seed}, (self.word or "toy-16",), (self.seed,), expert.name)
        save_checkpoint(self.out, index_checkpoint(expert, untrained(self.seed, HIDDEN), training))


varigym.add_learner(varigym.Learner("guess", Guess, "a toy: random weights"))
