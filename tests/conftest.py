"""Settings of every test: 64-bit JAX, strict broadcasting, and where the optional reference data lie."""

from __future__ import annotations

import os
from pathlib import Path

import hypothesis
import jax
import pytest
import varigym

varigym.configure(x64=True)
jax.config.update("jax_numpy_rank_promotion", "raise")

hypothesis.settings.register_profile("varigym", deadline=None, derandomize=True, print_blob=True)
hypothesis.settings.load_profile("varigym")


@pytest.fixture(scope="session")
def shared() -> Path:
    """Folder of real traces and golden results: $VARIGYM_SHARED, or `shared` beside the checkout."""
    folder = Path(os.environ.get("VARIGYM_SHARED", Path(__file__).resolve().parents[2] / "shared"))
    if not folder.is_dir():
        pytest.skip(f"no reference data at {folder} (set VARIGYM_SHARED)")
    return folder
