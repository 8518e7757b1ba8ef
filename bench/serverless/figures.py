"""Figures of a benchmark as SVG text."""

from __future__ import annotations

from html import escape

import numpy as np

from ...envs.serverless.metrics import QUANTILES
from ..grid.experiment import Results

ROW, LEFT, WIDTH = 24, 280, 1000
"""Pixels of a row, of the names beside it, and of the whole."""
TOP = 10
"""Pixels above the first row, for its figure."""
MOST = 3.0
"""Latency / SLO at the right edge; what lies beyond is drawn there, with its figure."""
BOX = (0.05, 0.25, 0.5, 0.75, 0.95, 0.99)
COLOUR = "#4477aa"


def latency_figures(results: Results) -> list[tuple[str, str]]:
    """(title, SVG) per scenario: latency / SLO of served requests, the quantiles averaged over seeds."""
    title = "latency / SLO of served requests: 5-95 %, quartiles, median; dot: 99 %"
    return [(f"{source.name}: {title}", _boxes(results, source.name)) for source in results.grid.sources]


def latency_quantiles(results: Results, scenario: str, policy: str) -> list[float]:
    """Mean over seeds of each of `BOX`; NaN where no request was served."""
    assert set(BOX) <= set(QUANTILES)
    found = [results.values(scenario, policy, f"latency_over_slo[{share:g}]") for share in BOX]
    return [float(np.nanmean(values)) if np.isfinite(values).any() else np.nan for values in found]


def _boxes(results: Results, scenario: str) -> str:
    policies = results.grid.policies
    height = ROW * (len(policies) + 1) + 10
    parts = [_axis(height)]
    for n, policy in enumerate(policies):
        y = ROW * n + ROW / 2
        parts.append(f'<text x="{LEFT - 10}" y="{y + 4}" text-anchor="end">{escape(policy.name)}</text>')
        quantiles = latency_quantiles(results, scenario, policy.name)
        known = np.isfinite(quantiles).all()
        parts.append(_box(y, quantiles) if known else f'<text x="{LEFT}" y="{y + 4}">none served</text>')
    size = f'viewBox="0 {-TOP} {WIDTH} {height + TOP}" width="{WIDTH}" height="{height + TOP}"'
    return f"<svg {size}>{''.join(parts)}</svg>"


def _box(y: float, quantiles: list[float]) -> str:
    low, first, median, third, high, last = (_x(value) for value in quantiles)
    beyond = quantiles[-1] > MOST
    return (
        f'<line x1="{low}" x2="{high}" y1="{y}" y2="{y}" stroke="{COLOUR}"/>'
        f'<rect x="{first}" width="{max(third - first, 1):.1f}" y="{y - 7}" height="14" fill="{COLOUR}" opacity=".5"/>'
        f'<line x1="{median}" x2="{median}" y1="{y - 7}" y2="{y + 7}" stroke="#000"/>'
        f'<circle cx="{last}" cy="{y}" r="3" fill="{COLOUR}"/>'
        + (f'<text x="{WIDTH - 26}" y="{y - 6}" text-anchor="end">99 %: {quantiles[-1]:.1f}</text>' if beyond else "")
    )


def _axis(height: int) -> str:
    """Marks at every half, and the SLO itself in red."""
    marks = []
    for value in np.arange(0, MOST + 0.1, 0.5):
        x, colour = _x(float(value)), "#cc3311" if value == 1 else "#dddddd"
        marks.append(f'<line x1="{x}" x2="{x}" y1="0" y2="{height - 20}" stroke="{colour}"/>')
        marks.append(f'<text x="{x}" y="{height - 5}" text-anchor="middle">{value:g}</text>')
    return "".join(marks)


def _x(value: float) -> float:
    return round(LEFT + (WIDTH - LEFT - 20) * min(value, MOST) / MOST, 1)
