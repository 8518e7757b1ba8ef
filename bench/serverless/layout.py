"""Which columns the result tables of the serverless platform have."""

from __future__ import annotations

from ...envs.serverless.metrics import METRICS
from ..grid.columns import Difference, Mean, Ratio
from ..grid.layout import Layout

HIT, COST = "hit_rate", "cost_usd_per_request"
LAYOUT = Layout(
    columns=(
        Mean("hit %\n[95 %]", HIT, 1, 100, bounds=True),
        Ratio("cost ratio\n[95 %]", COST),
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
        Difference("hit rate less baseline's, points [95 %]", HIT, 1, 100),
        Ratio("cost ratio [95 %]", COST),
    ),
    summary="Mean (of ratios: geometric)",
    along_knobs=(
        Mean("hit rate, % [95 %]", HIT, 1, 100, bounds=True),
        Ratio(f"{COST} over {{baseline}}'s [95 %]", COST),
    ),
    known=tuple(METRICS),
    judged=(
        Difference("hit rate less {expert}'s,\npoints [95 %]", HIT, 2, 100),
        Ratio("cost per request over\n{expert}'s [95 %]", COST, 4),
    ),
    overview=(
        Mean("Hit rate, % [95 %]", HIT, 1, 100, bounds=True),
        Difference("Hit rate less {baseline}'s, points, paired by seed [95 %]", HIT, 1, 100),
        Ratio(f"{COST} over {{baseline}}'s, paired by seed [95 %]", COST),
    ),
    legend=f"cost ratio: {COST} over {{baseline}}'s, paired by seed, geometric mean; lat/SLO: latency over "
    "SLO of served requests; decision us: wall time of the episode per visit on this machine",
)
