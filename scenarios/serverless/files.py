"""A serverless world from a user's own files: workflows, a latency table and arrivals."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

from ..checks import check_number
from ..errors import InputError
from .noise import Noise
from .profiles.latency_table import read_latency_table
from .requests import Requests
from .scenario import ServerlessScenario
from .source import ServerlessPlatform, assemble, noisy_requests
from .traces.arrivals import read_arrivals
from .traces.workflows import read_workflows
from .workflows import MOST_MS, Workflow


@dataclass(frozen=True)
class ServerlessFiles:
    """One list of arrivals on one platform; seeds differ only in the noise.

    The workflows' SLOs are in their file, so the platform's `slo_factor` is not used.
    """

    workflows: Path
    """CSV with columns `workflow,stage,function,after,slo_ms`."""
    latencies: Path
    """CSV with columns `function,batch,vcpu,vgpu,latency_ms[,cold_start_ms][,input_mb]`."""
    arrivals: Path
    """CSV with columns `[request_id,]arrival_ms,workflow`."""
    platform: ServerlessPlatform = ServerlessPlatform()
    noise: Noise = Noise()
    warmup_s: float = 0.0
    """Requests before this time do not count; the window ends with the last arrival."""
    drain_s: float = 60.0
    """Time after the last arrival until the simulation is cut off."""
    remarks: list[str] = field(default_factory=list, compare=False)
    """Remarks on the files for the user; filled by `build`."""

    def __post_init__(self) -> None:
        for name in ("workflows", "latencies", "arrivals"):
            object.__setattr__(self, name, Path(getattr(self, name)))
        check_number("warmup_s", self.warmup_s, 0, MOST_MS / 1000)
        check_number("drain_s", self.drain_s, 0, MOST_MS / 1000)

    @property
    def name(self) -> str:
        """File name of the arrivals without its extension."""
        return self.arrivals.stem

    def build(self, seed: int) -> ServerlessScenario:
        """Read the files and build the scenario. Raises `InputError` for illegal contents."""
        grid, functions, remarks = read_latency_table(self.latencies)
        names = [function.name for function in functions]
        workflows = read_workflows(self.workflows, names)
        requests, window_ms = self._requests(workflows, seed)
        horizon_ms = window_ms[1] + 1000 * self.drain_s
        scenario = assemble(self.name, self.platform, grid, functions, workflows, requests, window_ms, horizon_ms)
        told = (*remarks, *scenario.remarks, *self._own_remarks())
        self.remarks.extend(text for text in told if text not in self.remarks)
        return scenario

    def _own_remarks(self) -> list[str]:
        """Return remarks on settings that have no effect with these files."""
        if self.platform.slo_factor == ServerlessPlatform().slo_factor:
            return []
        return [f"slo_factor = {self.platform.slo_factor:g} is not used: {self.workflows} states every SLO"]

    def history(self) -> None:
        """Return None: there are no past requests."""
        return

    def _requests(self, workflows: tuple[Workflow, ...], seed: int) -> tuple[Requests, tuple[float, float]]:
        arrival_ms, workflow = read_arrivals(self.arrivals, [shape.name for shape in workflows])
        first, last = 1000 * self.warmup_s, float(arrival_ms[-1])
        if last < first:
            raise InputError(
                f"{self.arrivals}: the last request arrives at {last:g} ms; legal: after warmup_s = {self.warmup_s}"
            )
        window_ms = first, float(np.nextafter(last, np.inf))
        return noisy_requests(arrival_ms, workflow, workflows, window_ms, self.noise, seed), window_ms
