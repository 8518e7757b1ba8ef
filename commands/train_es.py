"""`varigym train --algo es`: evolution strategies, for the order of a cluster or the knobs of ESG."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import tyro
from rich.progress import TimeRemainingColumn

from ..agents.checkpoints.policies import load_policy
from ..agents.learning import LEARNING
from ..agents.recipes.es import EsOptions
from ..bench.grid.world_kinds import KINDS, find_policy_of, kind_of
from ..bench.report.terminal import console, note, progress_bar
from ..scenarios.catalog import find_source
from ..scenarios.errors import InputError
from .folder_run import USUAL_SCENARIO, FolderRun, require_learn
from .named import ScenariosOption, Words, scenarios_of
from .plugins import PluginOption

if TYPE_CHECKING:
    from ..agents.recipes.es import Generation


def _help(option: str, about: str) -> Any:
    """Help that says the default of every kind of world."""
    usual = {name: getattr(learning.es_options, option) for name, learning in LEARNING.items()}
    first = next(iter(usual.values()))
    differ = "".join(f"; of {KINDS[name].about} {value}" for name, value in usual.items() if value != first)
    return tyro.conf.arg(help=f"{about} Default: {first}{differ}.")


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
    algo: str = "es"
    """Recipe; the options below are those of es (see train --algo ppo --help for the others)."""
    init: Path | None = None
    """Checkpoint folder to begin from instead of the expert as it is."""
    resume: bool = False
    """Go on where the run in --out was interrupted; all other options as they were."""
    hidden: int | None = None
    """Hidden units of the network. Default: 8, or those of --init."""
    validation_worlds: int | None = None
    """Validation worlds that are looked at. Default: 64; of a serverless platform 4 per scenario."""
    plugin: PluginOption = None
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

    def _run(self) -> Any:
        """What is trained: by the kind of the scenarios."""
        names = scenarios_of(self.words, self.scenarios) or [USUAL_SCENARIO]
        sources: list[Any] = [find_source(name) for name in names]
        kind = kind_of(sources[0])
        learning = LEARNING.find(kind.name)
        expert = find_policy_of(kind, self.teacher or kind.experts[0])
        init: Any = load_policy(self.init)[1] if self.init else None
        if init is not None and not isinstance(init, learning.improved):
            raise InputError(
                f"--init {self.init} holds another kind of policy; legal: what train --algo es made for such a world "
                "(--algo ppo begins from a clone)"
            )
        asked = {"hidden": self.hidden, "validation_worlds": self.validation_worlds}
        if init is not None and self.hidden is None:
            asked["hidden"] = init.weights["b1"].size
        given: dict[str, Any] = {name: value for name, value in asked.items() if value is not None}
        return learning.search(sources, expert, self.search.over(learning.es_options), init=init, **given)


def _said(found: Mapping[str, Any]) -> str:
    """What validation worlds said."""
    if "ratio" in found:
        error = f" (standard error {found['log_ratio_se']:.4f})" if "log_ratio_se" in found else ""
        return f"{found['ratio']:.4f} of its mean JCT{error}"
    return ", ".join(f"{name} {value:.2f}" for name, value in found.items() if name != "worth")


@contextmanager
def _shown(generations: int) -> Iterator[Any]:
    """A bar that follows the generations; what validation worlds say is written out."""
    with progress_bar(TimeRemainingColumn()) as bar:
        shown = bar.add_task("generations", total=generations)

        def watch(generation: Generation) -> None:
            done, fitness = generation.state.generation, generation.fitness.mean()
            bar.update(shown, completed=done, description=f"fitness {fitness:+.3f}; generations")
            if (found := generation.validation) and done < generations:
                note(f"generation {done}, on validation worlds: {_said(found)}")

        yield watch
