"""What a case gathers: values by name, each with all that came under the same name before."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from corpus.packing import Array, Arrays

MEASURED = "decision_ms"
"""A metric that differs from run to run."""


def text(lines: Any) -> Array:
    """Text as bytes, so that it is compared to the letter."""
    return np.frombuffer("\n".join(map(str, lines)).encode(), np.uint8)


class Trail:
    """Values of one name end up one after the other in one flat array."""

    def __init__(self) -> None:
        self._parts: dict[str, list[Array]] = {}

    def add(self, name: str, value: Any, told: Array | None = None) -> None:
        """Add a value, or every value of a dictionary; of a batch only the lanes that `told` says have it."""
        if isinstance(value, Mapping):
            for key, inner in value.items():
                if not key.startswith("_") and key != MEASURED:
                    self.add(f"{name}.{key}", inner, value.get(f"_{key}", told))
            return
        array = np.asarray(value)
        if told is not None:
            array = array[told]
        if array.dtype == object:
            for one in array:
                self.add(name, one)
        else:
            self._parts.setdefault(name, []).append(np.ravel(text(array.ravel()) if array.dtype.kind == "U" else array))

    def fields(self, name: str, owner: Any, names: str) -> None:
        """Add attributes of an object, named in one string."""
        for field in names.split():
            self.add(f"{name}.{field}", getattr(owner, field))

    def arrays(self) -> Arrays:
        """All of it."""
        return {name: np.concatenate(parts) for name, parts in self._parts.items()}
