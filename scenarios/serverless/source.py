"""Sources of serverless scenarios; a source makes one world per seed."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Protocol

import numpy as np

from ..checks import as_member, check_number, check_whole
from ..errors import InputError, unknown_name
from ..seeds import rng_of
from ..types import Floats, Ints
from .arrivals import Arrivals
from .configs import ConfigGrid
from .noise import Noise
from .profiles.functions import LawProfiles
from .requests import Requests, make_requests
from .scenario import MOST_INVOKERS, MOST_PER_INVOKER, TRANSFERS, Prices, Scan, ServerlessScenario
from .shapes import Shape, function_names, promise
from .workflows import MOST_MS, Function, Workflow

_GAPS, _MIX, _NOISE, _STRAGGLERS = range(10, 14)


class ServerlessSource(Protocol):
    """Makes serverless scenarios."""

    @property
    def name(self) -> str:
        """Name of the scenario in the rows of a result."""
        ...

    def build(self, seed: int) -> ServerlessScenario:
        """Make the world of a seed; equal seeds give equal worlds."""
        ...

    def history(self) -> None:
        """Return None: schedulers know profiles and prices, but no past requests."""
        ...


class Profiles(Protocol):
    """The source of functions' latencies; a frozen dataclass whose simple fields are knobs."""

    @property
    def configs(self) -> ConfigGrid:
        """The configurations that the profiles cover."""
        ...

    def function(self, name: str) -> Function:
        """Return the profile of a function."""
        ...


class Stream(Protocol):
    """A random law of arrivals; a frozen dataclass whose fields are knobs."""

    @property
    def window_ms(self) -> tuple[float, float]:
        """Measured window [from, to)."""
        ...

    @property
    def horizon_ms(self) -> float:
        """End of the simulation."""
        ...

    def draw(self, gaps: np.random.Generator, mix: np.random.Generator, workflows: int) -> tuple[Floats, Ints]:
        """Draw arrival times and workflows [R]."""
        ...


@dataclass(frozen=True)
class ServerlessPlatform:
    """The machine, its SLOs and the rules that every scenario needs."""

    invokers: int = 16
    vcpu: int = 16
    """vCPUs per invoker."""
    vgpu: int = 7
    """vGPUs per invoker: one A100 in seven slices."""
    slo_factor: float = 1.0
    """SLO of a workflow divided by its latency at the minimum configuration."""
    warm: int = 7
    """Idle containers per invoker and function at the start."""
    keep_alive_s: float = 600.0
    """Idle time after which a container is removed (OpenWhisk's default)."""
    prewarm: bool = True
    """Order containers of the next functions whenever a task starts."""
    bill_cold: bool = False
    """Whether cold starts are billed too."""
    overhead_ms: float = 0.0
    """Time of the controller per visit to a queue."""
    transfer: str = "fast"
    """Transfer between invokers: fast (10 Gbit/s), slow (an object store) or none (takes no time)."""
    scan: Scan = Scan.ROUND_ROBIN
    """Order of visits: rr, slack or longest."""
    locality: bool = True
    """Dispatch prefers invokers that hold the inputs."""
    usd_per_vcpu_h: float = Prices().usd_per_vcpu_h
    usd_per_vgpu_h: float = Prices().usd_per_vgpu_h

    def __post_init__(self) -> None:
        check_whole("invokers", self.invokers, 1, MOST_INVOKERS)
        check_whole("vcpu", self.vcpu, 1, MOST_PER_INVOKER)
        check_whole("vgpu", self.vgpu, 1, MOST_PER_INVOKER)
        object.__setattr__(self, "scan", as_member("scan", self.scan, Scan))
        if self.transfer not in TRANSFERS:
            raise unknown_name("transfer", str(self.transfer), TRANSFERS)


@dataclass(frozen=True)
class ServerlessSynthetic:
    """Workflows of profiled functions, with requests drawn from a random law."""

    name: str
    shapes: tuple[Shape, ...]
    platform: ServerlessPlatform = ServerlessPlatform()
    profiles: Profiles = field(default_factory=LawProfiles)
    arrivals: Stream = Arrivals()
    noise: Noise = Noise()

    def build(self, seed: int) -> ServerlessScenario:
        """Draw the requests and noise of `seed`; changing one knob does not affect the other draws."""
        functions = tuple(self.profiles.function(name) for name in function_names(self.shapes))
        workflows = promise(self.shapes, functions, self.platform.slo_factor)
        arrival_ms, workflow = self.arrivals.draw(rng_of(seed, _GAPS), rng_of(seed, _MIX), len(workflows))
        requests = noisy_requests(arrival_ms, workflow, workflows, self.arrivals.window_ms, self.noise, seed)
        return assemble(
            self.name,
            self.platform,
            self.profiles.configs,
            functions,
            workflows,
            requests,
            self.arrivals.window_ms,
            self.arrivals.horizon_ms,
        )

    def history(self) -> None:
        """Return None: there are no past requests."""
        return


def windowed(source: Any, window_s: float) -> Any:
    """Return the same source with a window of `window_s`, no warm-up and no drain: episodes are cut off under load.

    A source without `Arrivals`, or a scenario, keeps its own length. Raises `InputError` for an illegal window, also
    for one in which some seed may have no request.
    """
    check_number("window_s", window_s, 0, MOST_MS / 1000, above=True)
    if not isinstance(source, ServerlessSynthetic) or not isinstance(source.arrivals, Arrivals):
        return source
    if window_s <= (gap_s := source.arrivals.longest_gap_s):
        raise InputError(f"window_s = {window_s}; legal: longer than {gap_s:g} s, the longest gap between requests")
    return replace(source, arrivals=replace(source.arrivals, warmup_s=0.0, measured_s=window_s, drain_s=0.0))


def noisy_requests(
    arrival_ms: Floats,
    workflow: Ints,
    workflows: Sequence[Workflow],
    window_ms: tuple[float, float],
    noise: Noise,
    seed: int,
) -> Requests:
    """Make requests with the noise of `seed`; the factor (r, s) does not depend on how many requests follow."""
    stages = max(shape.stages for shape in workflows)
    factors = noise.draw(rng_of(seed, _NOISE), rng_of(seed, _STRAGGLERS), len(arrival_ms), stages)
    return make_requests(arrival_ms, workflow, window_ms, factors)


def assemble(
    name: str,
    platform: ServerlessPlatform,
    configs: ConfigGrid,
    functions: tuple[Function, ...],
    workflows: tuple[Workflow, ...],
    requests: Requests,
    window_ms: tuple[float, float],
    horizon_ms: float,
) -> ServerlessScenario:
    """Make a scenario from its parts, with equal invokers."""
    return ServerlessScenario(
        name=name,
        grid=configs,
        functions=functions,
        workflows=workflows,
        vcpu=np.full(platform.invokers, platform.vcpu, np.int32),
        vgpu=np.full(platform.invokers, platform.vgpu, np.int32),
        requests=requests,
        horizon_ms=horizon_ms,
        window_ms=window_ms,
        prices=Prices(platform.usd_per_vcpu_h, platform.usd_per_vgpu_h),
        transfer=TRANSFERS[platform.transfer],
        warm=platform.warm,
        keep_alive_s=platform.keep_alive_s,
        prewarm=platform.prewarm,
        bill_cold=platform.bill_cold,
        overhead_ms=platform.overhead_ms,
        scan=platform.scan,
        locality=platform.locality,
    )
