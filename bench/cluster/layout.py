"""Which columns the result tables of the training cluster have."""

from __future__ import annotations

from ...envs.cluster.metrics import METRICS
from ..grid.columns import Mean, Plain, Ratio
from ..grid.layout import Layout

HEADLINE = "mean_jct_s"
_OTHERS = [metric for metric in METRICS.values() if metric.name not in (HEADLINE, "unfinished")]
LAYOUT = Layout(
    columns=(
        Mean(f"{HEADLINE} [95 %]", HEADLINE, digits=0, bounds=True),
        Ratio("ratio [95 %]", HEADLINE),
        *(Plain(m.name.replace("_", "\n", 1), m.name, m.unit == "s" or m.name == "preemptions") for m in _OTHERS),
    ),
    headline=2,
    compared=(Ratio(f"{HEADLINE} ratio [95 %]", HEADLINE),),
    summary="Geometric mean",
    along_knobs=(Ratio(f"ratio of {HEADLINE} to {{baseline}} [95 %]", HEADLINE),),
    known=tuple(METRICS),
    judged=(Ratio(f"{HEADLINE} over {{expert}}'s\n[95 %]", HEADLINE, 4),),
    legend=f"ratio: {HEADLINE} over {{baseline}}'s, paired by seed, geometric mean; below 1 is better",
)
