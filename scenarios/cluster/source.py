"""Sources of scenarios: a source makes one world per seed, and has the job history that a scheduler may learn from."""

from __future__ import annotations

from dataclasses import dataclass, field, fields, replace
from pathlib import Path
from typing import Protocol

import numpy as np

from ..checks import as_member, as_whole, check_number, plain
from ..errors import InputError, unknown_name
from ..seeds import rng_of
from ..types import Floats
from .scenario import ClusterScenario, Compat, Jobs, with_tracked
from .traces.formats import TRACE_FORMATS, DurationUnit, TraceUse, find_format
from .traces.models import MODELS, Model
from .traces.pm_table import read_pm_runs, read_pm_table
from .traces.sia import wrap_around
from .variability.bins import room_for_bins
from .variability.quantiles import CLASSES, Kind
from .variability.scores import Variability, draw_scores, profile
from .workloads import Workload

LOCALITY_PENALTY = 1.7
"""Default of PAL's public simulator, equal for all classes; the paper's table per class is not public."""
MOST_GPUS = 16_384
STREAM_JOBS = 640
"""Jobs that are streamed after a trace under `artifact`; their number doubles if an episode outlasts them."""

_JOBS, _SCORES, _REDRAWN, _PROFILE = range(4)


class Source(Protocol):
    """Makes scenarios."""

    @property
    def name(self) -> str:
        """Name of the scenario in the rows of a result."""
        ...

    def build(self, seed: int) -> ClusterScenario:
        """Make the world of a seed; equal seeds give equal worlds."""
        ...

    def history(self) -> Jobs | None:
        """Return the jobs of the train bank, which a scheduler may know; None if there is none (a real trace)."""
        ...


@dataclass(frozen=True)
class ClusterPlatform:
    """The machine and the rules that every scenario needs."""

    nodes: int = 16
    gpus_per_node: int = 4
    round_s: float = 360.0
    """Seconds between planning instants."""
    restart_s: float = 0.0
    """Checkpoint-restart cost of a moved or resumed gang."""
    locality_penalty: float | str = LOCALITY_PENALTY
    """Slowdown of a gang that spans nodes: a number, or per class as `A=1.16/B=1/C=1/D=1.1`."""
    compat: Compat = Compat.PAPER

    def __post_init__(self) -> None:
        object.__setattr__(self, "compat", as_member("compat", self.compat, Compat))
        for name in ("nodes", "gpus_per_node"):
            object.__setattr__(self, name, as_whole(name, getattr(self, name), 1, MOST_GPUS))
        check_number("round_s", self.round_s, 0, above=True)
        check_number("restart_s", self.restart_s, 0)
        if self.nodes < 1 or self.gpus_per_node < 1 or self.gpus > MOST_GPUS:
            raise InputError(
                f"nodes = {self.nodes}, gpus_per_node = {self.gpus_per_node}; "
                f"legal: at least 1 each, at most {MOST_GPUS:,} GPUs together"
            )

    @property
    def gpus(self) -> int:
        """G, the number of GPUs."""
        return self.nodes * self.gpus_per_node


