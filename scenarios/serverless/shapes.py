"""The workflows of the built-in scenarios, by the names of their functions."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from ..checks import check_number
from .workflows import Function, Workflow, chain


@dataclass(frozen=True)
class Shape:
    """A workflow with named functions, without profiles and SLO."""

    name: str
    functions: tuple[str, ...]
    """Name of each stage's function."""
    edges: tuple[tuple[int, int], ...]


def pipeline(name: str, *functions: str) -> Shape:
    """Return a workflow of functions that run one after the other."""
    return Shape(name, functions, chain(len(functions)))


FORK_JOIN_EDGES = ((0, 1), (0, 2), (1, 3), (2, 3))

ESG = (
    pipeline("image-classification", "super-resolution", "segmentation", "classification"),
    pipeline("depth-recognition", "deblur", "super-resolution", "depth"),
    pipeline("background-elimination", "super-resolution", "deblur", "background-removal"),
    pipeline(
        "expanded-image-classification",
        "deblur",
        "super-resolution",
        "background-removal",
        "segmentation",
        "classification",
    ),
)
"""The four pipelines of ESG's evaluation, recalled and unchecked."""

FORK_JOIN = (Shape("fork-join", ("super-resolution", "segmentation", "deblur", "classification"), FORK_JOIN_EDGES),)
"""Our own: two functions that run in parallel."""

CLASSIFIERS = (
    pipeline("cascade", "inceptionv3", "resnet50", "resnet101"),
    pipeline("tagging", "resnet50", "vgg16"),
    pipeline("second-opinion", "densenet121", "resnet101", "vgg16"),
    Shape("ensemble", ("inceptionv3", "resnet50", "densenet121", "vgg16"), FORK_JOIN_EDGES),
)
"""Our own: workflows of the models that ParvaGPU's authors measured."""


def function_names(shapes: Sequence[Shape]) -> tuple[str, ...]:
    """Return the functions that workflows use, in order of first use."""
    return tuple(dict.fromkeys(name for shape in shapes for name in shape.functions))


def promise(shapes: Sequence[Shape], functions: Sequence[Function], slo_factor: float) -> tuple[Workflow, ...]:
    """Make workflows whose SLO is `slo_factor` times L, the critical path's latency at the minimum configuration.

    L includes neither queueing nor transfer (ESG's definition, recalled). Configuration 0 is the minimum.
    """
    check_number("slo_factor", slo_factor, 0, 1e3, above=True)
    index = {function.name: number for number, function in enumerate(functions)}
    workflows = []
    for shape in shapes:
        stages = tuple(index[name] for name in shape.functions)
        slowest = Workflow(shape.name, stages, shape.edges, slo_ms=1.0)
        length_ms = slowest.critical_path([float(functions[f].latency_ms[0]) for f in stages])
        workflows.append(Workflow(shape.name, stages, shape.edges, slo_factor * length_ms))
    return tuple(workflows)
