"""A user's own Python file that a command imports first."""

from __future__ import annotations

import importlib.util
import os.path
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated

from tyro.conf import arg

from ..bench.grid.provenance import add_plugin
from ..scenarios.errors import InputError, closest
from .named import option_in

PluginOption = Annotated[
    Path | None,
    arg(help="Python file of your own to import first; it may add policies, scenarios and more."),
]


_LOADED: set[Path] = set()
"""Files that this process has imported; a second import would add their entries twice."""


def plugin_of(words: Sequence[str]) -> Path | None:
    """The file that the words of a command name; it is imported before they are read, since it may add choices."""
    named = option_in(words, "--plugin")
    return None if named is None else Path(named)


def load_plugin(path: Path | None) -> None:
    """Import the file, if one is given. Raises `InputError` for any error in it."""
    if path is None or path.resolve() in _LOADED:
        return
    if not os.path.exists(path):  # unlike Path.exists, False for impossible paths
        raise InputError(f"{path}: no such file{_hint(path)}")
    name = f"varigym_plugin_{path.stem}"
    spec = importlib.util.spec_from_file_location(name, path)
    if spec is None or spec.loader is None or not path.is_file():
        raise InputError(f"{path}: not a Python file")
    try:
        add_plugin(path.name, path.read_bytes())
    except OSError as error:
        raise InputError(f"{path}: cannot be read ({error.strerror})") from None
    sys.modules[name] = module = importlib.util.module_from_spec(spec)  # dataclasses look their module up by its name
    try:
        spec.loader.exec_module(module)
    except InputError:
        raise
    except Exception as error:  # a user's file may raise anything
        raise InputError(f"{path}: {type(error).__name__}: {error}") from None
    _LOADED.add(path.resolve())


def _hint(path: Path) -> str:
    """Suggest the Python files of the same folder with the most similar names."""
    try:
        beside = sorted(other.stem for other in path.parent.glob("*.py"))
    except (OSError, ValueError):
        return ""
    found = closest(path.stem, beside, lambda stem: str(path.with_name(f"{stem}.py")))
    return f"; {found}" if found else ""
