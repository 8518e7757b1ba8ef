"""Built-in scenarios of the training cluster."""

from __future__ import annotations

from collections.abc import Callable

from ..entry import ScenarioEntry
from .source import ClusterPlatform, ClusterSynthetic, Source
from .tiny import TinyCluster
from .variability.scores import Variability
from .workloads import SiaPhilly, Synergy

WORLD = "cluster"
"""Name of this kind of world."""


def _sia(span_h: float = 5.0, slow_rate: float = 0.0) -> Callable[[str], Source]:
    return lambda name: ClusterSynthetic(
        name, SiaPhilly(span_h=span_h), ClusterPlatform(), Variability(slow_rate=slow_rate)
    )


def _synergy(name: str) -> Source:
    return ClusterSynthetic(name, Synergy(), ClusterPlatform(nodes=64, round_s=300.0))


def _frontera(name: str) -> Source:
    return ClusterSynthetic(name, SiaPhilly(), ClusterPlatform(), Variability(cluster="frontera"))


_MAKERS: dict[str, tuple[Callable[[str], Source], str]] = {
    "tiny": (TinyCluster, "2 nodes x 2 GPUs, 4 jobs; its Gantt chart is derived by hand in the docs"),
    "sia-64": (_sia(), "16 x 4 Longhorn V100s, 160 Sia-Philly jobs in 5 hours"),
    "sia-64-2h": (_sia(span_h=2.0), "sia-64 with all jobs within 2 hours"),
    "sia-64-20h": (_sia(span_h=20.0), "sia-64 spread over 20 hours"),
    "sia-64-60h": (_sia(span_h=60.0), "sia-64 spread over 60 hours"),
    "sia-64-heavy-pm": (_sia(slow_rate=0.08), "sia-64 with 8 % of the GPUs slow for all classes"),
    "synergy-256": (_synergy, "64 x 4 Longhorn V100s, a steady Synergy stream of 8 jobs per hour"),
    "frontera-64": (_frontera, "16 x 4 Frontera RTX 5000s (class C: B stands in), Sia-Philly jobs"),
}
SCENARIOS = {name: ScenarioEntry(WORLD, make, about) for name, (make, about) in _MAKERS.items()}
