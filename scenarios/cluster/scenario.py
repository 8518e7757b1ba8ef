"""A training cluster scenario on the host: plain NumPy arrays, checked when they are created."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass, fields, replace
from enum import StrEnum

import numpy as np
from numpy.typing import NDArray

from ..checks import as_member
from ..errors import InputError

Floats = NDArray[np.float64]
Ints = NDArray[np.int32]
Bools = NDArray[np.bool_]

MAX_ROUND = 2**29
"""Times beyond this many rounds are refused; rounds are 32-bit integers."""


class Compat(StrEnum):
    """Which reading of PAL's rules a scenario follows; docs/compat.md has the table of differences."""

    PAPER = "paper"
    ARTIFACT = "artifact"


@dataclass(frozen=True)
class Jobs:
    """Jobs sorted by arrival, ties in the order given. Arrays are [J]."""

    job_id: NDArray[np.str_]
    arrival_s: Floats
    demand: Ints
    """Number of GPUs, all held at the same time."""
    iterations: Floats
    """Amount of work; `iterations * iter_s` is the run time on median GPUs in one node."""
    iter_s: Floats
    app_class: Ints
    """Index into `ClusterScenario.classes`."""
    tracked: Bools
    """Only these jobs count for the episode's end, the metrics and the reward."""

    def __len__(self) -> int:
        return len(self.job_id)

    @property
    def work_s(self) -> Floats:
        """Ideal run time on median GPUs in one node."""
        return self.iterations * self.iter_s


@dataclass(frozen=True)
class ClusterScenario:
    """A cluster, its scheduler's profile of it, and the jobs that arrive. C classes, G GPUs (id = node * P + place).

    Raises `InputError` if the parts do not fit together or a value is not legal.
    """

    name: str
    jobs: Jobs
    nodes: int
    gpus_per_node: int
    classes: tuple[str, ...]
    """App class names, the most sensitive first; PAL and PM-First place jobs in this order."""
    pm_score: Floats
    """True slowdown [C, G], median GPU = 1.0."""
    pm_bin: Floats
    """Slowdown according to the scheduler's profile [C, G]; GPUs with equal values form one bin."""
    locality_penalty: Floats
    """Slowdown of a gang that spans several nodes [C], >= 1."""
    round_s: float = 300.0
    restart_s: float = 0.0
    """Checkpoint-restart cost when a gang's GPUs change or it resumes after a pause."""
    compat: Compat = Compat.PAPER
    streamed: int = 0
    """Number of last jobs that are an artificial stream after the tracked ones (artifact)."""

    def __post_init__(self) -> None:
        object.__setattr__(self, "compat", as_member("compat", self.compat, Compat))
        for name, kind in (("pm_score", np.float64), ("pm_bin", np.float64), ("locality_penalty", np.float64)):
            object.__setattr__(self, name, np.asarray(getattr(self, name), kind))
        if not isinstance(self.jobs, Jobs):
            raise InputError(f"jobs is a {type(self.jobs).__name__}; make_jobs makes them")
        _check_shapes(self)
        _check_values(self)

    @property
    def gpus(self) -> int:
        """G, the number of GPUs."""
        return self.nodes * self.gpus_per_node

    @property
    def data_hash(self) -> str:
        """First 12 hex digits of SHA-256 over all data that determine a result.

        The name is left out, and so is the artificial stream, which follows from the trace at any length.
        """
        digest = hashlib.sha256()
        for field in fields(self):
            if field.name not in ("name", "jobs", "streamed"):
                digest.update(f"{field.name}={_bytes(getattr(self, field.name))!r}".encode())
        own = len(self.jobs) - self.streamed
        for field in fields(self.jobs):
            digest.update(f"{field.name}={_bytes(getattr(self.jobs, field.name)[:own])!r}".encode())
        return digest.hexdigest()[:12]


def make_jobs(
    job_id: NDArray[np.str_],
    arrival_s: Floats,
    demand: Ints,
    iterations: Floats,
    iter_s: Floats,
    app_class: Ints,
    tracked: Bools | None = None,
) -> Jobs:
    """Make jobs, sorted by arrival (stable); all are tracked unless `tracked` says otherwise.

    Raises `InputError` if columns differ in length or a demand is not a whole number.
    """
    columns = (job_id, arrival_s, demand, iterations, iter_s, app_class)
    if len({len(column) for column in columns}) > 1:
        raise InputError(f"job columns have lengths {[len(column) for column in columns]}; they must be equal")
    if not np.equal(np.mod(demand, 1), 0).all():
        raise InputError(f"demand = {np.asarray(demand)[np.mod(demand, 1) != 0][0]}; legal: a whole number of GPUs")
    order = np.argsort(arrival_s, kind="stable")
    tracked = np.ones(len(order), bool) if tracked is None else tracked
    return Jobs(
        job_id=np.asarray(job_id, dtype=np.str_)[order],
        arrival_s=np.asarray(arrival_s, np.float64)[order],
        demand=np.asarray(demand, np.int32)[order],
        iterations=np.asarray(iterations, np.float64)[order],
        iter_s=np.asarray(iter_s, np.float64)[order],
        app_class=np.asarray(app_class, np.int32)[order],
        tracked=np.asarray(tracked, bool)[order],
    )


