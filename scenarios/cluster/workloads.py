"""Job streams drawn from published statistics: Sia-Philly and Synergy."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

import numpy as np

from ..errors import InputError
from ..types import Ints
from .scenario import Compat, Jobs, make_jobs
from .traces.models import MODELS
from .variability.quantiles import CLASSES

HOUR_S = 3600.0
MOST_JOBS = 1_000_000
LEAST, MOST = 1e-3, 1e6
"""Legal range of hours and of jobs per hour."""
JITTER_SD = 0.3
"""Standard deviation of the log-normal jitter on ideal run times."""

SHAPES: tuple[tuple[str, int, int, tuple[int, ...]], ...] = (
    # model, GPUs, jobs of 800, ideal run time s at quantiles 0, .1, .25, .5, .75, .9, 1
    ("vgg19", 1, 339, (18, 21, 58, 305, 634, 813, 1027)),
    ("PointNet", 6, 88, (17, 21, 44, 255, 588, 782, 813)),
    ("PointNet", 8, 72, (17, 18, 53, 211, 543, 711, 797)),
    ("PointNet", 12, 77, (17, 20, 54, 262, 456, 754, 878)),
    ("PointNet", 16, 69, (17, 20, 81, 250, 449, 721, 825)),
    ("resnet50", 4, 50, (232, 2513, 6427, 9873, 16876, 22447, 33737)),
    ("resnet50", 24, 5, (13502, 13502, 25916, 36830, 102598, 209312, 209312)),
    ("resnet50", 32, 8, (16950, 19738, 23169, 31249, 107656, 245213, 510859)),
    ("resnet50", 48, 5, (24841, 24841, 31780, 40054, 83079, 102598, 102598)),
    ("DCGAN", 6, 20, (171, 187, 194, 284, 475, 510, 1292)),
    ("DCGAN", 8, 18, (23, 176, 190, 279, 597, 844, 1351)),
    ("DCGAN", 12, 12, (125, 189, 269, 308, 1010, 1278, 1373)),
    ("BERT", 6, 6, (649, 649, 657, 668, 1646, 1646, 1720)),
    ("BERT", 8, 4, (387, 387, 664, 788, 788, 2042, 2042)),
    ("BERT", 12, 5, (137, 137, 1036, 1714, 2417, 2897, 2897)),
    ("BERT", 16, 6, (389, 389, 680, 707, 1408, 1408, 1760)),
    ("GPT2", 6, 6, (13478, 13478, 14803, 17625, 55160, 55160, 64217)),
    ("GPT2", 8, 2, (2196, 2196, 2196, 2196, 15521, 15521, 15521)),
    ("GPT2", 12, 4, (14414, 14414, 17700, 32460, 32460, 104131, 104131)),
    ("GPT2", 16, 4, (14371, 14371, 19000, 19786, 19786, 45878, 45878)),
)
"""Fitted to Sia-Philly workloads 1-5 of github.com/hal-uw/blox-pal (MIT; Jain et al., SC 2024): `duration` iterations
x the model's seconds per iteration."""
SHAPE_QUANTILES = (0.0, 0.1, 0.25, 0.5, 0.75, 0.9, 1.0)


class Workload(Protocol):
    """A random law of job streams; a frozen dataclass whose fields are its knobs."""

    def draw(self, rng: np.random.Generator, gpus: int, compat: Compat) -> Jobs:
        """Draw one stream for a cluster of `gpus` GPUs."""
        ...


@dataclass(frozen=True)
class SiaPhilly:
    """Many small jobs and a few very large ones within some hours (Sia-Philly marginals; PAL's main workload)."""

    jobs: int = 160
    """Number of jobs in the stream."""
    span_h: float = 5.0
    """Hours over which the jobs arrive, uniformly distributed."""

    def __post_init__(self) -> None:
        _within("jobs", self.jobs, 1, MOST_JOBS)
        _positive("span_h", self.span_h)

    def draw(self, rng: np.random.Generator, gpus: int, compat: Compat) -> Jobs:
        """Draw demand, run time and class together; shapes larger than the cluster are left out."""
        shapes = [shape for shape in SHAPES if shape[1] <= gpus]
        share = np.array([shape[2] for shape in shapes], np.float64)
        arrival_s = np.ceil(np.sort(rng.random(self.jobs)) * self.span_h * HOUR_S)
        pick = rng.choice(len(shapes), size=self.jobs, p=share / share.sum())
        u, jitter = rng.random(self.jobs), np.exp(JITTER_SD * rng.standard_normal(self.jobs))
        knots = [np.log(shape[3]) for shape in shapes]
        work_s = np.array([np.exp(np.interp(v, SHAPE_QUANTILES, knots[k])) for v, k in zip(u, pick, strict=True)])
        return make_jobs(
            job_id=_numbered(self.jobs),
            arrival_s=arrival_s,
            demand=np.array([shapes[k][1] for k in pick], np.int32),
            iterations=work_s * jitter,
            iter_s=np.ones(self.jobs),
            app_class=np.array([CLASSES.index(MODELS[shapes[k][0]].app_class) for k in pick], np.int32),
        )


