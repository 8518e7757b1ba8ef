"""Parts of the learned index that can be left out: outputs, and groups of features."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from ...policies.cluster.index_features import FEATURES, NAMES
from ...policies.cluster.index_net import OUTPUTS
from ...scenarios.errors import InputError, unknown_name

Mask = dict[str, NDArray[np.float32]]
OUTPUT: Mapping[str, int] = {"order": 0, "keep": 1}
"""Output -> its column: without `order` the expert's keys are not scaled, without `keep` it holds no gang in place."""
FACTS: Mapping[str, tuple[str, ...]] = {
    "size": (
        "demand as a share of the GPUs, log",
        "wider than a node",
        "class A",
        "class B",
        "class C",
        "class D",
    ),
    "age": (
        "attained rounds, log",
        "attained GPU-rounds, log",
        "rounds waited, log",
        "place in arrival order",
    ),
    "outlook": (
        "mean rounds left of such jobs, log",
        "share of such jobs that end within a step",
        "share of such jobs that end within four steps",
    ),
    "queue": (
        "place in the expert's order",
        "demand ahead as a share of the GPUs, log",
        "fits behind those ahead",
        "GPUs left behind those ahead and this job",
        "demand of all jobs as a share of the GPUs, log",
        "expert's key against that of the last job that fits, log",
    ),
    "running": ("running",),
    "speed": (
        "slowdown of its gang by the profile, log",
        "slowdown of its gang against the best there is, log",
        "seconds that a move to the best could save, against a restart, log",
    ),
}
"""Group -> its features; groups do not overlap. The key, the restart cost and the constant are in no group."""


def mask_without(parts: Sequence[str], hidden: int) -> Mask:
    """Make a mask: 1 where a weight is searched, 0 where it belongs to one of the `parts`; empty without parts.

    Raises `InputError` for an unknown part, and if no output is left.
    """
    for part in parts:
        if part not in OUTPUT and part not in FACTS:
            raise unknown_name("part of the learned index", part, [*OUTPUT, *FACTS])
    if set(OUTPUT) <= set(parts):
        raise InputError(f"frozen = {', '.join(parts)}; legal: {' or '.join(OUTPUT)}, not both")
    if not parts:
        return {}
    w1, w2, b2 = (np.ones(shape, np.float32) for shape in ((FEATURES, hidden), (hidden, OUTPUTS), OUTPUTS))
    w1[[NAMES.index(name) for part in parts for name in FACTS.get(part, ())]] = 0
    columns = [OUTPUT[part] for part in parts if part in OUTPUT]
    w2[:, columns], b2[columns] = 0, 0
    return {"w1": w1, "w2": w2, "b2": b2}
