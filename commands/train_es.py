"""`varigym train --algo es`: evolution strategies, for the order of a cluster or the knobs of ESG."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import tyro
from rich.progress import TimeRemainingColumn

from ..agents.checkpoints.policies import load_policy
from ..agents.recipes.es import EsOptions
from ..agents.serverless.es_run import OPTIONS, EsgRun
from ..bench.grid.world_kinds import KINDS, find_policy_of, kind_of
from ..bench.report.terminal import console, note, progress_bar
from ..policies.cluster.index_net import LearnedIndex
from ..policies.serverless.esg.learned import LearnedEsg
from ..policies.serverless.esg.replanning import Esg
from ..scenarios.catalog import find_source
from ..scenarios.errors import InputError
from ..scenarios.serverless.source import ServerlessSynthetic
from .folder_run import TEACHERS, USUAL_SCENARIO, FolderRun, require_learn
from .named import ScenariosOption, Words, scenarios_of

if TYPE_CHECKING:
    from ..agents.cluster.es_run import IndexRun
    from ..agents.recipes.es import Generation


def _help(name: str, about: str) -> Any:
    """Help that says the default of every kind of world."""
    cluster, serverless = getattr(EsOptions(), name), getattr(OPTIONS, name)
    other = "" if serverless == cluster else f"; of a serverless platform {serverless}"
    return tyro.conf.arg(help=f"{about} Default: {cluster}{other}.")


@dataclass(frozen=True)
class EsFlags:
    """How to search (see `EsOptions`); what is not given follows from the kind of world."""

    generations: Annotated[int | None, _help("generations", "Steps of the search.")] = None
    pairs: Annotated[int | None, _help("pairs", "Mirrored pairs in a generation.")] = None
    worlds: Annotated[int | None, _help("worlds", "Worlds that every member of a generation is judged on.")] = None
    sigma: Annotated[float | None, _help("sigma", "Standard deviation of the noise on every weight.")] = None
    learning_rate: Annotated[float | None, _help("learning_rate", "Step of Adam at first.")] = None
    final_rate: Annotated[float | None, _help("final_rate", "What it falls to, as a share of that.")] = None
    averaged: Annotated[
        float | None, _help("averaged", "Share of the generations, the last ones, that are averaged into the result.")
    ] = None
    validate_every: Annotated[
        int | None, _help("validate_every", "Generations between looks at the validation worlds; 0: only at the end.")
    ] = None
    seed: Annotated[int | None, _help("seed", "Of the noise, the start and the worlds.")] = None

    def over(self, usual: EsOptions) -> EsOptions:
        """`usual`, with what was given. Raises `InputError` for what is not legal."""
        return replace(usual, **{name: value for name, value in asdict(self).items() if value is not None})


@dataclass(frozen=True)
class TrainEs(FolderRun):
    """Improve on an expert by evolution strategies (--algo es): an index over a cluster's order, or ESG's knobs."""

    out: Path
    """Folder of the run: a policy that bench, simulate and evaluate take, state to go on from, TensorBoard in tb/."""
    words: Words = ()
    """Where to learn, as NAME[:KNOB=VALUE...]; of the serverless platform several. Default: sia-64."""
    scenarios: ScenariosOption = None
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
    search: EsFlags = EsFlags()

    def run(self) -> None:
        """Search, and say what came out."""
        from ..agents.recipes.es_run import VALIDATION, run_es

        require_learn()
        run = self._run()
        with self.looked_on(), _shown(run.options.generations) as watch:
            made = run_es(run, self.out, self.resume, watch)
        note(f"wrote {self.out}")
        notes = made.training.notes
        seen = {name.removeprefix(VALIDATION): value for name, value in notes.items() if name.startswith(VALIDATION)}
        console().print(
            f"against {run.expert.name} on {run.validation_worlds} validation worlds: {_said(seen)}; "
            f"on held-out ones: varigym evaluate {self.out}",
            markup=False,
        )

    def _run(self) -> IndexRun | EsgRun:
        """What is trained: by the kind of the scenarios."""
        from ..agents.cluster.es_run import IndexRun

        names = scenarios_of(self.words, self.scenarios) or [USUAL_SCENARIO]
        sources: list[Any] = [find_source(name) for name in names]
        kind = kind_of(sources[0])
        options = self.search.over(EsOptions() if kind is KINDS["cluster"] else OPTIONS)
        expert = find_policy_of(kind, self.teacher or TEACHERS[kind is not KINDS["cluster"]])
        init: Any = load_policy(self.init)[1] if self.init else None
        _refuse_other(self.init, init, LearnedIndex if kind is KINDS["cluster"] else LearnedEsg)
        given = {"hidden": self.hidden, "validation_worlds": self.validation_worlds}
        if init is not None and self.hidden is None:
            given["hidden"] = init.weights["b1"].size
        chosen: dict[str, Any] = {name: value for name, value in given.items() if value is not None}
        if kind is KINDS["cluster"]:
            if len(sources) != 1:
                raise InputError(f"scenarios {', '.join(names)}; legal for a cluster: one")
            _refuse_fixed(sources[0])
            return IndexRun(sources[0], expert, options, init=init, **chosen)
        for source in sources:
            if not isinstance(source, ServerlessSynthetic):
                raise InputError(f"scenario '{source.name}'; legal: drawn worlds of {kind.about}")
        if not isinstance(expert, Esg):
            raise InputError(f"teacher '{self.teacher}'; legal for es on {kind.about}: esg, perhaps with knobs")
        return EsgRun(tuple(sources), expert, options, init=init, **chosen)


def _refuse_other(folder: Path | None, init: Any, wanted: type[LearnedIndex] | type[LearnedEsg]) -> None:
    """Raises `InputError` where the policy to begin from is of another kind."""
    if init is not None and not isinstance(init, wanted):
        raise InputError(
            f"--init {folder} holds another kind of policy; legal: what train --algo es made for such a world "
            "(--algo ppo begins from a clone)"
        )


def _said(found: Mapping[str, Any]) -> str:
    """What validation worlds said."""
    if "ratio" in found:
        error = f" (standard error {found['log_ratio_se']:.4f})" if "log_ratio_se" in found else ""
        return f"{found['ratio']:.4f} of its mean JCT{error}"
    return ", ".join(f"{name} {value:.2f}" for name, value in found.items() if name != "worth")


def _refuse_fixed(source: Any) -> None:
    """Raises `InputError` for a cluster whose worlds do not differ by seed."""
    if not hasattr(source, "bins"):
        raise InputError(f"scenario '{source.name}' is the same world for every seed; nothing is learned from it")


@contextmanager
def _shown(generations: int) -> Iterator[Any]:
    """A bar that follows the generations; what validation worlds say is written out."""
    with progress_bar(TimeRemainingColumn()) as bar:
        task = bar.add_task("generations", total=generations)

        def watch(generation: Generation) -> None:
            done, fitness = generation.state.generation, generation.fitness.mean()
            bar.update(task, completed=done, description=f"fitness {fitness:+.3f}; generations")
            if (found := generation.validation) and done < generations:
                note(f"generation {done}, on validation worlds: {_said(found)}")

        yield watch
