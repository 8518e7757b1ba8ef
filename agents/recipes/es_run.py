"""Evolution strategies as a run in a folder: from an expert to a checkpoint."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, Protocol

import numpy as np

from ...scenarios.errors import InputError
from ..checkpoints.checkpoint import Checkpoint, Training
from ..runs.folder import RunFolder, Saved, joined, part
from .es import EsOptions, EsState, Generation, Objective, Weights, begin, train_es

RECIPE = "es"
VALIDATION = "validation_"
"""What the names of figures of validation worlds begin with in a checkpoint's notes."""
SAVE_EVERY = 10
"""Generations between two states on disk."""
ARRAYS = ("weights", "first", "second", "total")


class Run(Protocol):
    """What `run_es` needs to know of a run."""

    @property
    def options(self) -> EsOptions:
        """How it is searched."""
        ...

    @property
    def objective(self) -> Objective:
        """What is searched."""
        ...

    @property
    def start(self) -> Weights:
        """Weights before the first generation."""
        ...

    @property
    def asked(self) -> dict[str, Any]:
        """All that shapes what comes out, in words."""
        ...

    def checkpoint(self, state: EsState, validation: Mapping[str, float]) -> Checkpoint:
        """The policy that the search has come to."""
        ...


def training_of(
    asked: Mapping[str, Any], scenarios: tuple[str, ...], state: EsState, validation: Mapping[str, float]
) -> Training:
    """What a checkpoint says of the search that made it, which was `asked` for."""
    options = {name: value for name, value in asked.items() if name not in ("recipe", "scenario", "teacher")}
    seen = {f"{VALIDATION}{name}": value for name, value in validation.items() if np.isfinite(value)}
    notes = {"generations_done": state.generation, **seen}
    return Training(RECIPE, options, scenarios, (asked["seed"],), asked["teacher"], notes)


def run_es(
    run: Run,
    out: Path,
    resume: bool = False,
    watch: Callable[[Generation], None] = lambda generation: None,
) -> Checkpoint:
    """Search in folder `out`, which holds a policy at any time; with `resume` an interrupted search goes on.

    It ends with the weights of a search that was never interrupted. `watch` sees every generation. On Ctrl-C what is
    done is written before the interrupt is passed on. Raises `InputError`.
    """
    folder = RunFolder(out, run.asked)
    with folder.opened(resume) as saved:
        return _search(run, folder, saved, watch)


def _search(run: Run, folder: RunFolder, saved: Saved | None, watch: Callable[[Generation], None]) -> Checkpoint:
    """The generations that are left."""
    last = _state_of(saved, run.start) if saved else begin(run.start)
    seen: Mapping[str, float] = {}

    def keep() -> Checkpoint:
        made = run.checkpoint(last, seen)
        folder.save(_saved(last, run.options.generations), made)
        return made

    def after(generation: Generation) -> None:
        nonlocal last, seen
        last, seen = generation.state, generation.validation or seen
        watch(generation)
        if last.generation % SAVE_EVERY == 0 and last.generation < run.options.generations:
            keep()

    try:
        train_es(run.objective, run.options, folder.logs, last, after)
    except KeyboardInterrupt:
        keep()
        raise
    return keep()


def complete_es(run: Run, out: Path, watch: Callable[[Generation], None] = lambda generation: None) -> Checkpoint:
    """`run_es`, or what it came to where it is finished already (`RunFolder.complete`)."""
    return RunFolder(out, run.asked).complete(lambda resume: run_es(run, out, resume, watch))


def _saved(state: EsState, total: int) -> Saved:
    arrays = joined(**{name: getattr(state, name) for name in ARRAYS})
    return Saved(state.generation, total, arrays, {"added": state.added})


def _state_of(saved: Saved, like: Weights) -> EsState:
    """Raises `InputError` where arrays are missing."""
    kept = {name: part(saved.arrays, name) for name in ARRAYS}
    if any(set(found) != set(like) for found in kept.values()):
        raise InputError(
            f"the state on disk holds {', '.join(saved.arrays)}; legal: {', '.join(ARRAYS)} of the network"
        )
    return EsState(generation=saved.done, added=int(saved.facts.get("added", 0)), **kept)
