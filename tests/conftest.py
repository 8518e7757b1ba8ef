"""Settings of every test: 64-bit JAX, strict broadcasting, and where the optional reference data lie."""

from __future__ import annotations

import gc
import os
import signal
from collections.abc import Iterator
from pathlib import Path

import hypothesis
import jax
import pytest
import varigym

varigym.configure(x64=True)
jax.config.update("jax_numpy_rank_promotion", "raise")

hypothesis.settings.register_profile("varigym", deadline=None, derandomize=True, print_blob=True)
hypothesis.settings.load_profile("varigym")


@pytest.fixture
def heard() -> Iterator[None]:
    """Child processes hear Ctrl-C, even where these tests were started in a way that ignores it (`... &`)."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


@pytest.fixture(scope="session")
def shared() -> Path:
    """Folder of real traces and golden results: $VARIGYM_SHARED, or `shared` beside the checkout."""
    folder = Path(os.environ.get("VARIGYM_SHARED", Path(__file__).resolve().parents[2] / "shared"))
    if not folder.is_dir():
        pytest.skip(f"no reference data at {folder} (set VARIGYM_SHARED)")
    return folder


MOST_MAPS = 15_000
"""Memory maps of compiled programs that are kept from module to module; Linux allows a process some 65,000."""


@pytest.fixture(scope="module", autouse=True)
def few_compiled_programs() -> Iterator[None]:
    """Forget compiled programs between modules before there are too many of them."""
    yield
    maps = Path("/proc/self/maps")
    if maps.exists() and maps.read_text().count("\n") > MOST_MAPS:
        jax.clear_caches()
        gc.collect()
