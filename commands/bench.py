"""`varigym bench`: a grid of scenarios, policies and seeds."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path

from tyro.conf import Positional

from ..bench.catalog import find_policy_of, kind_of_world
from ..bench.cluster.benchmarks import SEEDS, SUITES
from ..bench.grid.experiment import Grid, run_grid, usual_baseline
from ..bench.report.html import write_report
from ..bench.report.tables import show_results
from ..bench.report.terminal import console, note, progress_bar
from ..scenarios.catalog import HELD_OUT
from ..scenarios.errors import InputError, unknown_name
from .arguments import FileArgs, PlatformArgs, split
from .plugins import load_plugin


@dataclass(frozen=True)
class Bench:
    """Run a grid of scenarios x policies x seeds and print paired comparisons."""

    suite: Positional[str] = "quick"
    """quick, pal, variability, esg, esg-fair, esg-ablation, esg-sensitivity, esg-orion or esg-cold (see list)."""
    scenarios: str = ""
    """Comma-separated scenarios instead of the suite's."""
    policies: str = ""
    """Comma-separated policies instead of the suite's."""
    baseline: str = ""
    """Policy that ratios are taken to, one of those that are run. ORDER stands for the order of the policy compared.
    Default: the suite's, or the first of --policies where that is not among them."""
    seeds: int | None = None
    """Number of seeds. Default: 10; 1 where files leave nothing to draw."""
    seed_start: int = HELD_OUT.first
    """First seed. Held-out seeds start at 200000."""
    out: Path | None = None
    """Folder for rows.csv and report.html; a rerun with the same folder continues where it stopped."""
    traces: tuple[Path, ...] = ()
    """Trace files (CSV as for simulate --trace) instead of the suite's scenarios."""
    plugin: Path | None = None
    """Python file of your own to import first (it may add placements)."""
    platform: PlatformArgs = PlatformArgs()
    files: FileArgs = FileArgs()

    def run(self) -> None:
        """Run the grid and print its tables."""
        load_plugin(self.plugin)
        if self.suite not in SUITES:
            raise unknown_name("suite", self.suite, SUITES)
        suite = SUITES[self.suite]
        for option, text in (("--scenarios", self.scenarios), ("--policies", self.policies)):
            if text and not split(text):
                raise InputError(f"{option} '{text}' names nothing; legal: a comma-separated list")
        names = split(self.scenarios) or ([] if self.traces else list(suite.scenarios))
        if self.files.given and not self.traces:
            raise InputError(f"{self.files.given[0]} belongs to --traces; built-in scenarios have their own")
        sources = [self.platform.apply(name) for name in names]
        sources += [self.files.trace(path, self.platform) for path in self.traces]
        fixed = bool(self.traces) and not names and self.files.fixed
        seeds = (1 if fixed else SEEDS) if self.seeds is None else self.seeds
        if seeds < 1:
            raise InputError(f"seeds = {seeds}; at least one is needed")
        kind = kind_of_world(sources[0].build(self.seed_start))
        policies = tuple(find_policy_of(kind, name) for name in split(self.policies) or suite.policies)
        grid = Grid(
            sources=tuple(sources),
            policies=policies,
            seeds=tuple(range(self.seed_start, self.seed_start + seeds)),
            baseline=self.baseline or usual_baseline(policies, suite.baseline),
        )
        if self.baseline:
            grid.check_baseline()
        untouched = not (self.scenarios or self.traces or self.platform.given)
        with progress_bar() as progress:
            task = progress.add_task("episodes", total=grid.size)
            results = run_grid(grid, self.out, lambda n: progress.advance(task, n), note, os.cpu_count() or 1)
        sweeps = suite.sweeps if untouched else ()
        show_results(results, console(), sweeps)
        if self.out:
            own = bool(self.scenarios and self.policies)
            title = "varigym bench" if own else f"varigym bench {self.suite}"
            write_report(self.out / "report.html", results, title, sweeps)
            console().print(f"rows: {self.out / 'rows.csv'}, report: {self.out / 'report.html'}", markup=False)
