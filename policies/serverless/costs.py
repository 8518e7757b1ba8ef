"""Cost of a job under each configuration, in whole cost units, so that sums are exact and compare exactly.

A job pays 1/b of its batch: cost = execution seconds * (c * price of a vCPU-second + g * price of a vGPU-second) / b.
The last bit of a sum of floats depends on its order, and 32 bits round it, so a search, a table and a brute force would
break ties differently. Costs are therefore whole multiples of a power of two in USD, the finest that keeps every path
of a workflow below `NO_PATH`: a 32-bit sum is exact in any order and on any device. For the published profiles and
prices a unit is about 4e-12 USD, and rounding changes the cheapest configuration's cost by less than 1e-6 of it.
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
    """Costs in units, in the shape of the costs in USD."""
    unit_usd: float
    """USD per unit."""


def job_cost_usd(
    seconds: ArrayLike, batch: Ints, vcpu: Ints, vgpu: Ints, usd_per_vcpu_h: float, usd_per_vgpu_h: float
) -> Floats:
    """Return one job's cost [F, X] in a batch that runs `seconds` [F, X], by configurations (batch, vcpu, vgpu) [X]."""
    usd_per_s = (vcpu * usd_per_vcpu_h + vgpu * usd_per_vgpu_h) / SECONDS_PER_HOUR
    cost: Floats = np.asarray(seconds, np.float64) * (usd_per_s / batch)
    return cost


def in_units(usd: ArrayLike, stages: int) -> UnitCosts:
    """Convert costs to whole units, such that `stages` of them sum to less than `NO_PATH`."""
    usd = np.asarray(usd, np.float64)
    most = float(usd.max(initial=0.0)) * stages
    exponent = math.frexp(most / (NO_PATH - stages))[1] if most > 0 else 0
    unit_usd = math.ldexp(1.0, exponent)
    return UnitCosts(np.rint(usd / unit_usd).astype(np.int32), unit_usd)
