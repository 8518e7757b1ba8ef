"""Gaussian processes of cost and latency, and their proposals: the part of Aquatope that needs BoTorch.

This module imports torch, so no module imports it at the top; `aquatope` imports it when it plans.

Both processes are BoTorch's `SingleTaskGP`, as in Aquatope's released code. Proposals maximise constrained noisy
expected improvement by `qLogNoisyExpectedImprovement`. Its logarithms keep it from vanishing where improvement is
unlikely (Ament et al., NeurIPS 2023), and infeasible draws count as no improvement. The release weights its objective
by feasibility with an infeasible cost of 0, which is always better than its negative costs.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from typing import cast

import numpy as np
import torch
from botorch.acquisition.logei import qLogNoisyExpectedImprovement
from botorch.acquisition.objective import GenericMCObjective
from botorch.fit import fit_gpytorch_mll
from botorch.models.gp_regression import SingleTaskGP
from botorch.models.model_list_gp_regression import ModelListGP
from botorch.optim.optimize import optimize_acqf_discrete
from botorch.sampling.normal import SobolQMCNormalSampler
from gpytorch.distributions import MultivariateNormal
from gpytorch.mlls import ExactMarginalLogLikelihood
from scipy.special import ndtri
from torch import Tensor

from ....scenarios.types import Bools, Floats

Points = Floats
"""Points of the unit cube [N, D]."""
Fitted = dict[str, Tensor]
"""The fitted parameters of a process: its mean, noise and length scales."""


class Surrogates:
    """Processes for (-cost) and (latency - SLO); each fit takes at most `iterations` steps from the previous fit."""

    def __init__(self, iterations: int, draws: int, seed: int) -> None:
        self._iterations, self._draws, self._seed = iterations, draws, seed
        self._fitted: list[Fitted] = [{}, {}]
        self._points: Points = np.zeros((0, 0))
        self._values: list[Floats] = []
        self._known: list[SingleTaskGP] = []

    def fit(self, points: Points, cost: Floats, excess: Floats) -> None:
        """Fit the processes to cost and latency - SLO [N], measured at `points`."""
        self._points, self._values = points, [-cost, excess]
        with _apart(self._seed):
            self._known = [self._fit(process) for process in self._processes(np.ones(len(points), bool))]
            self._fitted = [_learned(process) for process in self._known]

    def anomalies(self, confidence: float) -> Bools:
        """Return the measurements outside the interval that all others predict, in cost or in latency [N]."""
        with _apart(self._seed):
            return np.logical_or(*(_leave_one_out(process) > ndtri((1 + confidence) / 2) for process in self._known))

    def propose(self, kept: Bools, pool: Points, number: int) -> list[int]:
        """Return the rows of `pool` to measure next, given the measurements `kept` [N]; the last fit is used."""
        with _apart(self._seed):
            improvement = qLogNoisyExpectedImprovement(
                ModelListGP(*self._processes(kept)).eval(),
                _tensor(self._points[kept]),
                sampler=SobolQMCNormalSampler(torch.Size([self._draws]), seed=self._seed),
                objective=GenericMCObjective(_saved),
                constraints=[_too_late],
            )
            with torch.no_grad():
                chosen, _ = optimize_acqf_discrete(improvement, q=number, choices=_tensor(pool))
        return [int(np.flatnonzero((pool == point).all(axis=1))[0]) for point in chosen.numpy()]

    def _processes(self, kept: Bools) -> list[SingleTaskGP]:
        pairs = zip(self._values, self._fitted, strict=True)
        return [_process(self._points[kept], values[kept], fitted) for values, fitted in pairs]

    def _fit(self, process: SingleTaskGP) -> SingleTaskGP:
        likelihood = ExactMarginalLogLikelihood(process.likelihood, process)
        fit_gpytorch_mll(likelihood, optimizer_kwargs={"options": {"maxiter": self._iterations}})
        return process


def _saved(outcomes: Tensor, X: Tensor | None = None) -> Tensor:  # noqa: N803
    return outcomes[..., 0]


def _too_late(outcomes: Tensor) -> Tensor:
    return outcomes[..., 1]


def _process(points: Points, values: Floats, fitted: Fitted) -> SingleTaskGP:
    process = SingleTaskGP(_tensor(points), _tensor(values)[:, None])
    process.load_state_dict(fitted, strict=False)
    return process


def _learned(process: SingleTaskGP) -> Fitted:
    """Return the fitted parameters without the scale of the outcomes, which differs for each set of outcomes."""
    return {name: value for name, value in process.state_dict().items() if not name.startswith("outcome_transform")}


def _leave_one_out(process: SingleTaskGP) -> Floats:
    """Return the distance of each measurement from the others' prediction, in standard deviations [N].

    With K the covariance of measurements and m their prior mean: |K^-1 (y - m)|_i / sqrt(K^-1_ii) (Rasmussen and
    Williams 2006, eq. 5.12), with the hyperparameters fitted to all. The release fits no hyperparameters for this test.
    """
    process.train()
    with torch.no_grad():
        prior = cast(MultivariateNormal, process.likelihood(process(*process.train_inputs)))
        inverse = torch.linalg.inv(prior.covariance_matrix)
        distance = (inverse @ (process.train_targets - prior.mean)).abs() / inverse.diagonal().sqrt()
    return distance.numpy()


def _tensor(values: Floats) -> Tensor:
    return torch.from_numpy(np.ascontiguousarray(values, np.float64))


@contextmanager
def _apart(seed: int) -> Iterator[None]:
    """Isolate torch's random numbers and threads and the libraries' warnings; all are restored at the end.

    One thread is used: the matrices are small, and the order of sums is then fixed.
    """
    threads = torch.get_num_threads()
    with torch.random.fork_rng(devices=[]), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        torch.manual_seed(seed)
        torch.set_num_threads(1)
        try:
            yield
        finally:
            torch.set_num_threads(threads)
