"""`varigym train`: improve on an expert, in a folder that is a policy at any time; Ctrl-C and --resume lose nothing."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rich.progress import TimeRemainingColumn

from ..agents.checkpoints.checkpoint import Checkpoint, load_checkpoint
from ..agents.checkpoints.policies import load_policy
from ..agents.recipes.options import PpoOptions
from ..bench.grid.experiment import Grid, run_grid
from ..bench.grid.world_kinds import find_policy_of, kind_of
from ..bench.report.judgement import Judgement
from ..bench.report.terminal import console, note, progress_bar
from ..scenarios.catalog import find_source
from ..scenarios.errors import InputError
from ..scenarios.seeds import VALIDATION
from .folder_run import USUAL_SCENARIO, FolderRun, require_learn
from .named import ScenarioOption, Word, one_scenario
from .plugins import PluginOption

if TYPE_CHECKING:
    from ..agents.task import LearningTask

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
    algo: str = "ppo"
    """Recipe; the options below are those of ppo."""
    init: Path | None = None
    """Checkpoint folder of imitate or train --algo ppo to begin from, in an environment of its options."""
    resume: bool = False
    """Go on where the run in --out was interrupted; all other options as they were."""
    window_s: float = 20.0
    """Serverless: length of an episode in seconds."""
    plugin: PluginOption = None
    learning: PpoFlags = PpoFlags()

    def run(self) -> None:
        """Learn, and compare with the teacher on validation worlds."""
        require_learn()
        from ..agents.recipes.ppo import Stage, run_ppo

        source = find_source(one_scenario(self.word, self.scenario, USUAL_SCENARIO))
        init = load_checkpoint(self.init) if self.init else None
        given = asdict(self.learning) | ({"width": init.sizes.get("width", self.learning.width)} if init else {})
        task = learning_task(source, self.teacher, init.base if init else "", self.window_s, init)
        options = PpoOptions(**given).staged(task.stage)
        with self.looked_on(), progress_bar(TimeRemainingColumn()) as bar:
            stages = bar.add_task("stages", total=options.stages)

            def report(stage: Stage) -> None:
                told = f"reward {stage.reward:.6f} per decision, {stage.steps_per_s:,.0f} decisions/s"
                bar.update(stages, completed=stage.number, description=f"{told}; stages")

            run_ppo(task, options, self.out, self.resume, init, report)
        note(f"wrote {self.out}")
        compare_on_validation(task, self.out, PPO_VALIDATION)


def learning_task(
    source: Any, teacher: str, base: str, window_s: float, init: Checkpoint | None, **options: Any
) -> LearningTask:
    """What an expert of this name, by default the strongest, is learned from; options of `init` where there is one."""
    from ..agents.learning import LEARNING

    kind = kind_of(source)
    learning = LEARNING.find(kind.name)
    if init is not None:
        if init.kind != learning.scorer:
            raise InputError(f"--init holds a {init.kind}; legal: a network that scores actions, for {kind.about}")
        options = dict(init.options)
    expert, shown = find_policy_of(kind, teacher or kind.experts[0]), base or learning.base
    return learning.task(source, expert, find_policy_of(kind, shown) if shown else None, options, window_s)


def compare_on_validation(task: LearningTask, out: Path, worlds: int) -> None:
    """Whole episodes of a learner and of its teacher on the same validation worlds."""
    _, policy = load_policy(out)
    seeds = tuple(range(VALIDATION.first, VALIDATION.first + worlds))
    results = run_grid(Grid((task.source,), (policy, task.teacher), seeds, task.teacher.name))
    console().print(*Judgement(results, (policy.name,), (task.teacher.name,)).tables())
    console().print(f"on held-out worlds: varigym evaluate {out}", markup=False)