@dataclass(frozen=True)
class ClusterSynthetic:
    """Worlds drawn from published statistics."""

    name: str
    workload: Workload
    platform: ClusterPlatform = ClusterPlatform()
    variability: Variability = Variability()
    train_seeds: int = 32
    """Number of seeds of the train bank, whose jobs are the scheduler's history."""

    @property
    def bins(self) -> int:
        """Room for bins in the worlds of every seed."""
        return room_for_bins(self.platform.gpus, self.platform.compat)

    def build(self, seed: int) -> ClusterScenario:
        """Draw jobs, scores and profile of `seed`; changing one knob does not affect the other draws."""
        compat = self.platform.compat
        kind = Kind.PER_RUN if compat is Compat.ARTIFACT else Kind.PER_GPU
        jobs = self.workload.draw(rng_of(seed, _JOBS), self.platform.gpus, compat)
        truth = draw_scores(self.variability, self.platform.gpus, kind, rng_of(seed, _SCORES))
        redrawn = draw_scores(self.variability, self.platform.gpus, kind, rng_of(seed, _REDRAWN))
        bins = profile(truth, redrawn, self.variability, compat, rng_of(seed, _PROFILE))
        return assemble(self.name, self.platform, jobs, CLASSES, truth, bins)

    def history(self) -> Jobs:
        """Return all jobs of the train seeds."""
        draws = [
            self.workload.draw(rng_of(seed, _JOBS), self.platform.gpus, self.platform.compat)
            for seed in range(self.train_seeds)
        ]
        return Jobs(**{f.name: np.concatenate([getattr(jobs, f.name) for jobs in draws]) for f in fields(Jobs)})


@dataclass(frozen=True)
class ClusterFiles:
    """One trace on one cluster; only what a seed decides (scores that are drawn) differs between seeds."""

    trace: Path
    platform: ClusterPlatform = ClusterPlatform()
    pm_scores: Path | None = None
    """Table per GPU; without it scores are drawn."""
    pm_runs: tuple[tuple[str, Path], ...] = ()
    """(class, file of per-run timings) to draw scores from."""
    variability: Variability = Variability()
    models: dict[str, Model] = field(default_factory=lambda: MODELS)
    duration_unit: DurationUnit | None = None
    """Default: iterations under `artifact`, seconds otherwise."""
    tracked: tuple[int, int] | None = None
    """First and last position, in arrival order, of the jobs that count; default: all of the trace."""
    stream_jobs: int = STREAM_JOBS
    """Jobs streamed behind the trace under `artifact`."""
    format: str = ""
    """Name of the trace's format; default: the one that recognises the file."""
    remarks: list[str] = field(default_factory=list, compare=False)
    """What the user should know of the files; filled by `build`."""

    def __post_init__(self) -> None:
        object.__setattr__(self, "trace", _path("trace", self.trace))
        if self.format:
            TRACE_FORMATS.find(self.format)
        if not isinstance(self.platform, ClusterPlatform):
            raise InputError(f"platform = {self.platform!r}; legal: ClusterPlatform(...)")
        if self.pm_scores is not None:
            object.__setattr__(self, "pm_scores", _path("pm_scores", self.pm_scores))
            if self.pm_runs:
                raise InputError("pm_scores and pm_runs: give one of them; both say how fast the GPUs are")
        if self.duration_unit is not None:
            object.__setattr__(self, "duration_unit", as_member("duration_unit", self.duration_unit, DurationUnit))
        if self.tracked is not None:
            object.__setattr__(self, "tracked", _range("tracked", self.tracked))
        classes = [name for name, _ in self.pm_runs]
        if len(set(classes)) < len(classes):
            raise InputError(f"pm_runs of classes {', '.join(classes)}; legal: one file per class")

    @property
    def name(self) -> str:
        """The trace's file name without its ending."""
        return self.trace.stem

    @property
    def bins(self) -> int | None:
        """Room for bins that every seed's worlds are given, where scores are drawn; None where a table gives them."""
        return None if self.pm_scores is not None else room_for_bins(self.platform.gpus, self.platform.compat)

    def build(self, seed: int) -> ClusterScenario:
        """Read the files and put the scenario together. Raises `InputError`."""
        compat, gpus = self.platform.compat, self.platform.gpus
        classes, truth, bins = self._scores(seed)
        default = DurationUnit.ITERATIONS if compat is Compat.ARTIFACT else DurationUnit.SECONDS
        use = TraceUse(self.models, self.duration_unit or default, gpus, classes)
        jobs, remarks = find_format(self.trace, self.format).read(self.trace, use)
        self._remark(remarks)
        scenario = assemble(self.name, self.platform, jobs, classes, truth, bins)
        if self.tracked:
            scenario = with_tracked(scenario, *self.tracked)
        if compat is Compat.ARTIFACT:
            scenario = replace(scenario, jobs=wrap_around(scenario.jobs, self.stream_jobs), streamed=self.stream_jobs)
        return scenario

    def history(self) -> None:
        """A real trace has no train bank; schedulers learn from the jobs that finish."""
        return

    def _scores(self, seed: int) -> tuple[tuple[str, ...], Floats, Floats]:
        compat, gpus = self.platform.compat, self.platform.gpus
        if self.pm_scores is not None:
            classes, truth, bins, remarks = read_pm_table(
                self.pm_scores, self.platform.nodes, self.platform.gpus_per_node, compat
            )
            self._remark(remarks)
            return classes, truth, bins
        kind = Kind.PER_RUN if compat is Compat.ARTIFACT else Kind.PER_GPU
        if self.pm_runs:
            classes = tuple(sorted(name for name, _ in self.pm_runs))
            rng = rng_of(seed, _SCORES)
            pools = [read_pm_runs(path)[0 if kind is Kind.PER_RUN else 1] for _, path in sorted(self.pm_runs)]
            truth = np.stack([rng.choice(pool, size=gpus) for pool in pools])
            redrawn = np.stack([rng_of(seed, _REDRAWN).choice(pool, size=gpus) for pool in pools])
        else:
            classes = CLASSES
            truth = draw_scores(self.variability, gpus, kind, rng_of(seed, _SCORES))
            redrawn = draw_scores(self.variability, gpus, kind, rng_of(seed, _REDRAWN))
        return classes, truth, profile(truth, redrawn, self.variability, compat, rng_of(seed, _PROFILE))

    def _remark(self, remarks: list[str]) -> None:
        self.remarks.extend(remark for remark in remarks if remark not in self.remarks)


