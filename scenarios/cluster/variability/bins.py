"""PM bins: groups of GPUs that a scheduler treats as equally fast.

As in PAL (Jain et al., SC 2024), each outlier beyond mean + 3 sd gets its own bin, and K-means groups the rest, with K
chosen by silhouette. In one dimension, dynamic programming solves K-means exactly. It gives the optimum that restarts
of Lloyd's algorithm search for, needs no seed and is about a hundred times faster.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from ...types import Floats
from ..scenario import Compat

OUTLIER_SD = 3.0
FEWEST_BINS, MOST_BINS = 2, 10
"""Range of K that the silhouette chooses from."""
MOST_ROOM = 24
ARTIFACT_BINS = 2
"""K of the public simulator, whose search for K returns at its first step."""


def room_for_bins(gpus: int, compat: Compat) -> int:
    """Return the bins per class to make room for if a cluster's scores are drawn: the most possible, at most 24.

    Fewer than one value in ten lies beyond mean + 3 sd (Cantelli), so that 64 GPUs have at most 10 + 6 bins. Larger
    clusters could have more than 24, but draws of 256 GPUs never had more than 18.
    """
    grouped = ARTIFACT_BINS if compat is Compat.ARTIFACT else MOST_BINS
    return min(gpus, grouped + (gpus - 1) // 10, MOST_ROOM)


def bin_scores(scores: Floats, compat: Compat = Compat.PAPER) -> Floats:
    """Return the bin value of each GPU [G] from the PM scores [G]; equal values are one bin.

    `paper`: the bin is the mean score of its GPUs. `artifact`: K = 2 + number of outliers over all GPUs at once,
    and the values are divided by the median of the bins, as in hal-uw/blox-pal.
    """
    outlier = scores > scores.mean() + OUTLIER_SD * _sd(scores)
    if compat is Compat.ARTIFACT:
        centres = _means(scores, line_kmeans(scores, ARTIFACT_BINS + int(outlier.sum())))
        return centres / np.median(np.unique(centres))
    bins = scores.astype(np.float64).copy()
    bins[~outlier] = _means(scores[~outlier], best_grouping(scores[~outlier]))
    return bins


def best_grouping(values: Floats) -> NDArray[np.int64]:
    """Return the group of each value [n], for the K in 2..10 with the highest mean silhouette (ties: fewest groups)."""
    distinct = len(np.unique(values))
    if distinct <= FEWEST_BINS:
        return np.unique(values, return_inverse=True)[1].astype(np.int64)
    groupings = [line_kmeans(values, k) for k in range(FEWEST_BINS, min(MOST_BINS, distinct - 1) + 1)]
    return groupings[int(np.argmax([silhouette(values, g) for g in groupings]))]


def line_kmeans(values: Floats, k: int) -> NDArray[np.int64]:
    """Solve K-means exactly for points on a line; return groups [n], 0 = lowest, at most one per distinct value."""
    order = np.argsort(values, kind="stable")
    x = values[order] - values.mean()
    n, k = len(x), min(k, len(np.unique(values)))
    total = np.concatenate([[0.0], np.cumsum(x)])
    square = np.concatenate([[0.0], np.cumsum(x * x)])
    first, last = np.arange(n)[:, None], np.arange(n)[None, :]
    size = np.maximum(last - first + 1, 1)
    spread = square[1:][None, :] - square[:-1][:, None] - (total[1:][None, :] - total[:-1][:, None]) ** 2 / size
    cost = np.where(last >= first, np.maximum(spread, 0.0), np.inf)  # [i, j] within-group squares of x[i..j]

    best = cost[0]
    starts = [np.zeros(n, np.int64)]
    for _ in range(1, k):
        through = np.concatenate([[np.inf], best[:-1]])[:, None] + cost  # [i, j]: last group is x[i..j]
        starts.append(np.argmin(through, axis=0))
        best = np.min(through, axis=0)

    group = np.empty(n, np.int64)
    end = n
    for level in range(k - 1, -1, -1):
        begin = int(starts[level][end - 1])
        group[order[begin:end]] = level
        end = begin
    return group


def silhouette(values: Floats, group: NDArray[np.int64]) -> float:
    """Return the mean silhouette of a grouping (Rousseeuw 1987); a value alone in its group counts 0."""
    member = group[:, None] == np.arange(group.max() + 1)  # [n, K]
    size = member.sum(axis=0)
    distance = np.abs(values[:, None] - values[None, :]) @ member  # [n, K] summed distance to each group
    own = size[group]
    inside = distance[member] / np.maximum(own - 1, 1)
    outside = np.min(np.where(member, np.inf, distance / size), axis=1)
    widest = np.maximum(inside, outside)
    score = np.where((own > 1) & (widest > 0), (outside - inside) / np.where(widest > 0, widest, 1.0), 0.0)
    return float(score.mean())


def _means(values: Floats, group: NDArray[np.int64]) -> Floats:
    means: Floats = np.bincount(group, weights=values) / np.bincount(group)
    return means[group]


def _sd(values: Floats) -> float:
    return float(values.std(ddof=1)) if len(values) > 1 else 0.0
