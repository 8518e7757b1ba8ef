"""Rows say which code they came from."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest
from varigym.bench.grid.provenance import commit

ROOT = Path(__file__).resolve().parents[3]


def test_a_checkout_is_named_by_its_commit() -> None:
    if not (ROOT / ".git").exists():
        pytest.skip("no checkout")
    head = subprocess.run(["git", "-C", str(ROOT), "rev-parse", "--short=12", "HEAD"], capture_output=True, check=True)
    assert commit().startswith(head.stdout.decode().strip())
