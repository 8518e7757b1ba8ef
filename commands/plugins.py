"""Python files of a user's own that a command imports first."""

from __future__ import annotations

import importlib.util
from pathlib import Path

from ..bench.grid.provenance import add_plugin
from ..scenarios.errors import InputError


def load_plugin(path: Path | None) -> None:
    """Import the file, if one is given. Raises `InputError` for whatever goes wrong in it."""
    if path is None:
        return
    spec = importlib.util.spec_from_file_location(path.stem, path)
    if spec is None or spec.loader is None or not path.is_file():
        raise InputError(f"{path}: not a Python file")
    add_plugin(path.name, path.read_bytes())
    try:
        spec.loader.exec_module(importlib.util.module_from_spec(spec))
    except InputError:
        raise
    except Exception as error:  # whatever a stranger's file may raise
        raise InputError(f"{path}: {type(error).__name__}: {error}") from None
