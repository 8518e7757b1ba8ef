"""The code that produced a row: version and git commit."""

from __future__ import annotations

import hashlib
import subprocess
from functools import cache
from importlib import metadata
from pathlib import Path

_PLUGINS: dict[str, str] = {}
ROOT = Path(__file__).resolve().parents[2]


@cache
def version() -> str:
    """The installed version of varigym."""
    return metadata.version("varigym")


def commit() -> str:
    """Return the package's short git commit, with `-dirty-HASH` for uncommitted changes; `none` outside a checkout."""
    return _checkout() + "".join(f"+{name}:{digest}" for name, digest in _PLUGINS.items())


def add_plugin(name: str, text: bytes) -> None:
    """Include code from outside the package in the result of `commit`."""
    _PLUGINS[name] = hashlib.sha256(text).hexdigest()[:6]


@cache
def _checkout() -> str:
    top = _git("rev-parse", "--show-toplevel")
    head = _git("rev-parse", "--short=12", "HEAD")
    if not top or not head or Path(top).resolve() != ROOT:
        return "none"
    changes = _git("diff", "HEAD")
    return f"{head}-dirty-{hashlib.sha256(changes.encode()).hexdigest()[:6]}" if changes else head


def _git(*words: str) -> str:
    try:
        done = subprocess.run(["git", "-C", str(ROOT), *words], capture_output=True, text=True, timeout=10, check=False)
    except (OSError, subprocess.TimeoutExpired):
        return ""
    return done.stdout.strip() if done.returncode == 0 else ""
