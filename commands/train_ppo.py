"""`varigym train`: improve on an expert, in a folder that is a policy at any time; Ctrl-C and --resume lose nothing."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from rich.progress import TimeRemainingColumn

from ..agents.checkpoints.checkpoint import Checkpoint, load_checkpoint
from ..agents.checkpoints.network_kinds import CLUSTER_SCORER, SERVERLESS_SCORER
from ..agents.checkpoints.policies import load_policy
from ..agents.recipes.options import PpoOptions
from ..bench.grid.experiment import Grid, run_grid
from ..bench.grid.world_kinds import KINDS, find_policy_of, kind_of
from ..bench.report.judgement import Judgement
from ..bench.report.terminal import console, note, progress_bar
from ..envs.cluster.mdp.options import EnvOptions
from ..envs.serverless.mdp.options import ServerlessOptions
from ..scenarios.catalog import find_source
from ..scenarios.errors import InputError
from ..scenarios.seeds import VALIDATION
from .folder_run import TEACHERS, USUAL_SCENARIO, FolderRun, require_learn
from .named import ScenarioOption, Word, one_scenario
from .train_es import TrainEs

if TYPE_CHECKING:
    from ..agents.task import Classroom

BASE = "min-config"
SCORERS = (CLUSTER_SCORER, SERVERLESS_SCORER)
PPO_VALIDATION = 8
"""Validation worlds that PPO's outcome is shown on."""


@dataclass(frozen=True)
class PpoFlags(PpoOptions):
    """How to go about it."""

    def __post_init__(self) -> None:
        """Nothing yet."""


@dataclass(frozen=True)
class TrainPpo(FolderRun):
    """Improve on an expert: a network that scores every action, by masked proximal policy optimisation (--algo ppo)."""

    out: Path
    """Folder of the run: a policy that bench, simulate and evaluate take, state to go on from, TensorBoard in tb/."""
    word: Word = ""
    """Where to learn, as NAME[:KNOB=VALUE...], of either kind. Worlds come from the train seeds. Default: sia-64."""
    scenario: ScenarioOption = ""
    teacher: str = ""
    """Expert that rewards are measured by, and the window's order. Default: gittins+pal+backfill, or esg."""
    algo: Literal["es", "ppo"] = "ppo"
    """Recipe; the options below are those of ppo."""
    init: Path | None = None
    """Checkpoint folder of imitate or train --algo ppo to begin from, in an environment of its options."""
    resume: bool = False
    """Go on where the run in --out was interrupted; all other options as they were."""
    window_s: float = 20.0
    """Serverless: length of an episode in seconds."""
    learning: PpoFlags = PpoFlags()

    def run(self) -> None:
        """Learn, and compare with the teacher on validation worlds."""
        require_learn()
        from ..agents.recipes.ppo import Stage, run_ppo

        source = find_source(one_scenario(self.word, self.scenario, USUAL_SCENARIO))
        init = load_checkpoint(self.init) if self.init else None
        given = asdict(self.learning) | ({"width": init.sizes.get("width", self.learning.width)} if init else {})
        room = classroom(source, self.teacher, init.base if init else "", self.window_s, init)
        options = PpoOptions(**given).for_world(room.is_cluster)
        with self.looked_on(), progress_bar(TimeRemainingColumn()) as bar:
            task = bar.add_task("stages", total=options.stages)

            def report(stage: Stage) -> None:
                told = f"reward {stage.reward:.6f} per decision, {stage.steps_per_s:,.0f} decisions/s"
                bar.update(task, completed=stage.number, description=f"{told}; stages")

            run_ppo(room, options, self.out, self.resume, init, report)
        note(f"wrote {self.out}")
        compare_on_validation(room, self.out, PPO_VALIDATION)


def algorithm(words: Sequence[str]) -> type[TrainEs | TrainPpo]:
    """Whose options `train` has: those of `--algo`."""
    after = dict(pairwise(words))
    return TrainPpo if after.get("--algo") == "ppo" or "--algo=ppo" in words else TrainEs


def classroom(
    source: Any, teacher: str, base: str, window_s: float, init: Checkpoint | None, **options: Any
) -> Classroom:
    """Where an expert of this name, by default the strongest, is learned from; options of `init` where there is one."""
    from ..agents.task import Classroom

    kind = kind_of(source)
    if init is not None:
        if init.network.world != kind.name or init.kind not in SCORERS:
            raise InputError(f"--init holds a {init.kind}; legal: a network that scores actions, for {kind.about}")
        options = dict(init.options)
    expert = find_policy_of(kind, teacher or TEACHERS[kind is not KINDS["cluster"]])
    if kind is KINDS["cluster"]:
        return Classroom(source, expert, find_policy_of(kind, base) if base else expert, EnvOptions(**options))
    return Classroom(source, expert, find_policy_of(kind, base or BASE), ServerlessOptions(**options), window_s)


def compare_on_validation(room: Classroom, out: Path, worlds: int) -> None:
    """Whole episodes of a learner and of its teacher on the same validation worlds."""
    _, policy = load_policy(out)
    seeds = tuple(range(VALIDATION.first, VALIDATION.first + worlds))
    results = run_grid(Grid((room.source,), (policy, room.teacher), seeds, room.teacher.name))
    console().print(*Judgement(results, (policy.name,), (room.teacher.name,)).tables())
    console().print(f"on held-out worlds: varigym evaluate {out}", markup=False)
