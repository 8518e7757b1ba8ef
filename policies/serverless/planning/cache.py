"""Keeps plans that took long to make, as JSON files in the user's cache: $VARIGYM_CACHE, else XDG's folder."""

from __future__ import annotations

import json
import os
import tempfile
import warnings
from pathlib import Path


class CacheNotice(UserWarning):
    """A cached file could not be used or written; the result is not affected."""


def cache_folder() -> Path:
    """Return $VARIGYM_CACHE, else $XDG_CACHE_HOME/varigym, else ~/.cache/varigym."""
    if chosen := os.environ.get("VARIGYM_CACHE"):
        return Path(chosen)
    base = os.environ.get("XDG_CACHE_HOME")
    return (Path(base) if base and Path(base).is_absolute() else Path.home() / ".cache") / "varigym"


def load(path: Path) -> dict[str, object] | None:
    """Return the object in a file; None if there is no file or, with a notice, if it cannot be read."""
    try:
        found = json.loads(path.read_text(encoding="utf-8"))
    except (FileNotFoundError, NotADirectoryError):
        return None
    except (OSError, ValueError) as error:
        refuse(path, str(error))
        return None
    if isinstance(found, dict):
        return found
    refuse(path, "not a JSON object")
    return None


def refuse(path: Path, why: str) -> None:
    """Warn that a cached file is not used."""
    warnings.warn(f"cached plan {path} cannot be used ({why}); it is computed again", CacheNotice, stacklevel=2)


def store(path: Path, content: dict[str, object]) -> None:
    """Write a file atomically, or give a notice if that is not possible."""
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        handle, name = tempfile.mkstemp(prefix=path.stem, suffix=".tmp", dir=path.parent)
    except OSError as error:
        warnings.warn(f"plan is not cached in {path.parent} ({error})", CacheNotice, stacklevel=2)
        return
    written = Path(name)
    try:
        with open(handle, "w", encoding="utf-8") as file:
            json.dump(content, file, indent=1, allow_nan=False)
        written.replace(path)
    except OSError as error:
        warnings.warn(f"plan is not cached in {path.parent} ({error})", CacheNotice, stacklevel=2)
    finally:
        written.unlink(missing_ok=True)
