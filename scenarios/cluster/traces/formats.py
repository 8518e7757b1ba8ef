"""Formats of job traces: each is recognised by the first line of a file, and read into the same jobs."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path

from ...csv_table import first_line
from ...registry import Registry
from ..scenario import Jobs
from ..variability.quantiles import CLASSES
from .models import Model


class DurationUnit(StrEnum):
    """What a trace's durations count."""

    SECONDS = "seconds"
    ITERATIONS = "iterations"


@dataclass(frozen=True)
class TraceUse:
    """What a cluster makes of a trace."""

    models: Mapping[str, Model]
    """Iteration time and app class of every known model."""
    unit: DurationUnit
    gpus: int
    """GPUs of the cluster: the largest legal demand."""
    classes: tuple[str, ...] = CLASSES
    """App classes that the cluster has scores for."""


@dataclass(frozen=True)
class TraceFormat:
    """A catalog entry: how to recognise a format and how to read it."""

    name: str
    about: str
    recognises: Callable[[str], bool]
    """From the first line of a file, without its line break, to whether the file has this format."""
    read: Callable[[Path, TraceUse], tuple[Jobs, list[str]]]
    """(jobs, remarks for the user). Raises `InputError` with file, row, value and what is legal."""


TRACE_FORMATS: Registry[TraceFormat] = Registry("trace format")
USUAL = "sia"


def add_trace_format(entry: TraceFormat) -> None:
    """Add a format, so that `--trace`, `--traces` and `ClusterFiles` read it. Raises `InputError` for a taken name."""
    TRACE_FORMATS.add(entry.name, entry)


def find_format(path: Path, name: str = "") -> TraceFormat:
    """The format of that name, or else the one that recognises the file; `sia` says what it misses in a file of none.

    Raises `InputError` for an unknown name.
    """
    if name:
        return TRACE_FORMATS.find(name)
    line = first_line(path)
    return next((entry for entry in TRACE_FORMATS.values() if entry.recognises(line)), TRACE_FORMATS[USUAL])
