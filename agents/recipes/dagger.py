"""Imitation as a run in a folder: masked behaviour cloning, then DAgger (Ross, Gordon, Bagnell 2011).

A clone makes errors, reaches states that its teacher never saw, and makes more errors there. So in every later round
the clone acts, the teacher labels each state with its own action, and the clone learns from all data so far.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from time import perf_counter
from typing import Any

import numpy as np
import torch
from torch import nn

from ...scenarios.errors import InputError
from ...scenarios.seeds import TRAIN, VALIDATION
from ..checkpoints.checkpoint import Checkpoint, Training
from ..checkpoints.policies import scorer_checkpoint
from ..data.dataset import Dataset, joined, refuse_unlike
from ..data.dataset_file import load_dataset, save_dataset
from ..data.minari_export import episodes_of
from ..data.recording import record
from ..networks.jax_networks import arrays_of
from ..networks.torch_networks import scorer_for
from ..runs.folder import RunFolder, Saved
from ..runs.scalars import scalars
from ..task import LearningTask
from .fitting import Fit, FitOptions, soft_targets, watch
from .options import ImitateOptions

RECIPE = "imitate"
LOGGED = ("loss", "agreement", "entropy", "steps_per_s", "steps")
"""Figures of an epoch that are written to TensorBoard."""
DATA = "data.npz"
LEAST_BATCH = 8
"""Smallest batch to which a small data set may reduce the batch size."""


@dataclass(frozen=True)
class Epoch:
    """The result of one pass over the data."""

    number: int
    """Number of passes so far, over all rounds."""
    round: int
    last: bool
    """Whether it is the last pass of its round."""
    steps: int
    """Number of steps in the data."""
    loss: float
    agreement: float
    """Agreement with the teacher, on states of validation worlds in which there is a choice."""
    entropy: float
    steps_per_s: float


def run_imitation(
    task: LearningTask,
    options: ImitateOptions,
    out: Path,
    resume: bool = False,
    data: Dataset | None = None,
    report: Callable[[Epoch], None] = lambda epoch: None,
    whole: bool = False,
) -> Checkpoint:
    """Imitate the teacher of `task` in folder `out`, which holds the data too; `data` instead of its first episodes.

    With `whole`, data that lack steps of the teacher's episodes are refused before training. With `resume` an
    interrupted run continues and ends with the same weights as an uninterrupted one. Raises `InputError`.
    """
    folder = _folder(task, options, out)
    if data is not None:
        refuse_unlike(data, task.facts)  # before anything is written
    with folder.opened(resume, DATA) as saved:
        return _imitate(task, options, folder, saved, _data(task, options, out, data, whole), report)


def _imitate(
    task: LearningTask,
    options: ImitateOptions,
    folder: RunFolder,
    saved: Saved | None,
    data: Dataset,
    report: Callable[[Epoch], None],
) -> Checkpoint:
    """Run the epochs that are left."""
    shown = int(saved.facts["shown"]) if saved else len(data.seeds)
    seen = record(task, range(VALIDATION.first, VALIDATION.first + options.validation_worlds), most=options.most)
    kind = task.env([TRAIN.first]).kind
    torch.manual_seed(options.seed)
    network = scorer_for(kind.process, options.width)
    if saved:
        _load(network, saved)
    log = scalars(folder.logs, saved.done if saved else 0)
    made: Checkpoint | None = None
    for number in range(saved.done // options.epochs if saved else 0, options.dagger + 1):
        if len(data.seeds) < shown + number * options.episodes:
            data = joined(data, record(task, _seeds(options, number), _follow(network), options.most))
            save_dataset(folder.path / DATA, data)
        fit = Fit(network, data.parts, _target(data, options), _fit_options(options, number, len(data)))
        if saved and saved.done % options.epochs:
            fit.restore(saved.arrays, saved.done % options.epochs)
        saved = None
        while fit.epoch < options.epochs:
            epoch = _epoch(fit, number, options, seen, task.choice)
            made = scorer_checkpoint(kind, arrays_of(network), _training(task, options, epoch))
            total = (options.dagger + 1) * options.epochs
            folder.save(Saved(epoch.number, total, fit.arrays(), {"shown": shown}), made)
            log(epoch.number, {f"imitate/{name}": getattr(epoch, name) for name in LOGGED})
            report(epoch)
    if made is None:
        raise InputError(f"{folder.path}: no epoch is left to run")
    return made


def complete_imitation(task: LearningTask, options: ImitateOptions, out: Path) -> Checkpoint:
    """`run_imitation`, or what it came to where it is finished already (`RunFolder.complete`)."""
    return _folder(task, options, out).complete(lambda resume: run_imitation(task, options, out, resume))


def _folder(task: LearningTask, options: ImitateOptions, out: Path) -> RunFolder:
    return RunFolder(out, {"recipe": RECIPE, **task.facts, **asdict(options)})


def _data(task: LearningTask, options: ImitateOptions, out: Path, given: Dataset | None, whole: bool) -> Dataset:
    """What an interrupted run had, what is given, or the teacher's own episodes."""
    path = out / DATA
    if path.exists():
        kept = load_dataset(path)
        refuse_unlike(kept, task.facts)
        if whole:
            episodes_of(kept)
        return kept
    data = given or record(task, _seeds(options, 0), most=options.most, whole=whole)
    save_dataset(path, data)
    return data


