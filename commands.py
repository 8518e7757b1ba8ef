"""The `varigym` command: arguments in, tables out; every refusal is one line and exit code 2."""

from __future__ import annotations

import importlib.util
import json
import os
import sys
import threading
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, Union

import tyro
from rich.table import Table
from tyro.conf import Positional, subcommand

from .arguments import FileArgs, PlatformArgs, one_source, split
from .bench.experiment import Grid, run_grid, usual_baseline
from .bench.html import write_report
from .bench.kinds import KINDS, BenchKind, find_policy_of, kind_of_world, metrics_of
from .bench.outputs import refuse_unwritable, write_text
from .bench.perf import as_json, machine, measure
from .bench.provenance import add_plugin
from .bench.report import record_table, show_results
from .bench.simulate import build_worlds, plan_ahead, run_policy
from .bench.suites import SEEDS, SUITES
from .bench.terminal import console, note, progress_bar
from .es_command import TrainEs
from .evaluate_command import Evaluate
from .imitate_command import Imitate
from .interrupts import INTERRUPTED
from .listing import show_catalogs
from .run_command import FolderRun
from .scenarios.catalog import HELD_OUT
from .scenarios.errors import InputError, unknown_name
from .settings import configure
from .train_command import TrainPpo, algorithm

REFUSED = 2


@dataclass(frozen=True)
class List:
    """Show scenarios, policies and the information they use, metrics with definitions, suites and seeds."""

    def run(self) -> None:
        """Print the catalogs."""
        show_catalogs(console())


@dataclass(frozen=True)
class Simulate:
    """Run one scenario, built in or from files, under one policy and print its metrics."""

    scenario: Positional[str] = ""
    """Built-in scenario, as NAME[:KNOB=VALUE...] (see varigym list). Default: sia-64, unless --trace is given."""
    policy: str | None = None
    """A policy for that kind of world (see varigym list). Default: pal for a cluster, esg for a serverless platform."""
    seed: int = 0
    """Seed of the world and of policies that draw lots."""
    trace: Path | None = None
    """CSV job_id,num_gpus,submit_time,duration,model[,batch_size], instead of a built-in scenario."""
    jobs_out: Path | None = None
    """Cluster: write one row per tracked job to this CSV."""
    requests_out: Path | None = None
    """Serverless: write one row per counted request to this CSV."""
    plugin: Path | None = None
    """Python file of your own to import first (it may add placements)."""
    platform: PlatformArgs = PlatformArgs()
    files: FileArgs = FileArgs()

    def run(self) -> None:
        """Simulate, print, write."""
        _load_plugin(self.plugin)
        source = one_source(self.scenario, self.trace, self.platform, self.files)
        (world,) = build_worlds(source, [self.seed])
        kind = kind_of_world(world)
        path = self._rows_out(kind)
        policy = find_policy_of(kind, kind.usual_policy if self.policy is None else self.policy)
        plan_ahead(policy, [world], os.cpu_count() or 1, note)
        (record,) = run_policy(source, policy, [self.seed], [world])
        note(*dict.fromkeys([*getattr(source, "remarks", []), *getattr(world, "remarks", [])]))
        console().print(record_table(record, policy))
        if count := int(metrics_of(record)["unfinished"]):
            note(*filter(None, [kind.unfinished_note(count)]))
        if path:
            write_text(path, kind.rows(record))
            note(f"wrote {path}")

    def _rows_out(self, kind: BenchKind) -> Path | None:
        """The file for rows, if one is asked for. Raises `InputError` for the other kind's option."""
        for other in KINDS:
            path: Path | None = getattr(self, other.rows_option.removeprefix("--").replace("-", "_"))
            if path and other is not kind:
                legal = f"legal for {kind.about}: {kind.rows_option}"
                raise InputError(f"{other.rows_option} belongs to {other.about}; {legal}")
            refuse_unwritable(path)
        return self.jobs_out or self.requests_out


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
        _load_plugin(self.plugin)
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


@dataclass(frozen=True)
class Perf:
    """Measure how fast the simulator is on this machine, beside a fixed NumPy yardstick."""

    quick: bool = False
    """Shorter stretches; less steady figures."""
    json: Path | None = None
    """Write the readings and machine facts to this file."""
    trace: Path | None = None
    """Measure a cluster on this trace, and nothing else, instead of the built-in worlds of both kinds."""
    platform: PlatformArgs = PlatformArgs()
    files: FileArgs = FileArgs()

    def run(self) -> None:
        """Measure, print, write."""
        refuse_unwritable(self.json)
        source = one_source("", self.trace, self.platform, self.files)
        readings = measure(source, self.quick, serverless=self.trace is None)
        table = Table("name", "value", "unit")
        for reading in readings:
            shown = f"{reading.value:.3f}" if reading.value < 1 else f"{reading.value:,.1f}"
            table.add_row(reading.name, shown, reading.unit)
        console().print(table)
        console().print(", ".join(f"{key}: {value}" for key, value in machine().items()))
        if self.json:
            write_text(self.json, json.dumps(as_json(readings), indent=1) + "\n")


Command = List | Simulate | Bench | Perf | Imitate | TrainEs | TrainPpo | Evaluate


def _commands(words: Sequence[str]) -> Any:
    """All of them by name; the options of `train` are those of its algorithm."""
    kinds: dict[str, Any] = {"list": List, "simulate": Simulate, "bench": Bench, "perf": Perf}
    kinds |= {"imitate": Imitate, "train": algorithm(words), "evaluate": Evaluate}
    return Union[tuple(Annotated[kind, subcommand(name)] for name, kind in kinds.items())]  # noqa: UP007


def read_command(argv: Sequence[str] | None) -> Command:
    """The command that the words (default: the process's own) ask for; leaves where they ask for none."""
    configure(x64=True)
    config = (tyro.conf.OmitArgPrefixes, tyro.conf.FlagCreatePairsOff, tyro.conf.EnumChoicesFromValues)
    return tyro.cli(
        _commands(sys.argv[1:] if argv is None else argv), prog="varigym", description=__doc__, args=argv, config=config
    )


def run_command(command: Command) -> int:
    """Run it and return the exit code; a refusal or Ctrl-C is said in one line."""
    try:
        command.run()
    except InputError as error:
        console(stderr=True).print(f"error: {error}", style="red", markup=False)
        return REFUSED
    except KeyboardInterrupt:
        console(stderr=True).print(f"interrupted; {_kept(command)}", markup=False)
        if threading.active_count() > 1:  # an episode still runs in a thread that Python would wait for
            sys.stdout.flush()
            os._exit(INTERRUPTED)
        return INTERRUPTED
    return 0


def _kept(command: Command) -> str:
    """What an interrupted command leaves behind, and how to go on."""
    if isinstance(command, FolderRun):
        return command.kept()
    out: Path | None = getattr(command, "out", None)
    return f"finished rows are in {out / 'rows.csv'}; the same command continues" if out else "nothing was written"


def _load_plugin(path: Path | None) -> None:
    if path is None:
        return
    spec = importlib.util.spec_from_file_location(path.stem, path)
    if spec is None or spec.loader is None or not path.is_file():
        raise InputError(f"{path}: not a Python file")
    add_plugin(path.name, path.read_bytes())
    try:
        spec.loader.exec_module(importlib.util.module_from_spec(spec))
    except InputError:
        raise
    except Exception as error:  # whatever a stranger's file may raise
        raise InputError(f"{path}: {type(error).__name__}: {error}") from None
