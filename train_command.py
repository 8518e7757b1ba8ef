"""`varigym train`: improve on an expert, in a folder that is a policy at any time; Ctrl-C and --resume lose nothing."""

from __future__ import annotations

import math
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from rich.progress import TimeRemainingColumn

from .agents.es import EsOptions
from .agents.run_folder import STATE
from .agents.trained import load_policy
from .bench.kinds import CLUSTER, find_policy_of, kind_of
from .bench.terminal import console, note, progress_bar
from .policies.cluster.index_net import HIDDEN, LearnedIndex
from .scenarios.catalog import find_source
from .scenarios.errors import InputError

if TYPE_CHECKING:
    from .agents.es import Generation

LEARN = ("torch", "tensorboard", "safetensors")
"""What learners need beside the package itself."""


class FolderRun:
    """A command that trains in a folder `out`."""

    out: Path

    def kept(self) -> str:
        """What an interrupt leaves behind."""
        if not (self.out / STATE).exists():
            return "nothing was written"
        return f"{self.out} holds what was learned; the same command with --resume goes on"


@dataclass(frozen=True)
class EsFlags(EsOptions):
    """Options as they are given; looked at when the command runs, so that a refusal is one line."""

    def __post_init__(self) -> None:
        """Nothing yet."""


@dataclass(frozen=True)
class TrainEs(FolderRun):
    """Improve on an expert: a learned index over a cluster's order, by evolution strategies (--algo es)."""

    out: Path
    """Folder of the run: a policy that bench, simulate and evaluate take, state to go on from, TensorBoard in tb/."""
    scenario: str = "sia-64"
    """Where to learn, as NAME[:KNOB=VALUE...]; worlds are drawn from the train seeds."""
    teacher: str = "gittins+pal+backfill"
    """Expert to begin with and to improve on."""
    algo: Literal["es"] = "es"
    """Recipe; its options are those below."""
    init: Path | None = None
    """Checkpoint folder to begin from instead of the expert as it is."""
    resume: bool = False
    """Go on where the run in --out was interrupted; all other options as they were."""
    hidden: int | None = None
    """Hidden units of the network. Default: 16, or those of --init."""
    validation_worlds: int = 64
    """Validation worlds that are looked at."""
    options: EsFlags = EsFlags()

    def run(self) -> None:
        """Search, and say what came out."""
        from .agents.es_run import IndexRun, run_es

        require_learn()
        options = EsOptions(**asdict(self.options))
        init = self._init()
        usual = init.weights["b1"].size if init else HIDDEN
        hidden = usual if self.hidden is None else self.hidden
        source = cluster_source(self.scenario, "es trains the index of a training cluster")
        expert = find_policy_of(CLUSTER, self.teacher)
        run = IndexRun(source, expert, options, hidden, self.validation_worlds, init)
        with _shown(options.generations, self.teacher) as watch:
            made = run_es(run, self.out, self.resume, watch)
        note(f"wrote {self.out}")
        found = made.training.notes
        error = (
            f" (standard error {found['validation_log_ratio_se']:.4f})" if "validation_log_ratio_se" in found else ""
        )
        console().print(
            f"mean JCT {found['validation_ratio']:.4f} of {self.teacher}'s on {self.validation_worlds} validation "
            f"worlds{error}; on held-out ones: varigym evaluate {self.out}",
            markup=False,
        )

    def _init(self) -> LearnedIndex | None:
        if self.init is None:
            return None
        _, policy = load_policy(self.init)
        if not isinstance(policy, LearnedIndex):
            raise InputError(f"--init {self.init} is no learned index; legal for es: a checkpoint of train --algo es")
        return policy


def cluster_source(scenario: str, why: str) -> Any:
    """A cluster whose worlds differ by seed. Raises `InputError`."""
    source = find_source(scenario)
    if kind_of(source) is not CLUSTER:
        raise InputError(f"scenario '{scenario}' is {kind_of(source).about}; {why}")
    if not hasattr(source, "bins"):
        raise InputError(f"scenario '{scenario}' is the same world for every seed; nothing is learned from it")
    return source


def require_learn() -> None:
    """Raises `InputError` where what learners need is not installed."""
    for name in LEARN:
        if find_spec(name) is None:
            raise InputError(f"learning needs {name}; install it with: pip install 'varigym[learn]'")


@contextmanager
def _shown(generations: int, teacher: str) -> Iterator[Any]:
    """A bar that follows the generations; what validation worlds say is written out."""
    with progress_bar(TimeRemainingColumn()) as bar:
        task = bar.add_task("generations", total=generations)

        def watch(generation: Generation) -> None:
            done, fitness = generation.state.generation, math.exp(generation.fitness.mean())
            bar.update(task, completed=done, description=f"members {fitness:.3f} of {teacher}'s JCT; generations")
            if (found := generation.validation) and done < generations:
                note(f"generation {done}: mean JCT {found['ratio']:.4f} of {teacher}'s on validation worlds")

        yield watch
