"""A serverless scenario on the host: plain NumPy arrays, checked when they are created."""

from __future__ import annotations

import hashlib
import math
from dataclasses import dataclass, fields, is_dataclass
from enum import StrEnum

import numpy as np

from ..checks import as_array, as_member, check_distinct, check_each, check_flag, check_number, check_whole
from ..errors import InputError
from ..types import Ints
from .configs import ConfigGrid
from .requests import Requests
from .workflows import MOST_MS, Function, Workflow

MOST_INVOKERS, MOST_WORKFLOWS, MOST_FUNCTIONS = 4096, 256, 256
MOST_PER_INVOKER = 1024
MOST_WARM = 64
MOST_OVERHEAD_MS = 1000.0


class Scan(StrEnum):
    """The order in which queues are visited; ESG's own order is not known."""

    ROUND_ROBIN = "rr"
    SLACK = "slack"
    LONGEST = "longest"


@dataclass(frozen=True)
class Prices:
    """Prices of resources while a task holds them; only their ratio matters for decisions."""

    usd_per_vcpu_h: float = 0.034
    usd_per_vgpu_h: float = 0.67

    def __post_init__(self) -> None:
        check_number("usd_per_vcpu_h", self.usd_per_vcpu_h, 0, 1e6)
        check_number("usd_per_vgpu_h", self.usd_per_vgpu_h, 0, 1e6)


@dataclass(frozen=True)
class Transfer:
    """Time to read an input of m MB: fixed ms + m / bandwidth, from the same invoker or from another one."""

    local_ms: float = 0.2
    local_gb_s: float = 5.0
    remote_ms: float = 1.0
    remote_gb_s: float = 1.25
    """10 Gbit/s Ethernet."""

    def __post_init__(self) -> None:
        for name in ("local_ms", "remote_ms"):
            check_number(name, getattr(self, name), 0, MOST_MS)
        for name in ("local_gb_s", "remote_gb_s"):
            if getattr(self, name) != math.inf:
                check_number(name, getattr(self, name), 1e-6)

    def most_ms(self, mb: float) -> float:
        """Return the longer of the local and the remote time for `mb` MB."""
        return max(self.local_ms + mb / self.local_gb_s, self.remote_ms + mb / self.remote_gb_s)


TRANSFERS: dict[str, Transfer] = {
    "fast": Transfer(),
    "slow": Transfer(remote_ms=5.0, remote_gb_s=0.06),
    "none": Transfer(0.0, math.inf, 0.0, math.inf),
}
"""Transfers by name; `slow` models an object store."""


@dataclass(frozen=True)
class ServerlessScenario:
    """A platform, its functions and workflows, and the requests that arrive. I invokers, X configurations.

    Raises `InputError` if the parts do not fit together or a value is not legal.
    """

    name: str
    grid: ConfigGrid
    functions: tuple[Function, ...]
    workflows: tuple[Workflow, ...]
    vcpu: Ints
    """vCPUs of each invoker [I]."""
    vgpu: Ints
    """vGPUs of each invoker [I]; any shares that sum to at most this number fit."""
    requests: Requests
    horizon_ms: float
    """Time at which the simulation is cut off."""
    window_ms: tuple[float, float]
    """Measured window [from, to): requests that arrive in it are counted."""
    prices: Prices = Prices()
    transfer: Transfer = Transfer()
    warm: int = 7
    """Idle containers per invoker and function at time 0."""
    keep_alive_s: float = 600.0
    """Idle time after which a container is removed."""
    prewarm: bool = True
    """The start of a task orders a container of each next function on its invoker, if there is none."""
    bill_cold: bool = False
    """Whether cold starts are billed too."""
    overhead_ms: float = 0.0
    """Time of the controller per visit to a queue."""
    scan: Scan = Scan.ROUND_ROBIN
    locality: bool = True
    """Whether dispatch prefers invokers that hold the inputs."""

    def __post_init__(self) -> None:
        for name in ("vcpu", "vgpu"):
            object.__setattr__(self, name, as_array(name, getattr(self, name), np.int32, 1))
        object.__setattr__(self, "scan", as_member("scan", self.scan, Scan))
        object.__setattr__(self, "functions", tuple(self.functions))
        object.__setattr__(self, "workflows", tuple(self.workflows))
        _check_platform(self)
        _check_functions(self)
        _check_invokers(self)
        _check_requests(self)
        _check_durations(self)

    @property
    def invokers(self) -> int:
        """I, the number of invokers."""
        return len(self.vcpu)

    @property
    def stages(self) -> int:
        """S, the largest number of stages of any workflow."""
        return max(workflow.stages for workflow in self.workflows)

    @property
    def queues(self) -> tuple[tuple[int, int], ...]:
        """(workflow, stage) of each AFW queue, workflow by workflow, stage by stage [Q]."""
        return tuple((w, stage) for w, workflow in enumerate(self.workflows) for stage in range(workflow.stages))

    @property
    def data_hash(self) -> str:
        """First 12 hex digits of SHA-256 over all data that determine a result; the name is left out."""
        digest = hashlib.sha256()
        for field in fields(self):
            if field.name != "name":
                digest.update(f"{field.name}=".encode() + _bytes(getattr(self, field.name)))
        return digest.hexdigest()[:12]

    @property
    def remarks(self) -> tuple[str, ...]:
        """Remarks for the user: workflows whose SLO no configuration can meet, even on an empty platform."""
        fastest = [function.latency_ms.min() for function in self.functions]
        least = {w.name: w.critical_path([fastest[f] for f in w.functions]) for w in self.workflows}
        return tuple(
            f"workflow {w.name}: slo_ms = {w.slo_ms:g}, but its fastest configurations take {least[w.name]:g} ms: "
            "no request can meet it"
            for w in self.workflows
            if least[w.name] > w.slo_ms
        )


