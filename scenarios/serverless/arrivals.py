"""Streams of requests: a warm-up, the measured window, and time for the last ones to finish."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ..checks import check_number
from ..errors import InputError
from ..types import Floats, Ints
from .requests import MOST_REQUESTS
from .workflows import MOST_MS

LIGHT, NORMAL, HEAVY = (40.0, 67.2), (20.0, 33.6), (10.0, 16.8)
"""Gaps in ms between requests, all workflows together. Recalled from ESG's evaluation; said to come from Azure."""
STEADY = 1.0


@dataclass(frozen=True)
class Arrivals:
    """Requests with uniformly distributed gaps; the workflow of each is drawn uniformly.

    A gap is drawn from [gap_low_ms, gap_high_ms] and divided by the rate at its start: `load`, times the rate of the
    phase if there is a cycle of bursts and lulls. The cycle starts with a burst at time 0.
    """

    gap_low_ms: float = HEAVY[0]
    gap_high_ms: float = HEAVY[1]
    load: float = 1.0
    """Factor on the arrival rate."""
    burst_s: float = 0.0
    """Length of a burst; 0: there are no bursts, and arrivals are steady."""
    lull_s: float = 10.0
    """Time between bursts."""
    burst_rate: float = 1.6
    """Factor on the arrival rate during a burst."""
    lull_rate: float = 0.7
    """Factor on the arrival rate between bursts."""
    warmup_s: float = 60.0
    """Warm-up: requests arrive but do not count."""
    measured_s: float = 300.0
    """Measured window: requests that arrive in it count."""
    drain_s: float = 60.0
    """Time without new requests after the window; then the simulation is cut off."""

    def __post_init__(self) -> None:
        check_number("gap_low_ms", self.gap_low_ms, 0, MOST_MS, above=True)
        check_number("gap_high_ms", self.gap_high_ms, 0, MOST_MS)
        if self.gap_high_ms < self.gap_low_ms:
            least = f"a finite number >= {self.gap_low_ms:g} (gap_low_ms)"
            raise InputError(f"gap_high_ms = {self.gap_high_ms}; legal: {least} and <= {MOST_MS:g}")
        for name in ("load", "burst_rate", "lull_rate"):
            check_number(name, getattr(self, name), 1e-3, 1e3)
        for name in ("burst_s", "lull_s", "warmup_s", "drain_s"):
            check_number(name, getattr(self, name), 0, MOST_MS / 1000)
        check_number("measured_s", self.measured_s, 0, MOST_MS / 1000, above=True)
        check_number("warmup_s + measured_s + drain_s", self.horizon_ms / 1000, 0, MOST_MS / 1000)
        if self._most_gaps > MOST_REQUESTS:
            raise InputError(
                f"up to {self._most_gaps:.3g} requests would arrive; legal: at most {MOST_REQUESTS:,}; "
                "use longer gaps (gap_low_ms), less load (load, burst_rate, lull_rate) or a shorter window (warmup_s, "
                "measured_s)"
            )

    @property
    def window_ms(self) -> tuple[float, float]:
        """Measured window [from, to)."""
        return 1000.0 * self.warmup_s, 1000.0 * (self.warmup_s + self.measured_s)

    @property
    def horizon_ms(self) -> float:
        """End of the simulation."""
        return self.window_ms[1] + 1000.0 * self.drain_s

    @property
    def longest_gap_s(self) -> float:
        """Longest possible gap; every longer window has a request."""
        slowest = min(self.burst_rate, self.lull_rate) if self.burst_s else STEADY
        return self.gap_high_ms / (self.load * slowest) / 1000

    def draw(self, gaps: np.random.Generator, mix: np.random.Generator, workflows: int) -> tuple[Floats, Ints]:
        """Draw the arrival times in ms, up to the end of the window, and the workflow of each request [R].

        Raises `InputError` if no request is in the measured window.
        """
        draws = int(self._most_gaps)
        gap_ms = self.gap_low_ms + (self.gap_high_ms - self.gap_low_ms) * gaps.random(draws)
        arrival_ms = self._bursty(gap_ms / self.load) if self.burst_s else np.cumsum(gap_ms / self.load)
        arrival_ms = arrival_ms[arrival_ms < self.window_ms[1]]
        if not (arrival_ms >= self.window_ms[0]).any():
            raise InputError(
                f"measured_s = {self.measured_s}: no request arrives in the measured window; legal: any window longer "
                f"than {self.longest_gap_s:g} s, the longest gap (gap_high_ms, over load and rate)"
            )
        return arrival_ms, (mix.random(len(arrival_ms)) * workflows).astype(np.int32)

    def _bursty(self, gap_ms: Floats) -> Floats:
        """Return arrival times; each gap is divided by the rate of the phase in which it starts."""
        cycle_ms, burst_ms = 1000.0 * (self.burst_s + self.lull_s), 1000.0 * self.burst_s
        times, now = [], 0.0
        for gap in gap_ms.tolist():
            now += gap / (self.burst_rate if now % cycle_ms < burst_ms else self.lull_rate)
            times.append(now)
            if now >= self.window_ms[1]:
                break
        return np.array(times)

    @property
    def _most_gaps(self) -> float:
        rate = self.load * (max(self.burst_rate, self.lull_rate) if self.burst_s else STEADY)
        return np.ceil(self.window_ms[1] * rate / self.gap_low_ms) + 1
