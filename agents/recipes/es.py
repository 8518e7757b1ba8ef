"""Evolution strategies: improve a policy's weights by the results of whole episodes, without gradients.

One generation, for weights w of size D, noise e_1 .. e_n ~ N(0, I) and the worlds of that generation:

    f(w + sigma e_i) and f(w - sigma e_i)      the same worlds for all (paired), mirrored noise (antithetic)
    s = rank(f) / (2n - 1) - 1/2               centred ranks, unaffected by outliers and the scale of f
    g = 1 / (2 n sigma) * sum_i (s_i+ - s_i-) e_i,   then one step of Adam

(Salimans et al. 2017). The result is an average of the last iterates, by a rule fixed before the run. Validation is
only reported, never used to pick a lucky iterate. All random numbers of a generation follow from (seed, generation),
so that an interrupted run ends with the same weights as an uninterrupted one.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from time import perf_counter
from typing import Protocol, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from ...scenarios.checks import as_whole, check_number
from ...scenarios.errors import InputError
from ...scenarios.seeds import TRAIN
from ..runs.scalars import scalars

Floats = NDArray[np.float64]
Weights = dict[str, NDArray[np.float32]]
BETAS, EPSILON = (0.9, 0.999), 1e-8
"""Constants of Adam (Kingma and Ba 2015)."""
WORLDS = 1
"""Random stream of the train worlds' seeds, separate from that of the noise."""
MOST = 10_000
"""Most pairs, and most worlds, of a generation."""


@dataclass(frozen=True)
class EsOptions:
    """Options of the search. Raises `InputError` for illegal values."""

    generations: int = 150
    pairs: int = 12
    """n, the number of mirrored pairs per generation."""
    worlds: int = 8
    """Number of worlds on which every member of a generation is evaluated."""
    sigma: float = 0.1
    """Standard deviation of the noise on every weight."""
    learning_rate: float = 0.04
    """Initial learning rate of Adam; it falls linearly to `final_rate` times this value."""
    final_rate: float = 0.1
    averaged: float = 0.25
    """Share of the generations, at the end, whose iterates are averaged into the result."""
    validate_every: int = 0
    """Generations between evaluations on validation worlds; 0: only after the last generation."""
    seed: int = 0

    def __post_init__(self) -> None:
        for name, least in (("generations", 1), ("pairs", 1), ("worlds", 1), ("validate_every", 0), ("seed", 0)):
            most = MOST if name in ("pairs", "worlds") else None
            object.__setattr__(self, name, as_whole(name, getattr(self, name), least, most))
        for name in ("sigma", "learning_rate"):
            check_number(name, getattr(self, name), 0, above=True)
        for name in ("final_rate", "averaged"):
            if not 0 <= getattr(self, name) <= 1:
                raise InputError(f"{name} = {getattr(self, name)}; legal: 0 to 1")


class Objective(Protocol):
    """What is to be improved."""

    def start(self, seed: int) -> Weights:
        """Return the weights to start from."""
        ...

    def fitness(self, generation: int, population: Sequence[Weights], options: EsOptions) -> Floats:
        """Return a deterministic figure per member [P], lower is better; all are evaluated on the same worlds."""
        ...

    def validate(self, weights: Weights) -> Mapping[str, float]:
        """Return figures on validation worlds, which are never trained on."""
        ...


@runtime_checkable
class Masked(Protocol):
    """A objective of whose weights some stay at zero: they begin there, noise leaves them alone, so they never move."""

    @property
    def mask(self) -> Mapping[str, NDArray[np.float32]]:
        """1 where a weight is searched, 0 where it stays, in the weights' shapes; weights without a mask are free."""
        ...


@dataclass(frozen=True)
class EsState:
    """The state of a search between two generations: all that is needed to continue."""

    generation: int
    """Number of generations done."""
    weights: Weights
    first: Weights
    """Adam's running mean of the gradient."""
    second: Weights
    """Adam's running mean of the squared gradient."""
    total: dict[str, Floats]
    """Sum of the iterates to average."""
    added: int
    """Number of iterates in `total`."""

    @property
    def result(self) -> Weights:
        """The average of the last iterates; before averaging begins, the current weights."""
        if not self.added:
            return self.weights
        return {name: (value / self.added).astype(np.float32) for name, value in self.total.items()}


@dataclass(frozen=True)
class Generation:
    """The result of one generation."""

    state: EsState
    fitness: Floats
    """Fitness of all members [2n]."""
    step: float
    """Length of the step in weight space."""
    episodes_per_s: float
    """Episodes of members on train worlds per second; the time of validation is not counted."""
    validation: Mapping[str, float] | None
    """Figures on validation worlds, if they were evaluated after this generation."""

    @property
    def figures(self) -> dict[str, float]:
        """Figures for TensorBoard."""
        return {
            "es/fitness_mean": float(self.fitness.mean()),
            "es/fitness_sd": float(self.fitness.std()),
            "es/step": self.step,
            "es/episodes_per_s": self.episodes_per_s,
            **{f"validation/{name}": value for name, value in (self.validation or {}).items()},
        }


