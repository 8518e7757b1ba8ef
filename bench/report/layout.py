"""Which columns the result tables of each kind of world have."""

from __future__ import annotations

from dataclasses import dataclass

from ...envs.cluster.metrics import METRICS as CLUSTER_METRICS
from ..catalog import CLUSTER, BenchKind
from .columns import Column, Difference, Mean, Plain, Ratio

Compared = Ratio | Difference


@dataclass(frozen=True)
class Layout:
    """Tables of a kind of world."""

    columns: tuple[Column, ...]
    """Of the table of a scenario, a row per policy."""
    headline: int
    """How many of them stay together where the terminal is narrow."""
    compared: tuple[Compared, ...]
    """Summarised over scenarios."""
    summary: str
    """How."""
    along_knobs: tuple[Column, ...]
    """A table each where one knob is varied."""
    overview: tuple[Column, ...] = ()
    """A table each with a row per scenario and a column per policy."""
    legend: str = ""
    """What the comparison means; `{baseline}` stands for its name."""


HEADLINE = "mean_jct_s"
_OTHERS = [metric for metric in CLUSTER_METRICS if metric.name not in (HEADLINE, "unfinished")]
_JCT_RATIO = Ratio("ratio [95 %]", HEADLINE)
_CLUSTER = Layout(
    columns=(
        Mean(f"{HEADLINE} [95 %]", HEADLINE, digits=0, bounds=True),
        _JCT_RATIO,
        *(Plain(m.name.replace("_", "\n", 1), m.name, m.unit == "s" or m.name == "preemptions") for m in _OTHERS),
    ),
    headline=2,
    compared=(Ratio(f"{HEADLINE} ratio [95 %]", HEADLINE),),
    summary="Geometric mean",
    along_knobs=(Ratio(f"ratio of {HEADLINE} to {{baseline}} [95 %]", HEADLINE),),
    legend=f"ratio: {HEADLINE} over {{baseline}}'s, paired by seed, geometric mean; below 1 is better",
)

_HIT = Mean("hit %\n[95 %]", "hit_rate", 1, 100, bounds=True)
_COST = Ratio("cost ratio\n[95 %]", "cost_usd_per_request")
_SERVERLESS = Layout(
    columns=(
        _HIT,
        _COST,
        Mean("p50 of\nlat/SLO", "p50_latency_over_slo", 2),
        Mean("p99 of\nlat/SLO", "p99_latency_over_slo", 2),
        Mean("served\n%", "served", 1, 100),
        Mean("shed\n%", "shed", 1, 100),
        Mean("cold\nstarts", "cold_starts", 0),
        Mean("config\nmiss %", "config_miss_rate", 1, 100),
        Mean("vGPU\nutil. %", "vgpu_utilization", 0, 100),
        Mean("decision\nus", "decision_ms", 1, 1000),
    ),
    headline=6,
    compared=(
        Difference("hit rate less baseline's, points [95 %]", "hit_rate", 1, 100),
        Ratio("cost ratio [95 %]", "cost_usd_per_request"),
    ),
    summary="Mean (of ratios: geometric)",
    along_knobs=(
        Mean("hit rate, % [95 %]", "hit_rate", 1, 100, bounds=True),
        Ratio("cost_usd_per_request over {baseline}'s [95 %]", "cost_usd_per_request"),
    ),
    overview=(
        Mean("Hit rate, % [95 %]", "hit_rate", 1, 100, bounds=True),
        Difference("Hit rate less {baseline}'s, points, paired by seed [95 %]", "hit_rate", 1, 100),
        Ratio("cost_usd_per_request over {baseline}'s, paired by seed [95 %]", "cost_usd_per_request"),
    ),
    legend="cost ratio: cost_usd_per_request over {baseline}'s, paired by seed, geometric mean; lat/SLO: latency over "
    "SLO of served requests; decision us: wall time of the episode per visit on this machine",
)


def layout_of(kind: BenchKind) -> Layout:
    """The layout of a kind."""
    return _CLUSTER if kind is CLUSTER else _SERVERLESS
