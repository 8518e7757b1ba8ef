"""Built-in scenarios, their knobs, and the seeds of the banks."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, fields, replace
from enum import StrEnum
from typing import TypeVar

from .cluster.source import ClusterPlatform, ClusterSynthetic, Source
from .cluster.tiny import TinyCluster
from .cluster.variability.scores import Variability
from .cluster.workloads import SiaPhilly, Synergy
from .errors import InputError, unknown_name
from .knobs import base_name, read_knobs
from .serverless.arrivals import HEAVY, LIGHT, NORMAL, Arrivals
from .serverless.profiles.measured import MeasuredProfiles
from .serverless.shapes import CLASSIFIERS, ESG, FORK_JOIN
from .serverless.source import ServerlessPlatform, ServerlessSource, ServerlessSynthetic
from .serverless.tiny import tiny_serverless


class Kind(StrEnum):
    """Which world a scenario is of."""

    CLUSTER = "cluster"
    SERVERLESS = "serverless"


@dataclass(frozen=True)
class Entry:
    """A catalog line: how to make the source of a training cluster, and what it is."""

    make: Callable[[str], Source]
    about: str
    kind = Kind.CLUSTER


@dataclass(frozen=True)
class ServerlessEntry:
    """A catalog line of the serverless world."""

    make: Callable[[str], ServerlessSynthetic]
    about: str
    warm_name: str = ""
    """The scenario that this one is a cold variant of."""
    kind = Kind.SERVERLESS


def _sia(span_h: float = 5.0, slow_rate: float = 0.0) -> Callable[[str], Source]:
    return lambda name: ClusterSynthetic(
        name, SiaPhilly(span_h=span_h), ClusterPlatform(), Variability(slow_rate=slow_rate)
    )


def _synergy(name: str) -> Source:
    return ClusterSynthetic(name, Synergy(), ClusterPlatform(nodes=64, round_s=300.0))


def _frontera(name: str) -> Source:
    return ClusterSynthetic(name, SiaPhilly(), ClusterPlatform(), Variability(cluster="frontera"))


Make = Callable[[str], ServerlessSynthetic]
MEASURED_LIGHT, MEASURED_NORMAL, MEASURED_HEAVY = (12.8, 21.6), (6.4, 10.8), (3.2, 5.4)
"""Gaps in ms that load 28 vGPUs at minimum configuration by 21, 42 and 84 %, as the others load 112."""


def _esg(slo_factor: float, gap_ms: tuple[float, float], load: float = 1.0, burst_s: float = 0.0) -> Make:
    platform = ServerlessPlatform(slo_factor=slo_factor)
    arrivals = Arrivals(*gap_ms, load=load, burst_s=burst_s)
    return lambda name: ServerlessSynthetic(name, ESG, platform, arrivals=arrivals)


def _fork_join(name: str) -> ServerlessSynthetic:
    return ServerlessSynthetic(name, FORK_JOIN, ServerlessPlatform(), arrivals=Arrivals(load=1.5))


def _measured(slo_factor: float, gap_ms: tuple[float, float]) -> Make:
    platform = ServerlessPlatform(invokers=4, slo_factor=slo_factor)
    arrivals = Arrivals(*gap_ms, warmup_s=10.0, measured_s=60.0, drain_s=10.0)
    return lambda name: ServerlessSynthetic(name, CLASSIFIERS, platform, MeasuredProfiles(), arrivals)


def _cold(make: Make) -> Make:
    def make_cold(name: str) -> ServerlessSynthetic:
        source = make(name)
        return replace(source, platform=replace(source.platform, warm=0))

    return make_cold


CLUSTER: dict[str, Entry] = {
    "tiny": Entry(TinyCluster, "2 nodes x 2 GPUs, 4 jobs; its Gantt chart is derived by hand in the docs"),
    "sia-64": Entry(_sia(), "16 x 4 Longhorn V100s, 160 Sia-Philly jobs in 5 hours"),
    "sia-64-2h": Entry(_sia(span_h=2.0), "sia-64 with all jobs within 2 hours"),
    "sia-64-20h": Entry(_sia(span_h=20.0), "sia-64 spread over 20 hours"),
    "sia-64-60h": Entry(_sia(span_h=60.0), "sia-64 spread over 60 hours"),
    "sia-64-heavy-pm": Entry(_sia(slow_rate=0.08), "sia-64 with 8 % of the GPUs slow for all classes"),
    "synergy-256": Entry(_synergy, "64 x 4 Longhorn V100s, a steady Synergy stream of 8 jobs per hour"),
    "frontera-64": Entry(_frontera, "16 x 4 Frontera RTX 5000s (class C: B stands in), Sia-Philly jobs"),
}

_WARM: dict[str, ServerlessEntry] = {
    "tiny-serverless": ServerlessEntry(tiny_serverless, "2 invokers of 2 vGPUs, 6 requests, no noise; by hand"),
    "strict-light": ServerlessEntry(_esg(0.8, LIGHT), "ESG: 16 invokers of 7 vGPUs, 21 % load, SLO 0.8"),
    "moderate-normal": ServerlessEntry(_esg(1.0, NORMAL), "ESG: 43 % load, SLO 1.0"),
    "relaxed-heavy": ServerlessEntry(_esg(1.2, HEAVY), "ESG: 85 % load, SLO 1.2"),
    "strict-heavy": ServerlessEntry(_esg(0.8, HEAVY), "ours: 85 % load, SLO 0.8"),
    "tight-normal": ServerlessEntry(_esg(0.5, NORMAL), "ours: 43 % load, SLO 0.5"),
    "overload": ServerlessEntry(_esg(1.2, HEAVY, load=1.3), "ours: 111 % load, SLO 1.2"),
    "burst": ServerlessEntry(_esg(1.0, HEAVY, burst_s=5.0), "ours: 5 s at 136 % load, 10 s at 60 %, SLO 1.0"),
    "fork-join": ServerlessEntry(_fork_join, "ours: two functions side by side, 84 % load, SLO 1.0"),
    "measured-strict-light": ServerlessEntry(
        _measured(0.8, MEASURED_LIGHT), "ours: measured classifiers, 4 invokers of 7 vGPUs, 21 % load, SLO 0.8"
    ),
    "measured-moderate-normal": ServerlessEntry(
        _measured(1.0, MEASURED_NORMAL), "ours: measured classifiers, 42 % load, SLO 1.0"
    ),
    "measured-strict-heavy": ServerlessEntry(
        _measured(0.8, MEASURED_HEAVY), "ours: measured classifiers, 84 % load, SLO 0.8"
    ),
}
SERVERLESS: dict[str, ServerlessEntry] = {
    **_WARM,
    **{
        f"{name}-cold": ServerlessEntry(_cold(entry.make), f"{name} that starts without containers (warm=0)", name)
        for name, entry in _WARM.items()
    },
}
SCENARIOS: dict[str, Entry | ServerlessEntry] = {**CLUSTER, **SERVERLESS}
"""All of them, by name; load is the share of the vGPUs that requests hold at minimum configuration."""


def find_scenario(text: str) -> Source:
    """The training cluster that `NAME[:KNOB=VALUE...]` names, e.g. `sia-64:restart_s=90:spread=2`.

    Knobs are the fields of the scenario's platform, variability and workload. Raises `InputError`.
    """
    name = base_name(text)
    if name in SERVERLESS:
        raise InputError(
            f"scenario '{name}' is a serverless platform (find_serverless); legal here: {', '.join(CLUSTER)}"
        )
    if name not in CLUSTER:
        raise unknown_name("scenario", name, SCENARIOS)
    return _set_all(CLUSTER[name].make(text), text)


def find_serverless(text: str) -> ServerlessSource:
    """The serverless platform that `NAME[:KNOB=VALUE...]` names, e.g. `strict-heavy:warm=2:noise_cv=0.2`.

    Knobs are the simple fields of the scenario's platform, profiles, arrivals and noise. Raises `InputError`.
    """
    name = base_name(text)
    if name in CLUSTER:
        raise InputError(f"scenario '{name}' is a training cluster; legal here: {', '.join(_WARM)}")
    if name not in SERVERLESS:
        raise unknown_name("scenario", name, SERVERLESS)
    return _set_all(SERVERLESS[name].make(text), text)


def find_source(text: str) -> Source | ServerlessSource:
    """The source that `NAME[:KNOB=VALUE...]` names, of either kind. Raises `InputError`."""
    name = base_name(text)
    if name not in SCENARIOS:
        raise unknown_name("scenario", name, SCENARIOS)
    return find_serverless(text) if SCENARIOS[name].kind is Kind.SERVERLESS else find_scenario(text)


PARTS = ("platform", "variability", "workload", "profiles", "arrivals", "noise")
"""Parts of a source whose fields are knobs."""
AnySource = TypeVar("AnySource", Source, ServerlessSynthetic)


def knobs(source: Source | ServerlessSource) -> dict[str, tuple[str, object]]:
    """Every knob of a source: name -> (part that holds it, its value)."""
    return {
        field.name: (part, getattr(getattr(source, part), field.name))
        for part in PARTS
        if hasattr(source, part)
        for field in fields(getattr(source, part))
        if isinstance(getattr(getattr(source, part), field.name), bool | int | float | str)
    }


def _set_all(source: AnySource, text: str) -> AnySource:
    """All knobs at once, so that their order does not matter. Raises `InputError`."""
    homes, parts = knobs(source), dict[str, dict[str, object]]()
    present = {key: value for key, (_, value) in homes.items()}
    for key, value in read_knobs("scenario", text, present, tables=("locality_penalty",)).items():
        parts.setdefault(homes[key][0], {})[key] = value
    changed = {part: replace(getattr(source, part), **given) for part, given in parts.items()}
    return replace(source, **changed)  # type: ignore[type-var]
