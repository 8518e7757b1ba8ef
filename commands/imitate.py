"""`varigym imitate`: copy an expert, in a folder that is a policy at any time; Ctrl-C and --resume lose nothing."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ..agents.recipes.options import ImitateOptions
from ..bench.grid.world_kinds import kind_of
from ..bench.report.outputs import refuse_unwritable
from ..bench.report.terminal import note, progress_bar
from ..scenarios.catalog import find_source
from ..scenarios.errors import InputError
from .folder_run import USUAL_SCENARIO, FolderRun, require_learn
from .named import ScenarioOption, Word, one_scenario
from .plugins import PluginOption
from .train_ppo import compare_on_validation, learning_task

if TYPE_CHECKING:
    from ..agents.recipes.dagger import Epoch


@dataclass(frozen=True)
class ImitateFlags(ImitateOptions):
    """How to go about it."""

    def __post_init__(self) -> None:
        """Nothing yet."""


@dataclass(frozen=True)
class Imitate(FolderRun):
    """Copy an expert: masked behaviour cloning, and DAgger with --dagger ROUNDS."""

    out: Path
    """Folder of the run: a policy that bench, simulate and evaluate take, its data, state to go on from, tb/."""
    word: Word = ""
    """Where to learn, as NAME[:KNOB=VALUE...], of either kind. Worlds come from the train seeds. Default: sia-64."""
    scenario: ScenarioOption = ""
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
    """Data set to copy from, as --data-out wrote it, instead of new episodes of the teacher."""
    data_out: Path | None = None
    """Write the data set to this .npz file at the end, too."""
    minari: str = ""
    """Hand the data set to Minari under this name, NAMESPACE/NAME-v0, at the end; it needs every step (see --most)."""
    plugin: PluginOption = None
    learning: ImitateFlags = ImitateFlags()

    def run(self) -> None:
        """Record, imitate, and compare with the teacher on validation worlds."""
        require_learn()
        from ..agents.data.dataset_file import load_dataset
        from ..agents.data.minari_export import episodes_of, export_minari
        from ..agents.learning import LEARNING
        from ..agents.recipes.dagger import DATA, run_imitation

        options = ImitateOptions(**asdict(self.learning))
        source = find_source(one_scenario(self.word, self.scenario, USUAL_SCENARIO))
        if self.data_out and self.data_out.exists():
            raise InputError(f"{self.data_out} exists already; choose another --data-out")
        refuse_unwritable(self.data_out)
        if self.minari:
            self._check_minari(options)
        options_of = LEARNING.find(kind_of(source).name).options
        own = {"decide_every": self.decide_every} if hasattr(options_of, "decide_every") else {}
        task = learning_task(source, self.teacher, self.base, self.window_s, None, **own)
        data = load_dataset(self.data) if self.data else None
        if self.minari and data is not None:
            episodes_of(data)
        with self.looked_on(), _shown((options.dagger + 1) * options.epochs) as report:
            run_imitation(task, options, self.out, self.resume, data, report, bool(self.minari))
        note(f"wrote {self.out}")
        if self.data_out:
            self.data_out.write_bytes((self.out / DATA).read_bytes())
            note(f"wrote {self.data_out}")
        compare_on_validation(task, self.out, options.validation_worlds)
        if self.minari:
            made = export_minari(load_dataset(self.out / DATA), self.minari)
            note(f"wrote {made.storage.data_path.parent}; minari.load_dataset('{self.minari}') reads it")

    def _check_minari(self, options: ImitateOptions) -> None:
        """Raises `InputError` for what is known before anything is recorded."""
        from ..agents.data.minari_export import check_minari_id

        if options.dagger:
            raise InputError("--minari needs episodes that the teacher acted in; legal: --dagger 0")
        check_minari_id(self.minari)


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
