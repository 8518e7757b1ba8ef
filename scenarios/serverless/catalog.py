"""Built-in scenarios of the serverless platform; load is the share of vGPUs that requests hold at minimum shares."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from ..entry import ScenarioEntry
from .arrivals import HEAVY, LIGHT, NORMAL, Arrivals
from .profiles.measured import MeasuredProfiles
from .shapes import CLASSIFIERS, ESG, FORK_JOIN
from .source import ServerlessPlatform, ServerlessSynthetic
from .tiny import tiny_serverless

WORLD = "serverless"
"""Name of this kind of world."""
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


_MEASURED = "ours: measured classifiers"
_WARM: dict[str, tuple[Make, str]] = {
    "tiny-serverless": (tiny_serverless, "2 invokers of 2 vGPUs, 6 requests, no noise; by hand"),
    "strict-light": (_esg(0.8, LIGHT), "ESG: 16 invokers of 7 vGPUs, 21 % load, SLO 0.8"),
    "moderate-normal": (_esg(1.0, NORMAL), "ESG: 43 % load, SLO 1.0"),
    "relaxed-heavy": (_esg(1.2, HEAVY), "ESG: 85 % load, SLO 1.2"),
    "strict-heavy": (_esg(0.8, HEAVY), "ours: 85 % load, SLO 0.8"),
    "tight-normal": (_esg(0.5, NORMAL), "ours: 43 % load, SLO 0.5"),
    "overload": (_esg(1.2, HEAVY, load=1.3), "ours: 111 % load, SLO 1.2"),
    "burst": (_esg(1.0, HEAVY, burst_s=5.0), "ours: 5 s at 136 % load, 10 s at 60 %, SLO 1.0"),
    "fork-join": (_fork_join, "ours: two functions side by side, 84 % load, SLO 1.0"),
    "measured-strict-light": (
        _measured(0.8, MEASURED_LIGHT),
        f"{_MEASURED}, 4 invokers of 7 vGPUs, 21 % load, SLO 0.8",
    ),
    "measured-moderate-normal": (_measured(1.0, MEASURED_NORMAL), f"{_MEASURED}, 42 % load, SLO 1.0"),
    "measured-strict-heavy": (_measured(0.8, MEASURED_HEAVY), f"{_MEASURED}, 84 % load, SLO 0.8"),
}


def _cold_entry(name: str, make: Make) -> ScenarioEntry:
    about = f"{name} that starts without containers (warm=0)"
    return ScenarioEntry(WORLD, _cold(make), about, knobs=f"those of {name}, warm=0")


SCENARIOS = {
    **{name: ScenarioEntry(WORLD, make, about) for name, (make, about) in _WARM.items()},
    **{f"{name}-cold": _cold_entry(name, make) for name, (make, _) in _WARM.items()},
}
