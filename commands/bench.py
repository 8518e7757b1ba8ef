"""`varigym bench`: a grid of scenarios, policies and seeds."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

from tyro.conf import Positional, arg

from ..bench.grid.experiment import Grid, usual_baseline
from ..bench.grid.suite import SEEDS, Suite
from ..bench.grid.world_kinds import KINDS, SUITES, find_policy_of, kind_of_world
from ..bench.report.html import write_report
from ..bench.report.tables import show_results
from ..bench.report.terminal import console
from ..scenarios.catalog import SCENARIOS
from ..scenarios.errors import InputError
from ..scenarios.knobs import base_name
from ..scenarios.seeds import HELD_OUT
from .arguments import FileArgs, PlatformArgs
from .grid_run import run_shown
from .named import PoliciesOption, ScenariosOption, TracesOption, items, scenarios_of, suite_or_scenarios
from .plugins import PluginOption

USUAL_WORLD = "cluster"


@dataclass(frozen=True)
class Bench:
    """Run a grid of scenarios x policies x seeds and print paired comparisons."""

    words: Annotated[Positional[tuple[str, ...]], arg(metavar="[SUITE | SCENARIO ...]")] = ()
    """A suite: quick (the default), pal, variability, esg, esg-fair, esg-ablation, esg-sensitivity, esg-orion or
    esg-cold; or scenarios, as NAME[:KNOB=VALUE...] (see list)."""
    scenarios: Annotated[ScenariosOption, arg(help="Scenarios, as an option; those of a suite are left out.")] = None
    policies: PoliciesOption = None
    """Policies that replace the suite's, separated by commas or spaces."""
    baseline: str = ""
    """Policy that the others are compared with; it must be among those run. ORDER stands for each policy's own order.
    Default: the suite's, or the first of --policies if that one is not among them."""
    seeds: int | None = None
    """Number of seeds. Default: 10; 1 if the files leave nothing random."""
    seed_start: int = HELD_OUT.first
    """First seed. Held-out seeds start at 200000."""
    out: Path | None = None
    """Folder for rows.csv and report.html; a rerun with the same folder continues an interrupted run."""
    traces: TracesOption = ()
    """Trace files (CSV as for simulate --trace) instead of the suite's scenarios."""
    plugin: PluginOption = None
    platform: PlatformArgs = PlatformArgs()
    files: FileArgs = FileArgs()

    def run(self) -> None:
        """Run the grid and print its tables."""
        name, named = suite_or_scenarios(self.words)
        named = scenarios_of(named, self.scenarios)
        suite = SUITES[name] if name else self._usual_suite(named)
        grid = self._grid(suite, named)
        results = run_shown(grid, self.out)
        sweeps = () if named or self.traces or self.platform.given else suite.sweeps
        show_results(results, console(), sweeps)
        if self.out:
            title = " ".join(["varigym bench", *([name] if name else named)])
            write_report(self.out / "report.html", results, title, sweeps)
            console().print(f"rows: {self.out / 'rows.csv'}, report: {self.out / 'report.html'}", markup=False)

    def _grid(self, suite: Suite, named: list[str]) -> Grid:
        """Make the grid: the suite, with given options in place of its parts. Raises `InputError`."""
        sources, seeds = self._sources(suite, named), self._seeds(named)
        kind = kind_of_world(sources[0].build(self.seed_start))
        asked = items("policies", self.policies) or suite.policies
        policies = tuple(find_policy_of(kind, policy) for policy in asked)
        baseline = self.baseline or usual_baseline(kind, policies, suite.baseline)
        grid = Grid(tuple(sources), policies, tuple(range(self.seed_start, self.seed_start + seeds)), baseline)
        if self.baseline:
            grid.check_baseline()
        return grid

    def _usual_suite(self, named: list[str]) -> Suite:
        """Return the first suite of the named scenarios' kind of world; its policies are run unless others are."""
        world = SCENARIOS.find(base_name(named[0])).world if named else USUAL_WORLD
        return next(iter(KINDS.find(world).suites.values()))

    def _sources(self, suite: Suite, named: list[str]) -> list[Any]:
        """Return the sources: scenarios, then traces."""
        if self.files.given and not self.traces:
            raise InputError(f"{self.files.given[0]} belongs to --traces; built-in scenarios have their own")
        names = named or ([] if self.traces else suite.scenarios)
        made = [self.platform.apply(name) for name in names]
        return made + [self.files.trace(path, self.platform) for path in self.traces]

    def _seeds(self, named: list[str]) -> int:
        """Return the number of seeds."""
        fixed = bool(self.traces) and not named and self.files.fixed
        seeds = (1 if fixed else SEEDS) if self.seeds is None else self.seeds
        if seeds < 1:
            raise InputError(f"seeds = {seeds}; at least one is needed")
        return seeds
