"""Compares the recipes, alone and in sequence: cloning, DAgger, PPO, evolution strategies.

Every recipe runs with the same seeds, and every run has its own folder below --out. Then all of them and the teacher
run whole episodes on the same held-out worlds. A rerun continues an interrupted grid. A recipe that starts from another
recipe's result runs that one first. With the defaults it takes about an hour on two cores.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from time import perf_counter

import tyro
import varigym
from rich.console import Console
from varigym.agents.checkpoints.checkpoint import load_checkpoint
from varigym.agents.checkpoints.policies import load_policy
from varigym.agents.learning import LEARNING
from varigym.agents.recipes.dagger import complete_imitation
from varigym.agents.recipes.es_run import complete_es
from varigym.agents.recipes.options import ImitateOptions, PpoOptions
from varigym.agents.recipes.ppo import complete_ppo
from varigym.agents.task import LearningTask
from varigym.bench.grid.experiment import Grid, run_grid
from varigym.bench.grid.provenance import commit
from varigym.bench.grid.world_kinds import kind_of
from varigym.bench.report.judgement import Judgement
from varigym.commands.train_ppo import learning_task
from varigym.scenarios.catalog import find_source
from varigym.scenarios.seeds import HELD_OUT


@dataclass(frozen=True)
class Args:
    """What to run, and on how many worlds to evaluate it."""

    out: Path = Path("runs/recipes")
    """Folder of the grid: one run per recipe and training seed, and the held-out rows in held-out-COMMIT/."""
    scenario: str = "sia-64:restart_s=90"
    """A scenario of either kind of world."""
    teacher: str = ""
    """Expert to learn from. Default: gittins+pal+backfill, or esg."""
    recipes: tuple[str, ...] = ("bc", "dagger", "ppo", "bc+ppo", "dagger+ppo", "es")
    seeds: int = 3
    """Training seeds 0, 1, ... of every recipe."""
    episodes: int = 10
    """Number of train worlds on which the teacher demonstrates, or which it relabels in a round of DAgger."""
    rounds: int = 2
    """Rounds of DAgger."""
    steps: int = 200_000
    """Number of decisions that PPO learns from."""
    stage: int = 0
    """Updates of PPO between two saves; 0: the default of PPO."""
    generations: int = 0
    """Generations of evolution strategies; 0: their default."""
    window_s: float = 20.0
    """Serverless only: length in seconds of an episode of imitation and PPO."""
    worlds_held_out: int = 64


def main(args: Args) -> Judgement:
    """Return what everyone came to on the held-out worlds."""
    task = learning_task(find_source(args.scenario), args.teacher, "", args.window_s, None)
    folders = {name: [trained(args, task, name, seed) for seed in range(args.seeds)] for name in args.recipes}
    policies = {folder: load_policy(folder)[1] for group in folders.values() for folder in group}
    grid = Grid(
        sources=(find_source(args.scenario),),
        policies=(*policies.values(), task.teacher),
        seeds=tuple(range(HELD_OUT.first, HELD_OUT.first + args.worlds_held_out)),
        baseline=task.teacher.name,
    )
    results = run_grid(grid, args.out / f"held-out-{commit()}", note=print)  # separate from rows of other code
    groups = tuple(
        (f"{name}, mean of {args.seeds} training seeds", tuple(policies[folder].name for folder in group))
        for name, group in folders.items()
        if args.seeds > 1
    )
    names = tuple(policy.name for policy in policies.values())
    judged = Judgement(results, names, (task.teacher.name,), groups)
    Console().print(*judged.tables())
    return judged


def trained(args: Args, task: LearningTask, recipe: str, seed: int) -> Path:
    """The folder of a recipe and seed, with a finished run in it: begun, gone on with, or left alone."""
    folder = args.out / f"{recipe}-{seed}"
    clock = perf_counter()
    RECIPES[recipe](args, task, seed, folder)
    print(f"{folder.name}: {perf_counter() - clock:.0f} s", flush=True)
    return folder


def cloned(rounds: bool) -> Callable[[Args, LearningTask, int, Path], object]:
    """Behaviour cloning, with DAgger's rounds or without."""

    def run(args: Args, task: LearningTask, seed: int, folder: Path) -> object:
        options = ImitateOptions(episodes=args.episodes, dagger=args.rounds if rounds else 0, seed=seed)
        return complete_imitation(task, options, folder)

    return run


def improved(begin: str = "") -> Callable[[Args, LearningTask, int, Path], object]:
    """PPO, from nothing or from another recipe's outcome of the same seed."""

    def run(args: Args, task: LearningTask, seed: int, folder: Path) -> object:
        init = load_checkpoint(trained(args, task, begin, seed)) if begin else None
        return complete_ppo(task, PpoOptions(steps=args.steps, stage=args.stage, seed=seed), folder, init)

    return run


def searched(args: Args, task: LearningTask, seed: int, folder: Path) -> object:
    """Evolution strategies from the expert, over whole episodes of a cluster or windows of a platform."""
    source = find_source(args.scenario)
    learning = LEARNING[kind_of(source).name]
    usual = learning.es_options
    options = replace(usual, seed=seed, generations=args.generations or usual.generations)
    return complete_es(learning.search([source], task.teacher, options), folder)


RECIPES: Mapping[str, Callable[[Args, LearningTask, int, Path], object]] = {
    "bc": cloned(rounds=False),
    "dagger": cloned(rounds=True),
    "ppo": improved(),
    "bc+ppo": improved("bc"),
    "dagger+ppo": improved("dagger"),
    "es": searched,
}


if __name__ == "__main__":
    varigym.configure(x64=True)
    main(tyro.cli(Args))
