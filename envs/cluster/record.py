"""Typed results of an episode: times per tracked job in seconds, computed on the host in float64."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ...scenarios.cluster.scenario import ClusterScenario
from .episode import Outcome
from .state import NEVER
from .world import arrival_rounds

Floats = NDArray[np.float64]


@dataclass(frozen=True)
class JobRecord:
    """Tracked jobs that have arrived, in arrival order; all arrays [K]."""

    job_id: NDArray[np.str_]
    arrival_s: Floats
    start_s: Floats
    """First start; NaN if the job never ran."""
    finish_s: Floats
    """End of the round in which the job's work was completed; NaN if the episode was truncated before."""
    demand: NDArray[np.int32]
    app_class: NDArray[np.str_]
    work_s: Floats
    """Ideal run time on median GPUs in one node."""
    jct_s: Floats
    """Finish - arrival; for a job that did not finish, the time up to the end of the episode."""
    run_slowdown: Floats
    """Mean of PM score x penalty over the rounds in which the job ran; NaN if it never ran."""
    preemptions: NDArray[np.int32]
    contention: Floats
    """Mean over the job's rounds of max(1, demand of all active jobs / GPUs); NaN if no round passed."""
    ftf: Floats
    """Finish-time fairness: JCT / (work_s x contention), see `fairness`."""


@dataclass(frozen=True)
class Record:
    """The results of one episode, with the scenario, policy, seed and data that produced them."""

    scenario: str
    policy: str
    seed: int
    data_hash: str
    jobs: JobRecord
    gpus: int
    round_s: float
    last_round: int
    """Round of the last tracked finish, or of the truncation if that came first."""
    rounds: int
    """Planning rounds executed."""
    busy_gpu_rounds: int
    """Allocated GPUs of all jobs, summed over rounds."""

    @property
    def truncated_jobs(self) -> int:
        """Number of tracked jobs that had not finished when the episode ended."""
        return int(np.isnan(self.jobs.finish_s).sum())


def make_record(scenario: ClusterScenario, policy: str, seed: int, outcome: Outcome) -> Record:
    """Make the record of `outcome` on `scenario`; jobs that had not arrived yet are left out."""
    jobs, round_s = scenario.jobs, scenario.round_s
    keep = jobs.tracked & (arrival_rounds(jobs.arrival_s, round_s) <= outcome.last_round)

    def seconds(rounds: NDArray[np.int32], missing: float) -> Floats:
        return np.where(rounds == NEVER, missing, rounds.astype(np.float64) * round_s)[keep]

    arrival_s, work_s = jobs.arrival_s[keep], jobs.work_s[keep]
    jct_s = seconds(outcome.finish_round, outcome.last_round * round_s) - arrival_s
    contention = _contention(scenario, outcome)[keep]
    service = outcome.service[keep]
    return Record(
        scenario=scenario.name,
        policy=policy,
        seed=seed,
        data_hash=scenario.data_hash,
        jobs=JobRecord(
            job_id=jobs.job_id[keep],
            arrival_s=arrival_s,
            start_s=seconds(outcome.start_round, np.nan),
            finish_s=seconds(outcome.finish_round, np.nan),
            demand=jobs.demand[keep],
            app_class=np.array(scenario.classes)[jobs.app_class[keep]],
            work_s=work_s,
            jct_s=jct_s,
            run_slowdown=np.where(service > 0, outcome.slowdown_sum[keep] / np.maximum(service, 1), np.nan),
            preemptions=outcome.preemptions[keep],
            contention=contention,
            ftf=jct_s / (work_s * contention),
        ),
        gpus=scenario.gpus,
        round_s=round_s,
        last_round=outcome.last_round,
        rounds=outcome.rounds,
        busy_gpu_rounds=outcome.busy_gpu_rounds,
    )


def _contention(scenario: ClusterScenario, outcome: Outcome) -> Floats:
    """Return the mean contention over each job's rounds [J]."""
    end_round = np.minimum(outcome.finish_round, outcome.last_round)
    rounds = end_round - arrival_rounds(scenario.jobs.arrival_s, scenario.round_s)
    passed = rounds > 0
    return np.where(passed, outcome.contended_gpu_rounds / (scenario.gpus * np.where(passed, rounds, 1.0)), np.nan)
