"""`varigym evaluate`: what was learned against the experts, on worlds that nothing was trained or chosen on."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

from tyro.conf import Positional, arg

from ..agents.checkpoints.checkpoint import WEIGHTS, Checkpoint, load_checkpoint
from ..agents.checkpoints.policies import load_policy
from ..bench.grid.experiment import Grid
from ..bench.grid.world_kinds import KINDS, BenchKind, find_policy_of
from ..bench.report.html import write_report
from ..bench.report.judgement import Judgement, seed_groups
from ..bench.report.tables import remarks
from ..bench.report.terminal import console, note
from ..scenarios.catalog import find_source
from ..scenarios.errors import InputError
from ..scenarios.seeds import HELD_OUT
from .grid_run import run_shown
from .named import ScenariosOption, is_scenario, items, scenarios_of
from .plugins import PluginOption

SEEDS = 64


@dataclass(frozen=True)
class Evaluate:
    """Compare checkpoints with experts on held-out worlds, paired by seed."""

    words: Annotated[Positional[tuple[str, ...]], arg(metavar="CHECKPOINT ... [SCENARIO ...]")]
    """Checkpoint folders (of those whose training differs in the seed alone, the mean over them is shown too), and
    scenarios, by default those that were trained on. A word that names a scenario is no folder; ./NAME is."""
    scenarios: ScenariosOption = None
    seeds: int = SEEDS
    """Number of worlds; 256 or more for a claim."""
    seed_start: int = HELD_OUT.first
    """First seed. Held-out seeds start at 200000."""
    against: Annotated[tuple[str, ...] | None, arg(metavar="POLICY ...")] = None
    """Experts. Default: gittins+pal+backfill and las-2d+pal+backfill, or esg; and the teachers."""
    plugin: PluginOption = None
    out: Path | None = None
    """Folder for rows.csv and report.html; a rerun with the same folder continues where it stopped."""

    def run(self) -> None:
        """Run everyone on the same worlds and print the tables."""
        folders = [Path(word) for word in self.words if not is_scenario(word)]
        if not folders:
            raise InputError("no checkpoint to evaluate; at least one folder is needed")
        if self.out and (self.out / WEIGHTS).exists():
            raise InputError(f"{self.out} holds a checkpoint; choose another --out for what it comes to")
        if self.seeds < 1:
            raise InputError(f"seeds = {self.seeds}; at least one is needed")
        kind, learners, stored = _read(folders)
        experts = tuple(find_policy_of(kind, name) for name in self._experts(kind, stored))
        grid = Grid(
            sources=tuple(find_source(name) for name in self._scenarios(stored)),
            policies=(*learners, *experts),
            seeds=tuple(range(self.seed_start, self.seed_start + self.seeds)),
            baseline=experts[0].name,
        )
        results = run_shown(grid, self.out)
        names = [policy.name for policy in learners]
        groups = seed_groups(list(zip(names, stored, strict=True)))
        shown = Judgement(results, tuple(names), tuple(expert.name for expert in experts), groups)
        tables = shown.tables()
        console().print(*tables, sep="\n")
        note(*remarks(results))
        if self.seed_start < HELD_OUT.first:
            note(f"seeds below {HELD_OUT.first:,} are not held out: learners were trained or chosen on such worlds")
        console().print("intervals: bootstrap over worlds; of a mean of learners: over them (Student's t)", style="dim")
        if self.out:
            write_report(self.out / "report.html", results, "varigym evaluate", first=tables)
            console().print(f"rows: {self.out / 'rows.csv'}, report: {self.out / 'report.html'}", markup=False)

    def _scenarios(self, stored: Sequence[Checkpoint]) -> list[str]:
        trained = [name for checkpoint in stored for name in checkpoint.training.scenarios]
        named = [word for word in self.words if is_scenario(word)]
        names = scenarios_of(named, self.scenarios) or list(dict.fromkeys(trained))
        if not names:
            raise InputError("the checkpoints do not say what they were trained on; name scenarios")
        return names

    def _experts(self, kind: BenchKind, stored: Sequence[Checkpoint]) -> list[str]:
        teachers = [checkpoint.training.teacher for checkpoint in stored if checkpoint.training.teacher]
        return items("against", self.against) or list(dict.fromkeys([*kind.experts, *teachers]))


def _read(folders: Sequence[Path]) -> tuple[BenchKind, list[Any], list[Checkpoint]]:
    """(kind of world, policies, checkpoints). Raises `InputError` where they are of both worlds."""
    stored = [load_checkpoint(folder) for folder in folders]
    found = [load_policy(folder) for folder in folders]
    for folder, (world, _) in zip(folders, found, strict=True):
        if world != found[0][0]:
            first = f"{folders[0]} is for a {found[0][0]} world"
            raise InputError(f"{first}, {folder} for a {world} one; evaluate one kind at a time")
    return KINDS.find(found[0][0]), [policy for _, policy in found], stored
