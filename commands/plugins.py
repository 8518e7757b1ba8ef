"""Python files of a user's own that a command imports first."""

from __future__ import annotations

import importlib.util
import os.path
from pathlib import Path

from ..bench.grid.provenance import add_plugin
from ..scenarios.errors import InputError, closest


def load_plugin(path: Path | None) -> None:
    """Import the file, if one is given. Raises `InputError` for whatever goes wrong in it."""
    if path is None:
        return
    if not os.path.exists(path):  # unlike the method, False for what can be no path
        raise InputError(f"{path}: no such file{_hint(path)}")
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


def _hint(path: Path) -> str:
    """The closest Python files of the same folder."""
    try:
        beside = sorted(other.stem for other in path.parent.glob("*.py"))
    except (OSError, ValueError):
        return ""
    found = closest(path.stem, beside, lambda stem: str(path.with_name(f"{stem}.py")))
    return f"; {found}" if found else ""
