"""`varigym imitate`: copy an expert, in a folder that is a policy at any time; Ctrl-C and --resume lose nothing."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from .agents.recipes import ImitateOptions
from .agents.trained import load_policy
from .bench.experiment import Grid, run_grid
from .bench.judgement import Judgement
from .bench.kinds import CLUSTER, BenchKind, find_policy_of, kind_of
from .bench.terminal import console, note, progress_bar
from .envs.cluster.options import EnvOptions
from .envs.serverless.options import ServerlessOptions
from .scenarios.catalog import VALIDATION, find_source
from .scenarios.errors import InputError
from .train_command import FolderRun, require_learn

if TYPE_CHECKING:
    from .agents.classroom import Classroom
    from .agents.dagger import Epoch

TEACHERS, BASE = ("gittins+pal+backfill", "esg"), "min-config"


@dataclass(frozen=True)
class ImitateFlags(ImitateOptions):
    """Options as they are given; looked at when the command runs, so that a refusal is one line."""

    def __post_init__(self) -> None:
        """Nothing yet."""


@dataclass(frozen=True)
class Imitate(FolderRun):
    """Copy an expert: masked behaviour cloning, and DAgger with --dagger ROUNDS."""

    out: Path
    """Folder of the run: a policy that bench, simulate and evaluate take, its data, state to go on from, tb/."""
    scenario: str = "sia-64"
    """Where to learn, as NAME[:KNOB=VALUE...], of either kind; worlds are drawn from the train seeds."""
    teacher: str = ""
    """Expert to copy. Default: gittins+pal+backfill, or esg."""
    base: str = ""
    """Policy that orders a cluster's window (default: the teacher); whose opinion a platform shows (min-config)."""
    window_s: float = 20.0
    """Serverless: length of an episode in seconds."""
    decide_every: int = 10
    """Cluster: most rounds between two decisions."""
    resume: bool = False
    """Go on where the run in --out was interrupted; all other options as they were."""
    data: Path | None = None
    """Data set to copy from, as --save-data wrote it, instead of new episodes of the teacher."""
    save_data: Path | None = None
    """Write the data set to this .npz file at the end, too."""
    options: ImitateFlags = ImitateFlags()

    def run(self) -> None:
        """Record, imitate, and compare with the teacher on validation worlds."""
        require_learn()
        from .agents.dagger import DATA, run_imitation
        from .agents.dataset import load_dataset

        options = ImitateOptions(**asdict(self.options))
        source = find_source(self.scenario)
        kind = kind_of(source)
        if self.save_data and self.save_data.exists():
            raise InputError(f"{self.save_data} exists already; choose another --save-data")
        room = self._room(kind, source)
        data = load_dataset(self.data) if self.data else None
        with _shown((options.dagger + 1) * options.epochs) as report:
            run_imitation(room, options, self.out, self.resume, data, report)
        note(f"wrote {self.out}")
        if self.save_data:
            self.save_data.write_bytes((self.out / DATA).read_bytes())
            note(f"wrote {self.save_data}")
        self._compare(room, options.validation_worlds)

    def _room(self, kind: BenchKind, source: Any) -> Classroom:
        from .agents.classroom import Classroom

        is_cluster = kind is CLUSTER
        teacher = find_policy_of(kind, self.teacher or TEACHERS[kind is not CLUSTER])
        base = teacher if is_cluster and not self.base else find_policy_of(kind, self.base or BASE)
        if is_cluster:
            return Classroom(source, teacher, base, EnvOptions(decide_every=self.decide_every))
        return Classroom(source, teacher, base, ServerlessOptions(), self.window_s)

    def _compare(self, room: Classroom, worlds: int) -> None:
        """Whole episodes of the learner and of its teacher on the same validation worlds."""
        _, policy = load_policy(self.out)
        seeds = tuple(range(VALIDATION.first, VALIDATION.first + worlds))
        results = run_grid(Grid((room.source,), (policy, room.teacher), seeds, room.teacher.name))
        console().print(*Judgement(results, (policy.name,), (room.teacher.name,)).tables())
        console().print(f"on held-out worlds: varigym evaluate {self.out}", markup=False)


@contextmanager
def _shown(epochs: int) -> Iterator[Any]:
    """A bar that follows the epochs; the last one of a round is written out."""
    with progress_bar() as bar:
        task = bar.add_task("recording", total=epochs)

        def report(epoch: Epoch) -> None:
            told = f"loss {epoch.loss:.4f}, agreement {epoch.agreement:.2%}"
            bar.update(task, completed=epoch.number, description=f"{told}; epochs")
            if epoch.last:
                note(f"round {epoch.round}, {epoch.steps:,} steps, {epoch.number} epochs so far: {told}")

        yield report
