"""Ablation of the learned index: variants without some of its parts, trained and evaluated in the same way.

Every variant is trained with the same seeds, and every run has its own folder below --out. Then all variants run on the
same held-out worlds. A rerun continues an interrupted grid. A training run takes about a minute on two cores.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from time import perf_counter
from typing import Any

import numpy as np
import tyro
import varigym
from numpy.typing import NDArray
from rich.console import Console
from rich.table import Table
from varigym.agents.checkpoints.policies import load_policy
from varigym.agents.cluster.es_run import IndexRun
from varigym.agents.recipes.es import EsOptions
from varigym.agents.recipes.es_run import complete_es
from varigym.bench.grid.columns import pairs, with_bounds
from varigym.bench.grid.experiment import Grid, Results, run_grid
from varigym.bench.grid.intervals import spread_interval
from varigym.bench.grid.provenance import commit
from varigym.scenarios.seeds import HELD_OUT

FULL = "full"
VARIANTS: Mapping[str, Mapping[str, Any]] = {
    FULL: {},
    "order-only": {"frozen": ("keep",)},
    "keep-only": {"frozen": ("order",)},
    "no-size": {"frozen": ("size",)},
    "no-age": {"frozen": ("age",)},
    "no-outlook": {"frozen": ("outlook",)},
    "no-queue": {"frozen": ("queue",)},
    "no-speed": {"frozen": ("speed",)},
    "no-running": {"frozen": ("running", "speed")},  # the speed of a gang also reveals that it runs
    "hidden-2": {"hidden": 2},
}
"""Name -> changes to the run of `varigym train`; `agents/cluster/index_parts.py` defines the parts."""


@dataclass(frozen=True)
class Args:
    """What to train, and on how many worlds to evaluate it."""

    out: Path = Path("runs/ablation")
    """Folder of the grid: one run per variant and training seed, and the held-out rows in held-out-COMMIT/."""
    scenario: str = "sia-64:restart_s=90"
    teacher: str = "gittins+pal+backfill"
    variants: tuple[str, ...] = tuple(VARIANTS)
    seeds: int = 3
    """Training seeds 0, 1, ... of every variant."""
    generations: int = 50
    pairs: int = 12
    worlds: int = 8
    """Number of worlds per generation."""
    worlds_held_out: int = 64
    worlds_validation: int = 64


def main(args: Args) -> dict[str, NDArray[np.float64]]:
    """Return each variant's geometric mean over worlds of (mean JCT / the teacher's), one per training seed."""
    folders = {
        variant: [trained(args, variant, seed, args.out / f"{variant}-{seed}") for seed in range(args.seeds)]
        for variant in args.variants
    }
    policies = {folder: load_policy(folder)[1] for group in folders.values() for folder in group}
    teacher = varigym.find_policy(args.teacher)
    grid = Grid(
        sources=(varigym.find_source(args.scenario),),
        policies=(teacher, *policies.values()),
        seeds=tuple(range(HELD_OUT.first, HELD_OUT.first + args.worlds_held_out)),
        baseline=teacher.name,
    )
    results = run_grid(grid, args.out / f"held-out-{commit()}", note=print)  # separate from rows of other code
    logs = {
        variant: np.array([log_ratio(results, policies[folder].name, teacher.name) for folder in group])
        for variant, group in folders.items()
    }
    Console().print(table(args, logs))
    return {variant: np.exp(found) for variant, found in logs.items()}


def trained(args: Args, variant: str, seed: int, folder: Path) -> Path:
    """Return the folder after its run has finished: the run is started, continued, or already done."""
    options = EsOptions(generations=args.generations, pairs=args.pairs, worlds=args.worlds, seed=seed)
    source, teacher = varigym.find_source(args.scenario), varigym.find_policy(args.teacher)
    run = IndexRun(source, teacher, options, validation_worlds=args.worlds_validation, **VARIANTS[variant])
    clock = perf_counter()
    notes = complete_es(run, folder).training.notes
    told = f"{notes['validation_ratio']:.4f} of the teacher's mean JCT on validation worlds"
    print(f"{folder.name}: {told} ({perf_counter() - clock:.0f} s)", flush=True)
    return folder


def log_ratio(results: Results, policy: str, teacher: str) -> float:
    """Return the mean over worlds of log(mean JCT / the teacher's on the same world)."""
    values, base = pairs(results, [results.grid.sources[0].name], policy, teacher, "mean_jct_s")
    return float(np.log(values / base).mean())


def table(args: Args, logs: Mapping[str, NDArray[np.float64]]) -> Table:
    """Make the table of means over the training seeds, with intervals, also relative to the full index by seed."""
    about = f"{args.scenario}, {args.seeds} training seeds, {args.worlds_held_out} held-out worlds"
    shown = Table(title=f"{about}; [95 %] over training seeds (Student's t)".replace("[", r"\["), title_justify="left")
    shown.add_column("variant")
    shown.add_column(f"mean JCT over {args.teacher}'s", justify="right")
    shown.add_column(f"over {FULL}'s, same seed", justify="right")
    for variant, found in logs.items():
        against = found - logs[FULL] if FULL in logs and variant != FULL else None
        cells = [with_bounds(spread_interval(log).exp(), 4) if log is not None else "" for log in (found, against)]
        shown.add_row(variant, *(cell.replace("[", r"\[") for cell in cells))
    return shown


if __name__ == "__main__":
    varigym.configure(x64=True)
    main(tyro.cli(Args))
