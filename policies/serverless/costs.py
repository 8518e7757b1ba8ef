"""Cost of a job under each configuration, in whole cost units, so that sums are exact and compare exactly.

A job bears 1/b of its batch: cost = execution seconds * (c * price of a vCPU-second + g * price of a vGPU-second) / b.
Sums of floats depend on their order in the last bit, and 32 bits round them; then a search, a table and a brute force
disagree about ties. So costs are whole numbers of a unit of 2**-k USD, the smallest k that keeps every path of
a workflow below `NO_PATH`: a 32-bit sum is exact in any order and on any device. For the published profiles and prices
a unit is some 4e-12 USD: rounding moves the cost of the cheapest configuration by less than one part in a million.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from ...scenarios.types import Floats, Ints

NO_PATH = 2**30
"""Cost of a path that does not exist; every path costs less, and NO_PATH plus any cost still fits 32 bits."""
SECONDS_PER_HOUR = 3600.0


@dataclass(frozen=True)
class UnitCosts:
    """Costs of jobs in whole units."""

    cost: Ints
    """Units, the shape of what they were made from."""
    unit_usd: float
    """USD per unit."""


def job_cost_usd(
    seconds: ArrayLike, batch: Ints, vcpu: Ints, vgpu: Ints, usd_per_vcpu_h: float, usd_per_vgpu_h: float
) -> Floats:
    """Cost of one job [F, X] of a batch that runs `seconds` [F, X] with configurations (batch, vcpu, vgpu) [X]."""
    usd_per_s = (vcpu * usd_per_vcpu_h + vgpu * usd_per_vgpu_h) / SECONDS_PER_HOUR
    cost: Floats = np.asarray(seconds, np.float64) * (usd_per_s / batch)
    return cost


def in_units(usd: ArrayLike, stages: int) -> UnitCosts:
    """Costs in whole units, such that `stages` of them sum to less than `NO_PATH`."""
    usd = np.asarray(usd, np.float64)
    most = float(usd.max(initial=0.0)) * stages
    exponent = math.frexp(most / (NO_PATH - stages))[1] if most > 0 else 0
    unit_usd = math.ldexp(1.0, exponent)
    return UnitCosts(np.rint(usd / unit_usd).astype(np.int32), unit_usd)
