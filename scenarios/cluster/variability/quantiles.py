"""Published spreads of GPU speed: quantiles of measured slowdowns, median = 1.0.

Source: measurements behind Sinha et al., "Not All GPUs Are Created Equal" (SC 2022) and Jain et al., "PAL"
(SC 2024), files `aggregated_data/` of github.com/hal-uw/blox-pal (MIT): ResNet-50 (class A), BERT (class B) and
PageRank (class D) on Longhorn (V100) and Frontera (RTX 5000). `per_run` divides every run by the median run;
`per_gpu` takes each GPU's median over its runs and divides by the median GPU. The quantiles were computed from those
rows; comments mark classes that were not measured.
"""

from __future__ import annotations

from enum import StrEnum

Knots = tuple[float, ...]


class Kind(StrEnum):
    """The unit that one score describes: a GPU or a single run."""

    PER_GPU = "per_gpu"
    PER_RUN = "per_run"


FINE: Knots = (0.0, 0.01, 0.05, 0.1, 0.25, 0.5, 0.75, 0.9, 0.95, 0.97, 0.98, 0.985, 0.99, 0.995, 1.0)
COARSE: Knots = (0.0, 0.01, 0.05, 0.1, 0.25, 0.5, 0.75, 0.9, 0.95, 0.99, 1.0)

Law = dict[Kind, tuple[Knots, Knots]]
"""Cumulative probabilities and the slowdowns at these probabilities."""

_LONGHORN_A: Law = {  # 1,404 runs of 336 GPUs
    Kind.PER_RUN: (
        FINE,
        (
            0.9102,
            0.936,
            0.9499,
            0.9592,
            0.9771,
            1.0,
            1.0331,
            1.0883,
            1.1318,
            1.1907,
            1.2568,
            1.3253,
            2.62,
            2.7459,
            3.5687,
        ),
    ),
    Kind.PER_GPU: (
        FINE,
        (
            0.9449,
            0.963,
            0.9704,
            0.9754,
            0.9853,
            1.0,
            1.0156,
            1.0313,
            1.0604,
            1.0834,
            1.0934,
            1.1039,
            1.1103,
            1.113,
            1.1205,
        ),
    ),
}
_LONGHORN_B: Law = {  # 1,096 runs of 136 GPUs
    Kind.PER_RUN: (
        FINE,
        (
            0.9655,
            0.9697,
            0.9785,
            0.983,
            0.9904,
            1.0,
            1.0105,
            1.0212,
            1.0256,
            1.0283,
            1.0307,
            1.0336,
            1.0368,
            1.0464,
            1.2953,
        ),
    ),
    Kind.PER_GPU: (
        FINE,
        (
            0.9858,
            0.9864,
            0.9927,
            0.9936,
            0.9969,
            1.0,
            1.004,
            1.0069,
            1.0104,
            1.0122,
            1.0327,
            1.0351,
            1.036,
            1.0374,
            1.0391,
        ),
    ),
}
_LONGHORN_D: Law = {  # 880 runs of 172 GPUs
    Kind.PER_RUN: (
        FINE,
        (
            0.9688,
            0.9703,
            0.9711,
            0.9718,
            0.9991,
            1.0,
            1.001,
            1.002,
            1.0025,
            1.0032,
            1.0033,
            1.0036,
            1.0037,
            1.0039,
            1.005,
        ),
    ),
    Kind.PER_GPU: (
        FINE,
        (
            0.9707,
            0.9708,
            0.9713,
            0.9716,
            0.9995,
            1.0,
            1.0008,
            1.0017,
            1.0021,
            1.0023,
            1.0026,
            1.0028,
            1.003,
            1.0033,
            1.0036,
        ),
    ),
}
_FRONTERA_A: Law = {  # 1,480 runs of 296 GPUs
    Kind.PER_RUN: (
        FINE,
        (
            0.9738,
            0.9793,
            0.9844,
            0.9879,
            0.9936,
            1.0,
            1.0079,
            1.0238,
            1.0627,
            1.1107,
            1.1214,
            1.1246,
            1.1315,
            1.1377,
            1.1537,
        ),
    ),
    Kind.PER_GPU: (
        FINE,
        (
            0.9844,
            0.9864,
            0.9905,
            0.9929,
            0.996,
            1.0,
            1.0035,
            1.0196,
            1.0619,
            1.1163,
            1.1242,
            1.1267,
            1.1293,
            1.1332,
            1.1449,
        ),
    ),
}
_FRONTERA_B: Law = {  # 1,656 runs of 276 GPUs
    Kind.PER_RUN: (COARSE, (0.9882, 0.9908, 0.993, 0.9947, 0.9972, 1.0, 1.0031, 1.0054, 1.0071, 1.0589, 1.0637)),
    Kind.PER_GPU: (COARSE, (0.9912, 0.9918, 0.9936, 0.9955, 0.9974, 1.0, 1.003, 1.0046, 1.0062, 1.0583, 1.0602)),
}
_FRONTERA_D: Law = {  # 1,240 runs of 248 GPUs
    Kind.PER_RUN: (COARSE, (0.9973, 0.9979, 0.9988, 0.9993, 0.9996, 1.0, 1.0004, 1.0006, 1.0008, 1.001, 1.0014)),
    Kind.PER_GPU: (COARSE, (0.9988, 0.9992, 0.9994, 0.9995, 0.9997, 1.0, 1.0003, 1.0005, 1.0006, 1.0007, 1.0009)),
}

CLASSES = ("A", "B", "C", "D")
"""From A, compute-bound and most sensitive to variability, to D, memory-bound and hardly sensitive (PAL)."""

MEASURED: dict[str, dict[str, Law]] = {
    # Class C was not measured separately on either machine: BERT (class B) is used instead, as in PAL's simulator.
    "longhorn": {"A": _LONGHORN_A, "B": _LONGHORN_B, "C": _LONGHORN_B, "D": _LONGHORN_D},
    "frontera": {"A": _FRONTERA_A, "B": _FRONTERA_B, "C": _FRONTERA_B, "D": _FRONTERA_D},
}
