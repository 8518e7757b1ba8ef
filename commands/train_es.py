"""`varigym train --algo es`: evolution strategies, for the order of a cluster or the knobs of ESG."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, TypeVar

from rich.progress import TimeRemainingColumn

from ..agents.es import EsOptions
from ..agents.trained import load_policy
from ..bench.kinds import CLUSTER, find_policy_of, kind_of
from ..bench.terminal import console, note, progress_bar
from ..policies.cluster.index_net import LearnedIndex
from ..policies.serverless.esg import Esg
from ..policies.serverless.learned_esg import LearnedEsg
from ..scenarios.catalog import find_source
from ..scenarios.errors import InputError
from ..scenarios.serverless_source import ServerlessSynthetic
from .arguments import split
from .folder_run import TEACHERS, FolderRun, require_learn

if TYPE_CHECKING:
    from ..agents.es import Generation
    from ..agents.es_run import IndexRun
    from ..agents.esg_run import EsgRun

T = TypeVar("T")


@dataclass(frozen=True)
class EsFlags(EsOptions):
    """Options as they are given; looked at when the command runs, so that a refusal is one line."""

    def __post_init__(self) -> None:
        """Nothing yet."""


@dataclass(frozen=True)
class TrainEs(FolderRun):
    """Improve on an expert by evolution strategies (--algo es): an index over a cluster's order, or ESG's knobs."""

    out: Path
    """Folder of the run: a policy that bench, simulate and evaluate take, state to go on from, TensorBoard in tb/."""
    scenario: str = "sia-64"
    """Where to learn, as NAME[:KNOB=VALUE...]; of the serverless platform several, separated by commas."""
    teacher: str = ""
    """Expert to begin with and to improve on. Default: gittins+pal+backfill, or esg."""
    algo: Literal["es", "ppo"] = "es"
    """Recipe; the options below are those of es (see train --algo ppo --help for the others)."""
    init: Path | None = None
    """Checkpoint folder to begin from instead of the expert as it is."""
    resume: bool = False
    """Go on where the run in --out was interrupted; all other options as they were."""
    hidden: int | None = None
    """Hidden units of the network. Default: 8, or those of --init."""
    validation_worlds: int | None = None
    """Validation worlds that are looked at. Default: 64; of a serverless platform 4 per scenario."""
    options: EsFlags = EsFlags()

    def run(self) -> None:
        """Search, and say what came out."""
        from ..agents.es_run import run_es

        require_learn()
        options = EsOptions(**asdict(self.options))
        run = self._search(options)
        with _shown(options.generations) as watch:
            made = run_es(run, self.out, self.resume, watch)
        note(f"wrote {self.out}")
        console().print(
            f"against {run.expert.name} on {run.validation_worlds} validation worlds: {_said(made.training.notes)}; "
            f"on held-out ones: varigym evaluate {self.out}",
            markup=False,
        )

    def _search(self, options: EsOptions) -> IndexRun | EsgRun:
        """What is trained: by the kind of the scenarios."""
        from ..agents.es_run import IndexRun
        from ..agents.esg_run import EsgRun

        sources: list[Any] = [find_source(name) for name in split(self.scenario)]
        kind = kind_of(sources[0]) if sources else CLUSTER
        expert = find_policy_of(kind, self.teacher or TEACHERS[kind is not CLUSTER])
        init = load_policy(self.init)[1] if self.init else None
        given = {"hidden": self.hidden, "validation_worlds": self.validation_worlds}
        if init is not None and self.hidden is None and hasattr(init, "weights"):
            given["hidden"] = init.weights["b1"].size
        chosen: dict[str, Any] = {name: value for name, value in given.items() if value is not None}
        if kind is CLUSTER:
            if len(sources) != 1:
                raise InputError(f"scenario '{self.scenario}'; legal for a cluster: one")
            source = cluster_source(self.scenario)
            return IndexRun(source, expert, options, init=_checked(self.init, init, LearnedIndex), **chosen)
        for source in sources:
            if not isinstance(source, ServerlessSynthetic):
                raise InputError(f"scenario '{source.name}'; legal: drawn worlds of {kind.about}")
        if not isinstance(expert, Esg):
            raise InputError(f"teacher '{self.teacher}'; legal for es on {kind.about}: esg, perhaps with knobs")
        return EsgRun(tuple(sources), expert, options, init=_checked(self.init, init, LearnedEsg), **chosen)


def _checked(folder: Path | None, init: Any, wanted: type[T]) -> T | None:
    """The policy to begin from. Raises `InputError` where it is another kind."""
    if init is not None and not isinstance(init, wanted):
        raise InputError(
            f"--init {folder} is no {wanted.__name__}; legal for es: a checkpoint of train --algo es, same kind"
        )
    return init


def _said(notes: Mapping[str, Any]) -> str:
    """What validation worlds said."""
    found = {name.removeprefix("validation_"): value for name, value in notes.items() if name.startswith("validation_")}
    if "ratio" in found:
        error = f" (standard error {found['log_ratio_se']:.4f})" if "log_ratio_se" in found else ""
        return f"{found['ratio']:.4f} of its mean JCT{error}"
    return ", ".join(f"{name} {value:.2f}" for name, value in found.items() if name != "worth")


def cluster_source(scenario: str) -> Any:
    """A cluster whose worlds differ by seed. Raises `InputError`."""
    source = find_source(scenario)
    if not hasattr(source, "bins"):
        raise InputError(f"scenario '{scenario}' is the same world for every seed; nothing is learned from it")
    return source


@contextmanager
def _shown(generations: int) -> Iterator[Any]:
    """A bar that follows the generations; what validation worlds say is written out."""
    with progress_bar(TimeRemainingColumn()) as bar:
        task = bar.add_task("generations", total=generations)

        def watch(generation: Generation) -> None:
            done, fitness = generation.state.generation, generation.fitness.mean()
            bar.update(task, completed=done, description=f"fitness {fitness:+.3f}; generations")
            if (found := generation.validation) and done < generations:
                said = _said({f"validation_{name}": value for name, value in found.items()})
                note(f"generation {done}, on validation worlds: {said}")

        yield watch
