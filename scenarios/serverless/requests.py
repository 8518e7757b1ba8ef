"""Requests: when each workflow is requested, and how much its tasks deviate from their mean run time."""

from __future__ import annotations

from dataclasses import dataclass, fields

import numpy as np
from numpy.typing import NDArray

from ..checks import as_array, check_each, check_whole
from ..errors import InputError
from ..types import Bools, Floats, Ints

MOST_REQUESTS = 1_000_000
MOST_NOISE = 1000.0


@dataclass(frozen=True)
class Requests:
    """Requests of workflows, sorted by arrival, ties in the order given. R requests, S stages."""

    arrival_ms: Floats
    """Arrival time of each request [R]."""
    workflow: Ints
    """Index of each request's workflow [R]."""
    counted: Bools
    """Whether a request arrives in the measured window; only these count for metrics and reward [R]."""
    noise: NDArray[np.float32]
    """Factor on the run time of a task whose first request this is, by stage [R, S], > 0."""

    def __post_init__(self) -> None:
        for name, kind, ndim in (
            ("arrival_ms", np.float64, 1),
            ("workflow", np.int32, 1),
            ("counted", np.bool_, 1),
            ("noise", np.float32, 2),
        ):
            object.__setattr__(self, name, as_array(name, getattr(self, name), kind, ndim))
        lengths = {field.name: len(getattr(self, field.name)) for field in fields(self)}
        if len(set(lengths.values())) > 1:
            raise InputError(f"request columns have lengths {lengths}; they must be equal")
        check_whole("number of requests", len(self), 1, MOST_REQUESTS)
        check_each("arrival_ms", self.arrival_ms, self.arrival_ms >= 0, "a finite number >= 0")
        late = np.flatnonzero(np.diff(self.arrival_ms) < 0)
        if len(late):
            raise InputError(
                f"arrival_ms[{late[0] + 1}] = {self.arrival_ms[late[0] + 1]}, before the one ahead of it "
                f"({self.arrival_ms[late[0]]}); legal: sorted by arrival"
            )
        check_each("noise", self.noise, (self.noise > 0) & (self.noise <= MOST_NOISE), f"> 0 and <= {MOST_NOISE:g}")

    def __len__(self) -> int:
        return len(self.arrival_ms)


def make_requests(
    arrival_ms: Floats,
    workflow: Ints,
    window_ms: tuple[float, float],
    noise: NDArray[np.floating] | None = None,
    stages: int = 1,
) -> Requests:
    """Make requests; those that arrive in `window_ms` count. Without `noise` every factor [R, stages] is 1."""
    arrival = np.asarray(arrival_ms, np.float64)
    counted = (arrival >= window_ms[0]) & (arrival < window_ms[1])
    factors = np.ones((len(arrival), stages), np.float32) if noise is None else noise.astype(np.float32)
    return Requests(arrival, workflow, counted, factors)