def assemble(
    name: str, platform: ClusterPlatform, jobs: Jobs, classes: tuple[str, ...], truth: Floats, bins: Floats
) -> ClusterScenario:
    """Make a scenario from its parts."""
    return ClusterScenario(
        name=name,
        jobs=jobs,
        nodes=platform.nodes,
        gpus_per_node=platform.gpus_per_node,
        classes=classes,
        pm_score=truth,
        pm_bin=bins,
        locality_penalty=parse_penalty(platform.locality_penalty, classes),
        round_s=platform.round_s,
        restart_s=platform.restart_s,
        compat=platform.compat,
    )


def parse_penalty(text: float | str, classes: tuple[str, ...]) -> Floats:
    """Read the locality penalty per class [C] from a number or `A=1.16/B=1/...`. Raises `InputError`."""
    legal = f"a number >= 1, or one per class as {'/'.join(f'{c}=1.7' for c in classes)}"
    try:
        if isinstance(text, float | int) or "=" not in text:
            return np.full(len(classes), float(plain(str(text))))
        given = dict(part.split("=", 1) for part in text.split("/"))
        unknown = given.keys() - set(classes)
        if unknown:
            raise unknown_name("app class", sorted(unknown)[0], classes)
        return np.array([float(plain(given[c])) for c in classes])
    except (KeyError, ValueError) as error:
        if isinstance(error, InputError):
            raise
        raise InputError(f"locality_penalty = '{text}'; legal: {legal}") from None


def _path(name: str, value: str | Path) -> Path:
    """Raises `InputError` for what names no file."""
    if not isinstance(value, str | Path):
        raise InputError(f"{name} = {value!r}; legal: the path of a file")
    return Path(value)


def _range(name: str, value: tuple[int, int]) -> tuple[int, int]:
    """Raises `InputError` for what is no pair of positions."""
    if not isinstance(value, tuple | list) or len(value) != 2:
        raise InputError(f"{name} = {value!r}; legal: (first, last), such as (0, 159)")
    return as_whole(f"first of {name}", value[0], 0), as_whole(f"last of {name}", value[1], 0)
