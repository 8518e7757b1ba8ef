"""`tiny-serverless`: a world small enough to follow by hand."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ..errors import InputError, unknown_name
from ..types import Floats, Ints
from .configs import ConfigGrid
from .noise import Noise
from .shapes import pipeline
from .source import ServerlessPlatform, ServerlessSynthetic
from .workflows import Function

LATENCY_MS = {"look": (100.0, 60.0, 150.0, 90.0), "say": (40.0, 30.0, 60.0, 40.0)}
"""Latencies under (batch, vCPU, vGPU) = (1, 1, 1), (1, 1, 2), (2, 1, 1), (2, 1, 2)."""
COLD_START_MS = 500.0
SHAPES = (pipeline("look-and-say", "look", "say"), pipeline("say-only", "say"))
ARRIVAL_MS = (0.0, 10.0, 20.0, 30.0, 130.0, 140.0)
WORKFLOW = (0, 0, 1, 0, 1, 0)


@dataclass(frozen=True)
class TinyProfiles:
    """Two functions in four configurations; inputs have size 0, so that a transfer takes only its fixed time."""

    @property
    def configs(self) -> ConfigGrid:
        """Batches of 1 or 2, one vCPU, 1 or 2 vGPUs."""
        return ConfigGrid(batches=(1, 2), vcpus=(1,), vgpus=(1, 2))

    def function(self, name: str) -> Function:
        """Return the profile of `look` or `say`."""
        if name not in LATENCY_MS:
            raise unknown_name("function", name, LATENCY_MS)
        return Function(name, np.array(LATENCY_MS[name]), COLD_START_MS, input_mb=0.0)


@dataclass(frozen=True)
class TinyArrivals:
    """Six requests within 140 ms."""

    @property
    def window_ms(self) -> tuple[float, float]:
        """Measured window; all requests are in it."""
        return 0.0, 200.0

    @property
    def horizon_ms(self) -> float:
        """End of the simulation: two seconds, enough for a cold start."""
        return 2000.0

    def draw(self, gaps: np.random.Generator, mix: np.random.Generator, workflows: int) -> tuple[Floats, Ints]:
        """Return the same six requests for every seed."""
        if workflows != len(SHAPES):
            raise InputError(f"tiny-serverless has {len(SHAPES)} workflows, not {workflows}")
        return np.array(ARRIVAL_MS), np.array(WORKFLOW, np.int32)


def tiny_serverless(name: str) -> ServerlessSynthetic:
    """Make 2 invokers of 2 vCPUs and 2 vGPUs, each with a warm container per function; SLO = 1.5 x the minimum."""
    platform = ServerlessPlatform(invokers=2, vcpu=2, vgpu=2, slo_factor=1.5, warm=1)
    return ServerlessSynthetic(name, SHAPES, platform, TinyProfiles(), TinyArrivals(), Noise(0.0, 0.0))