def with_tracked(scenario: ClusterScenario, first: int, last: int) -> ClusterScenario:
    """Track only the jobs in positions first..last of the arrival order (inclusive, from 0).

    Raises `InputError` if the range is not within the scenario's jobs.
    """
    if not 0 <= first <= last < len(scenario.jobs):
        raise InputError(f"tracked = {first}-{last}; legal: FIRST-LAST within 0-{len(scenario.jobs) - 1}")
    position = np.arange(len(scenario.jobs))
    return replace(scenario, jobs=replace(scenario.jobs, tracked=(position >= first) & (position <= last)))


def _bytes(value: object) -> bytes:
    if isinstance(value, np.ndarray):
        if value.dtype.kind == "U":
            return "\n".join(value.tolist()).encode()  # NumPy pads strings to the longest of the array
        return str(value.shape).encode() + value.tobytes()
    return repr(value).encode()


def _check_shapes(scenario: ClusterScenario) -> None:
    grid = (len(scenario.classes), scenario.gpus)
    for name in ("pm_score", "pm_bin"):
        shape = getattr(scenario, name).shape
        if shape != grid:
            raise InputError(f"{name} has shape {shape}; expected [classes, GPUs] = {grid}")
    if scenario.locality_penalty.shape != grid[:1]:
        raise InputError(
            f"locality_penalty has shape {scenario.locality_penalty.shape}; expected one per class, {grid[:1]}"
        )
    lengths = {field.name: len(getattr(scenario.jobs, field.name)) for field in fields(scenario.jobs)}
    if len(set(lengths.values())) > 1:
        raise InputError(f"job columns have lengths {lengths}; they must be equal")
    if not 0 <= scenario.streamed <= len(scenario.jobs):
        raise InputError(f"streamed = {scenario.streamed}; legal: 0 to the number of jobs, {len(scenario.jobs)}")
    if len(scenario.jobs) == 0:
        raise InputError("the scenario has no jobs; at least one is needed")


def _check_values(scenario: ClusterScenario) -> None:
    jobs = scenario.jobs
    for name, value, least in (
        ("nodes", scenario.nodes, 1),
        ("gpus_per_node", scenario.gpus_per_node, 1),
        ("restart_s", scenario.restart_s, 0),
    ):
        if not (np.isfinite(value) and value >= least):
            raise InputError(f"{name} = {value}; legal: a finite number >= {least}")
    if not (np.isfinite(scenario.round_s) and scenario.round_s > 0):
        raise InputError(f"round_s = {scenario.round_s}; legal: a finite number > 0")
    for name, penalty in zip(scenario.classes, scenario.locality_penalty, strict=True):
        if not (np.isfinite(penalty) and penalty >= 1):
            raise InputError(f"locality_penalty of class {name} = {penalty}; legal: a finite number >= 1")
    _refuse("pm_score", scenario.pm_score, scenario.pm_score > 0, "a finite number > 0")
    _refuse("pm_bin", scenario.pm_bin, scenario.pm_bin > 0, "a finite number > 0")
    _refuse("arrival_s", jobs.arrival_s, jobs.arrival_s >= 0, "a finite number >= 0")
    if (np.diff(jobs.arrival_s) < 0).any():
        raise InputError("jobs are not sorted by arrival_s; make_jobs sorts them")
    _refuse("demand", jobs.demand, (jobs.demand >= 1) & (jobs.demand <= scenario.gpus), f"1 to {scenario.gpus} GPUs")
    _refuse("work_s", jobs.work_s, jobs.work_s > 0, "a finite number > 0")
    _refuse(
        "app_class", jobs.app_class, (jobs.app_class >= 0) & (jobs.app_class < len(scenario.classes)), "a class index"
    )
    if not jobs.tracked.any():
        raise InputError("no job is tracked; at least one must be")
    worst = scenario.pm_score.max() * scenario.locality_penalty.max()
    last_s = jobs.arrival_s.max() + worst * (jobs.work_s.sum() + scenario.restart_s * len(jobs))
    if last_s / scenario.round_s > MAX_ROUND:
        raise InputError(
            f"times reach {last_s:.3g} s, over {MAX_ROUND:,} rounds of {scenario.round_s} s; "
            "use shorter times or longer rounds (round_s, restart_s, locality_penalty)"
        )


def _refuse(name: str, values: NDArray[np.generic], legal: NDArray[np.bool_], rule: str) -> None:
    bad = np.argwhere(~(legal & np.isfinite(values)))
    if len(bad):
        where = tuple(int(i) for i in bad[0])
        raise InputError(f"{name}[{', '.join(map(str, where))}] = {values[where]}; legal: {rule}")
