"""Application classes: groups of models equally sensitive to slow GPUs, by K-means on FU and DRAM utilisation.

The method is PAL's (Jain et al., SC 2024), but its measured utilisations are not public. `ILLUSTRATIVE` is therefore
made up: it says which models are compute-bound and which memory-bound, and gives the classes of PAL's simulator.
Provide your own measurements in a model file (docs/scenarios.md).
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from ...errors import InputError

SEED, RESTARTS = 1, 10

ILLUSTRATIVE: dict[str, tuple[float, float]] = {
    "resnet50": (88.0, 35.0),
    "GPT2": (66.0, 52.0),
    "BERT": (64.0, 55.0),
    "DCGAN": (62.0, 50.0),
    "vgg19": (42.0, 72.0),
    "PointNet": (15.0, 90.0),
}
"""Model -> (FU utilisation %, DRAM utilisation %). Illustrative, not measured."""


def classify(utilisation: Mapping[str, tuple[float, float]], classes: int = 4) -> dict[str, str]:
    """Return the class letter of each model, by K-means on (FU %, DRAM %); A has the highest FU utilisation.

    Raises `InputError` for values outside 0-100 or fewer models than classes.
    """
    from sklearn.cluster import KMeans  # slow to import

    names = list(utilisation)
    points = np.array([utilisation[name] for name in names], np.float64).reshape(-1, 2)
    for name, point in zip(names, points, strict=True):
        if not ((point >= 0) & (point <= 100)).all():
            raise InputError(f"model '{name}': utilisation (FU {point[0]}, DRAM {point[1]}); legal: 0 to 100 %")
    if len(np.unique(points, axis=0)) < classes:
        raise InputError(f"{len(names)} models cannot form {classes} classes; give more models or their app_class")
    kmeans = KMeans(n_clusters=classes, n_init=RESTARTS, random_state=SEED)  # pyright: ignore[reportArgumentType]
    labels = kmeans.fit_predict(points)
    by_fu = np.argsort(np.argsort(-kmeans.cluster_centers_[:, 0]))
    return {name: chr(ord("A") + int(by_fu[label])) for name, label in zip(names, labels, strict=True)}