def _bytes(value: object) -> bytes:
    if isinstance(value, np.ndarray):
        return f"{value.dtype}{value.shape}".encode() + value.tobytes()
    if is_dataclass(value):
        parts = (f"{field.name}=".encode() + _bytes(getattr(value, field.name)) for field in fields(value))
        return b"(" + b";".join(parts) + b")"
    if isinstance(value, tuple):
        return b"(" + b",".join(_bytes(part) for part in value) + b")"
    return repr(value).encode()


def _check_platform(scenario: ServerlessScenario) -> None:
    for name, kind in (("grid", ConfigGrid), ("prices", Prices), ("transfer", Transfer), ("requests", Requests)):
        if not isinstance(getattr(scenario, name), kind):
            raise InputError(f"{name} is a {type(getattr(scenario, name)).__name__}; legal: {kind.__name__}")
    check_whole("warm", scenario.warm, 0, MOST_WARM)
    check_number("keep_alive_s", scenario.keep_alive_s, 0, MOST_MS / 1000)
    check_number("overhead_ms", scenario.overhead_ms, 0, MOST_OVERHEAD_MS)
    for name in ("prewarm", "bill_cold", "locality"):
        check_flag(name, getattr(scenario, name))


def _check_functions(scenario: ServerlessScenario) -> None:
    check_whole("number of functions", len(scenario.functions), 1, MOST_FUNCTIONS)
    check_whole("number of workflows", len(scenario.workflows), 1, MOST_WORKFLOWS)
    check_distinct("function", (function.name for function in scenario.functions))
    check_distinct("workflow", (workflow.name for workflow in scenario.workflows))
    for function in scenario.functions:
        if len(function.latency_ms) != scenario.grid.size:
            raise InputError(
                f"latency_ms of {function.name} has {len(function.latency_ms)} values; "
                f"legal: one per configuration, {scenario.grid.size}"
            )
    for workflow in scenario.workflows:
        for stage, index in enumerate(workflow.functions):
            check_whole(f"function of stage {stage} of {workflow.name}", index, 0, len(scenario.functions) - 1)


def _check_invokers(scenario: ServerlessScenario) -> None:
    check_whole("number of invokers", scenario.invokers, 1, MOST_INVOKERS)
    if len(scenario.vgpu) != scenario.invokers:
        raise InputError(f"vcpu and vgpu have lengths {scenario.invokers} and {len(scenario.vgpu)}; they must be equal")
    for name in ("vcpu", "vgpu"):
        values = getattr(scenario, name)
        check_each(name, values, (values >= 1) & (values <= MOST_PER_INVOKER), f"1 to {MOST_PER_INVOKER}")
    vcpu, vgpu = max(scenario.grid.vcpus), max(scenario.grid.vgpus)
    if not ((scenario.vcpu >= vcpu) & (scenario.vgpu >= vgpu)).any():
        raise InputError(
            f"no invoker can hold a configuration of {vcpu} vCPU and {vgpu} vGPU (vcpu and vgpu are at most "
            f"{scenario.vcpu.max()} and {scenario.vgpu.max()}); use larger invokers or a smaller grid"
        )


def _check_requests(scenario: ServerlessScenario) -> None:
    requests = scenario.requests
    known = (requests.workflow >= 0) & (requests.workflow < len(scenario.workflows))
    check_each("workflow", requests.workflow, known, f"a workflow index, 0 to {len(scenario.workflows) - 1}")
    if requests.noise.shape[1] < scenario.stages:
        raise InputError(f"noise has {requests.noise.shape[1]} stages; legal: at least {scenario.stages}")
    check_number("horizon_ms", scenario.horizon_ms, 0, MOST_MS, above=True)
    if requests.arrival_ms[-1] > scenario.horizon_ms:
        raise InputError(
            f"the last request arrives at {requests.arrival_ms[-1]} ms; legal: by horizon_ms = {scenario.horizon_ms:g}"
        )
    first, last = scenario.window_ms
    if not 0 <= first < last <= scenario.horizon_ms:
        raise InputError(f"window_ms = {scenario.window_ms}; legal: 0 <= from < to <= {scenario.horizon_ms:g}")
    if not np.array_equal(requests.counted, (requests.arrival_ms >= first) & (requests.arrival_ms < last)):
        raise InputError(f"counted does not say which requests arrive in window_ms = {scenario.window_ms}")
    if not requests.counted.any():
        raise InputError(f"no request arrives in the measured window {scenario.window_ms} ms; at least one must")


def _check_durations(scenario: ServerlessScenario) -> None:
    """Refuse tasks so long that one started at the horizon might end beyond 32-bit ticks."""
    noise, batch = float(scenario.requests.noise.max()), max(scenario.grid.batches)
    for function in scenario.functions:
        run_ms = float(function.latency_ms.max()) * noise
        longest = function.cold_start_ms + scenario.transfer.most_ms(batch * function.input_mb) + run_ms
        if not longest <= MOST_MS:
            raise InputError(f"a task of {function.name} may take {longest:.3g} ms; legal: at most {MOST_MS:g}")