def train_es(
    objective: Objective,
    options: EsOptions = EsOptions(),
    out: Path | None = None,
    resume: EsState | None = None,
    report: Callable[[Generation], None] = lambda generation: None,
) -> EsState:
    """Search until `options.generations` are done; `report` gets every generation, with the state to resume from.

    With a folder `out`, TensorBoard scalars go there. Raises `InputError` where `resume` is of another objective.
    """
    mask = objective.mask if isinstance(objective, Masked) else {}
    state = begin(masked(objective.start(options.seed), mask))
    if resume is not None:
        state = _in_sequence(resume, state)
    log = scalars(out, state.generation) if out else None
    while state.generation < options.generations:
        clock = perf_counter()
        noise = [masked(e, mask) for e in _noise(state.weights, options, state.generation)]
        members = [_moved(state.weights, e, sign * options.sigma) for e in noise for sign in (1, -1)]
        fitness = np.asarray(objective.fitness(state.generation, members, options), np.float64)
        before, state = state, _step(state, _gradient(fitness, noise, options), options)
        rate = len(members) * options.worlds / (perf_counter() - clock)
        validation = objective.validate(state.result) if _is_time_to_look(state.generation, options) else None
        generation = Generation(state, fitness, _distance(before.weights, state.weights), rate, validation)
        report(generation)
        if log:
            log(state.generation, generation.figures)
    return state


def _in_sequence(resume: EsState, start: EsState) -> EsState:
    """The weights in the order in which noise is drawn for them. Raises `InputError` where they are others."""
    given, wanted = ({n: list(v.shape) for n, v in s.weights.items()} for s in (resume, start))
    if given != wanted:
        raise InputError(f"resume has weights {given}; legal: those of the objective, {wanted}")
    return replace(resume, weights={name: resume.weights[name] for name in start.weights})


def _is_time_to_look(done: int, options: EsOptions) -> bool:
    return done == options.generations or (options.validate_every > 0 and done % options.validate_every == 0)


def train_seeds(options: EsOptions, generation: int) -> list[int]:
    """Draw the seeds of a generation's worlds; every generation has fresh ones."""
    lots = np.random.default_rng([options.seed, generation, WORLDS])
    return lots.integers(TRAIN.first, TRAIN.last, size=options.worlds, endpoint=True).tolist()


def masked(weights: Weights, mask: Mapping[str, NDArray[np.float32]]) -> Weights:
    """Return the weights, set to zero where the mask is zero."""
    return {name: value * mask[name] if name in mask else value for name, value in weights.items()}


def begin(weights: Weights) -> EsState:
    """Return the state of a search before its first generation."""
    start = {name: np.asarray(value, np.float32) for name, value in weights.items()}
    zero = {name: np.zeros_like(value) for name, value in start.items()}
    return EsState(0, start, zero, zero, {name: np.zeros(v.shape, np.float64) for name, v in start.items()}, 0)


def centred_ranks(fitness: Floats) -> Floats:
    """Return the ranks of `fitness` [P], scaled to [-1/2, 1/2]; equal figures share their mean rank."""
    smaller = (fitness[None, :] < fitness[:, None]).sum(axis=1)
    equal = (fitness[None, :] == fitness[:, None]).sum(axis=1)
    return (smaller + (equal - 1) / 2) / max(len(fitness) - 1, 1) - 0.5


def _noise(weights: Weights, options: EsOptions, generation: int) -> list[Weights]:
    lots = np.random.default_rng([options.seed, generation])
    return [
        {name: lots.standard_normal(value.shape).astype(np.float32) for name, value in weights.items()}
        for _ in range(options.pairs)
    ]


def _gradient(fitness: Floats, noise: Sequence[Weights], options: EsOptions) -> dict[str, Floats]:
    """Estimate the gradient of the mean rank from mirrored pairs: fitness [2n] in the order +, -, +, -."""
    shaped = centred_ranks(fitness).reshape(-1, 2)
    pull = (shaped[:, 0] - shaped[:, 1]) / (2 * len(noise) * options.sigma)
    return {n: np.sum([p * e[n] for p, e in zip(pull, noise, strict=True)], axis=0) for n in noise[0]}


def _distance(one: Weights, other: Weights) -> float:
    return float(np.sqrt(sum(np.sum((one[name] - other[name]) ** 2) for name in one)))


def _moved(weights: Weights, direction: Weights, by: float) -> Weights:
    return {name: (value + by * direction[name]).astype(np.float32) for name, value in weights.items()}


def _step(state: EsState, gradient: Mapping[str, Floats], options: EsOptions) -> EsState:
    """Take one step of Adam down the gradient, and update the sum of iterates."""
    done = state.generation + 1
    progress = state.generation / options.generations
    rate = options.learning_rate * (1 - (1 - options.final_rate) * progress)
    first = {n: BETAS[0] * m + (1 - BETAS[0]) * gradient[n] for n, m in state.first.items()}
    second = {n: BETAS[1] * v + (1 - BETAS[1]) * gradient[n] ** 2 for n, v in state.second.items()}
    scale = {n: np.sqrt(v / (1 - BETAS[1] ** done)) + EPSILON for n, v in second.items()}
    weights = {
        n: (w - rate * (first[n] / (1 - BETAS[0] ** done)) / scale[n]).astype(np.float32)
        for n, w in state.weights.items()
    }
    late = done > options.generations * (1 - options.averaged)
    return replace(
        state,
        generation=done,
        weights=weights,
        first={n: np.asarray(m, np.float32) for n, m in first.items()},
        second={n: np.asarray(v, np.float32) for n, v in second.items()},
        total={n: total + weights[n] for n, total in state.total.items()} if late else state.total,
        added=state.added + late,
    )