def _seeds(options: ImitateOptions, number: int) -> list[int]:
    """Draw the train worlds of a round."""
    lots = np.random.default_rng([options.seed, number])
    return [int(seed) for seed in lots.integers(TRAIN.first, TRAIN.last, size=options.episodes, endpoint=True)]


def _follow(network: nn.Module) -> Callable[[dict[str, Any], int], int]:
    """Return a function that acts by the learner's most likely legal action."""

    def act(seen: Mapping[str, Any], action: int) -> int:
        parts = {name: torch.from_numpy(part.astype(np.float32)[None]) for name, part in seen.items()}
        with torch.no_grad():
            return int(network(parts).argmax())

    return act


def _target(data: Dataset, options: ImitateOptions) -> Any:
    """Return the training targets: actions, or probabilities."""
    if not options.soft:
        return data.action
    return soft_targets(data.score, data.action, data.parts["action_mask"] > 0, options.soft)


def _fit_options(options: ImitateOptions, number: int, steps: int) -> FitOptions:
    """Return the fit options of round `number`; the batch shrinks with few `steps`, to get enough gradient steps."""
    enough = steps * options.epochs // max(options.updates, 1)
    batch = min(options.batch, max(LEAST_BATCH, enough))
    return FitOptions(options.epochs, batch, options.learning_rate, options.seed + number)


def _load(network: nn.Module, saved: Saved) -> None:
    with torch.no_grad():
        for name, value in network.named_parameters():
            value.copy_(torch.from_numpy(saved.arrays[f"weights/{name}"]))


def _epoch(fit: Fit, number: int, options: ImitateOptions, seen: Dataset, choice: int) -> Epoch:
    clock = perf_counter()
    loss = fit.run_epoch()
    rate = len(fit.target) / (perf_counter() - clock)
    found = watch(fit.network, seen.parts, seen.action, choice)
    done = number * options.epochs + fit.epoch
    return Epoch(done, number, fit.epoch == options.epochs, len(fit.target), loss, found.agreement, found.entropy, rate)


def _training(task: LearningTask, options: ImitateOptions, epoch: Epoch) -> Training:
    figures = {"loss": epoch.loss, "validation_agreement": epoch.agreement, "validation_entropy": epoch.entropy}
    notes = {"epochs_done": epoch.number, "steps": epoch.steps} | {n: v for n, v in figures.items() if np.isfinite(v)}
    return Training(RECIPE, asdict(options), (task.source.name,), (options.seed,), task.teacher.name, notes)
