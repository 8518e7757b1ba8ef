"""Command-line arguments that describe a world, and the sources made from them."""

from __future__ import annotations

from dataclasses import dataclass, fields, replace
from pathlib import Path
from typing import Any

from ..scenarios.catalog import find_source
from ..scenarios.cluster.scenario import Compat
from ..scenarios.cluster.source import ClusterFiles, ClusterPlatform
from ..scenarios.cluster.traces.formats import DurationUnit
from ..scenarios.cluster.traces.models import MODELS, read_models
from ..scenarios.cluster.variability.quantiles import CLASSES
from ..scenarios.errors import InputError, unknown_name


@dataclass(frozen=True)
class PlatformArgs:
    """Changes to the machine and the rules of a cluster; options that are not given keep the scenario's values."""

    nodes: int | None = None
    """Number of nodes of the cluster."""
    gpus_per_node: int | None = None
    """Number of GPUs per node."""
    round_s: float | None = None
    """Seconds between planning instants."""
    restart_s: float | None = None
    """Seconds lost when a gang is moved or resumed."""
    locality_penalty: str | None = None
    """Slowdown of a gang that spans nodes: a number, or per class A=1.16/B=1/C=1/D=1.1."""
    compat: Compat | None = None
    """paper, or artifact: the rules of PAL's public simulator (docs/compat.md)."""

    @property
    def given(self) -> dict[str, object]:
        """The options that were set."""
        return {f.name: value for f in fields(self) if (value := getattr(self, f.name)) is not None}

    def over(self, platform: ClusterPlatform) -> ClusterPlatform:
        """Return `platform` with these options."""
        return replace(platform, **self.given)  # type: ignore[arg-type]

    def apply(self, scenario: str) -> Any:
        """Return a built-in scenario with these options as knobs."""
        return find_source(":".join([scenario, *(f"{key}={value}" for key, value in self.given.items())]))


@dataclass(frozen=True)
class FileArgs:
    """Further files and options of a trace."""

    pm_scores: Path | None = None
    """CSV gpu_id,node_id,score_A...[,sf_A...]: PM scores (and bins) per GPU. Default: drawn from measured quantiles."""
    pm_runs: str = ""
    """Per-run timings to draw scores from, as CLASS=FILE,CLASS=FILE (columns uuid or node,device; perf)."""
    models: Path | None = None
    """CSV model,iter_s,app_class (or fu_pct,dram_pct) that extends the built-in model table."""
    duration_unit: DurationUnit | None = None
    """Unit of the column duration. Default: seconds; iterations under --compat artifact."""
    tracked: str = ""
    """Jobs that count, as FIRST-LAST positions in arrival order, from 0. Default: all."""

    format: str = ""
    """Format of the trace, by name (see varigym list). Default: the one that recognises the file."""

    def trace(self, path: Path, platform: PlatformArgs) -> ClusterFiles:
        """Make the source of one trace file."""
        return ClusterFiles(
            trace=path,
            platform=platform.over(ClusterPlatform()),
            pm_scores=self.pm_scores,
            pm_runs=self._runs(),
            models=read_models(self.models) if self.models else MODELS,
            duration_unit=self.duration_unit,
            tracked=self._tracked(),
            format=self.format,
        )

    @property
    def given(self) -> list[str]:
        """Names of the options that were set."""
        return [f"--{f.name.replace('_', '-')}" for f in fields(self) if getattr(self, f.name)]

    @property
    def fixed(self) -> bool:
        """Whether the seed changes only the random choices of a policy."""
        return self.pm_scores is not None

    def _runs(self) -> tuple[tuple[str, Path], ...]:
        pairs = [part.partition("=") for part in split(self.pm_runs)]
        for name, _, path in pairs:
            if name not in CLASSES:
                raise unknown_name("app class in --pm-runs", name, CLASSES)
            if not path:
                raise InputError(f"pm_runs = '{self.pm_runs}'; legal: CLASS=FILE,CLASS=FILE")
        if len({name for name, _, _ in pairs}) < len(pairs):
            raise InputError(f"pm_runs = '{self.pm_runs}'; legal: one file per class")
        return tuple((name, Path(path)) for name, _, path in pairs)

    def _tracked(self) -> tuple[int, int] | None:
        if not self.tracked:
            return None
        first, _, last = self.tracked.partition("-")
        if not (first + last).isascii() or not (first.isdecimal() and last.isdecimal()):
            raise InputError(f"tracked = '{self.tracked}'; legal: FIRST-LAST, such as 0-159")
        return int(first), int(last)


def one_source(scenario: str, trace: Path | None, platform: PlatformArgs, files: FileArgs) -> Any:
    """Return a command's source: a trace with its files, or a built-in scenario. Raises `InputError` for both."""
    if trace is not None:
        if scenario:
            raise InputError(f"scenario '{scenario}' and --trace {trace}: give one of them")
        return files.trace(trace, platform)
    if files.given:
        raise InputError(f"{files.given[0]} belongs to --trace; a built-in scenario has its own")
    return platform.apply(scenario or "sia-64")


def split(text: str) -> list[str]:
    """Split a comma-separated list into its items."""
    return [item.strip() for item in text.split(",") if item.strip()]
