"""A file with given content, for the readers."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

WriteFile = Callable[[str | bytes], Path]


@pytest.fixture
def write(tmp_path: Path) -> WriteFile:
    """Write text or bytes to `given.csv` and return its path."""

    def write_file(content: str | bytes) -> Path:
        path = tmp_path / "given.csv"
        path.write_bytes(content if isinstance(content, bytes) else content.encode())
        return path

    return write_file
