"""What a model name in a trace means: seconds per iteration and app class."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from ...csv_table import Row, read_rows, refuse_duplicates
from ...errors import InputError, unknown_name
from ..variability.app_classes import classify
from ..variability.quantiles import CLASSES


@dataclass(frozen=True)
class Model:
    """A line of the model table."""

    iter_s: float
    """Ideal seconds per iteration."""
    app_class: str


MODELS: dict[str, Model] = {
    # Fixed table of PAL's public simulator (hal-uw/blox-pal, branch artifact).
    "resnet50": Model(0.17540429367763434, "A"),
    "GPT2": Model(3.5714, "B"),
    "BERT": Model(0.179, "B"),
    "DCGAN": Model(0.0469266931, "B"),
    "vgg19": Model(0.300610341, "C"),
    "PointNet": Model(0.28125, "D"),
}


def read_models(path: Path) -> dict[str, Model]:
    """The built-in table plus the rows of a CSV `model,iter_s,app_class`, which win.

    With `fu_pct,dram_pct` instead of `app_class`, classes are found by K-means over the file's models.
    Raises `InputError`.
    """
    rows = read_rows(path, ["model", "iter_s"])
    refuse_duplicates(rows, ["model"])
    columns = rows[0].cells
    if "app_class" in columns:
        classes = {row.text("model"): _letter(row) for row in rows}
    elif {"fu_pct", "dram_pct"} <= columns.keys():
        points = {r.text("model"): (r.number("fu_pct", 0, 100), r.number("dram_pct", 0, 100)) for r in rows}
        classes = _classified(path, points)
    else:
        raise InputError(f"{path}, line 1: needs the column app_class, or fu_pct and dram_pct")
    own = {r.text("model"): Model(r.number("iter_s", 0, above=True), classes[r.text("model")]) for r in rows}
    return MODELS | own


def find_model(row: Row, models: Mapping[str, Model]) -> Model:
    """The model that a trace row names; raises `InputError` with the closest names."""
    name = row.text("model")
    if name not in models:
        hint = unknown_name("model", name, models)
        raise InputError(
            f"{row.path}, line {row.line}: {hint}; add your own with --models FILE (model,iter_s,app_class)"
        )
    return models[name]


def _classified(path: Path, points: dict[str, tuple[float, float]]) -> dict[str, str]:
    try:
        return classify(points, len(CLASSES))
    except InputError as error:
        raise InputError(f"{path}: {error}") from None


def _letter(row: Row) -> str:
    letter = row.text("app_class")
    if letter not in CLASSES:
        raise row.error("app_class", ", ".join(CLASSES))
    return letter
