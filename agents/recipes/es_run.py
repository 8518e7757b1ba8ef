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
"""Prefix of the names of validation figures in a checkpoint's notes."""
SAVE_EVERY = 10
"""Number of generations between two saves of the state."""
ARRAYS = ("weights", "first", "second", "total")


class Run(Protocol):
    """What `run_es` needs to know about a run."""

    @property
    def options(self) -> EsOptions:
        """Options of the search."""
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
        """All settings that affect the result, as plain values."""
        ...

    def checkpoint(self, state: EsState, validation: Mapping[str, float]) -> Checkpoint:
        """Make the checkpoint of the search's current result."""
        ...


def training_of(
    asked: Mapping[str, Any], scenarios: tuple[str, ...], state: EsState, validation: Mapping[str, float]
) -> Training:
    """Describe, for a checkpoint, the search with the settings `asked` that made it."""
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
    """Search in folder `out`, which holds the policy so far; with `resume` an interrupted search continues.

    It ends with the same weights as an uninterrupted search. `watch` gets every generation. On Ctrl-C the state and
    the policy so far are saved before the interrupt is passed on. Raises `InputError` for an unsuitable folder.
    """
    folder = RunFolder(out, run.asked)
    with folder.opened(resume) as saved:
        return _search(run, folder, saved, watch)


def _search(run: Run, folder: RunFolder, saved: Saved | None, watch: Callable[[Generation], None]) -> Checkpoint:
    """Run the generations that are left."""
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
    """Call `run_es`, or return its result if it has finished already (`RunFolder.complete`)."""
    return RunFolder(out, run.asked).complete(lambda resume: run_es(run, out, resume, watch))


def _saved(state: EsState, total: int) -> Saved:
    arrays = joined(**{name: getattr(state, name) for name in ARRAYS})
    return Saved(state.generation, total, arrays, {"added": state.added})


def _state_of(saved: Saved, like: Weights) -> EsState:
    """Return the search state of a saved run. Raises `InputError` if arrays are missing."""
    kept = {name: part(saved.arrays, name) for name in ARRAYS}
    if any(set(found) != set(like) for found in kept.values()):
        raise InputError(
            f"the state on disk holds {', '.join(saved.arrays)}; legal: {', '.join(ARRAYS)} of the network"
        )
    return EsState(generation=saved.done, added=int(saved.facts.get("added", 0)), **kept)