SYNERGY_DEMAND = ((1, 0.7), (2, 0.1), (4, 0.15), (8, 0.05))
"""GPUs and their shares in PAL's Synergy workload, in its mode without logs (hal-uw/blox-pal)."""
SYNERGY_CLASSES = ("A", "C", "A", "D", "D", "B", "B", "D", "B")
"""Class of each entry of the model zoo; PAL's simulator never applies it and runs every job as class A."""


@dataclass(frozen=True)
class Synergy:
    """A steady stream on a large cluster (Synergy's use of Philly; PAL's 256-GPU study)."""

    load_per_h: float = 8.0
    """Poisson arrivals per hour; PAL used 8 to 14. A rate of 8 brings about as much work as 256 GPUs can do."""
    jobs: int = 1000
    """Number of jobs in the stream."""
    warm_up: int = 200
    """Number of first jobs that are not tracked, so that results describe a full cluster."""
    tracked: int = 300
    """Number of jobs after the warm-up that are tracked."""

    def __post_init__(self) -> None:
        _positive("load_per_h", self.load_per_h)
        _within("warm_up", self.warm_up, 0, MOST_JOBS)
        _within("tracked", self.tracked, 1, MOST_JOBS)
        if self.jobs < (least := self.warm_up + self.tracked):
            raise InputError(f"jobs = {self.jobs}; legal: {least} (warm_up + tracked) to {MOST_JOBS}")
        _within("jobs", self.jobs, 1, MOST_JOBS)

    def draw(self, rng: np.random.Generator, gpus: int, compat: Compat) -> Jobs:
        """Draw durations 60 * 10^u s, with u uniform on [3, 4] for 20 % of the jobs, else on [1.5, 3] (Gavel's law)."""
        n = self.jobs
        gap_s = np.ceil(rng.exponential(HOUR_S / self.load_per_h, n))
        long = rng.random(n) >= 0.8
        exponent = np.where(long, rng.uniform(3.0, 4.0, n), rng.uniform(1.5, 3.0, n))
        sizes, shares = zip(*[(d, p) for d, p in SYNERGY_DEMAND if d <= gpus], strict=True)
        demand: Ints = rng.choice(np.array(sizes, np.int32), size=n, p=np.array(shares) / sum(shares))
        zoo = rng.integers(len(SYNERGY_CLASSES), size=n)
        letters = ["A" if compat is Compat.ARTIFACT else SYNERGY_CLASSES[k] for k in zoo]
        position = np.arange(n)
        return make_jobs(
            job_id=_numbered(n),
            arrival_s=np.cumsum(gap_s),
            demand=demand,
            iterations=60.0 * 10.0**exponent,
            iter_s=np.ones(n),
            app_class=np.array([CLASSES.index(c) for c in letters], np.int32),
            tracked=(position >= self.warm_up) & (position < self.warm_up + self.tracked),
        )


@dataclass(frozen=True)
class Tiny:
    """Four jobs to follow by hand (docs/tiny.md draws their Gantt chart)."""

    def draw(self, rng: np.random.Generator, gpus: int, compat: Compat) -> Jobs:
        """Return the same four jobs for every seed."""
        return make_jobs(
            job_id=_numbered(4),
            arrival_s=np.array([0.0, 0.0, 30.0, 60.0]),
            demand=np.array([2, 1, 2, 1], np.int32),
            iterations=np.array([120.0, 60.0, 120.0, 120.0]),
            iter_s=np.ones(4),
            app_class=np.array([0, 1, 0, 0], np.int32),
        )


def _numbered(n: int) -> np.ndarray[tuple[int], np.dtype[np.str_]]:
    return np.arange(n).astype(np.str_)


def _within(name: str, value: int, least: int, most: int) -> None:
    if not least <= value <= most:
        raise InputError(f"{name} = {value}; legal: {least} to {most}")


def _positive(name: str, value: float) -> None:
    if not LEAST <= value <= MOST:
        raise InputError(f"{name} = {value}; legal: {LEAST:g} to {MOST:g}")
