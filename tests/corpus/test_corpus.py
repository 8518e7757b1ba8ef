"""Results that were recorded once and stay as they are: `record.py` writes them, and nothing else does.

Floats are compared with the tolerances of `packing`, since other processors may round otherwise; on the machine that
recorded them `VARIGYM_CORPUS_EXACT=1` asks for the last bit.
"""

from __future__ import annotations

import gc
import os
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import jax
import pytest
from corpus.cases import CASES, SHARED
from corpus.packing import Arrays, differences, digest_all, load

EXACT = os.environ.get("VARIGYM_CORPUS_EXACT") == "1"
MOST_MAPS = 15_000
"""As in conftest.py, but from case to case."""


@cache
def recorded() -> dict[str, Arrays]:
    return load(Path(__file__).with_name("corpus.npz"))


@pytest.fixture(autouse=True)
def few_compiled_programs_within() -> Iterator[None]:
    """Forget compiled programs between cases before there are too many of them."""
    yield
    maps = Path("/proc/self/maps")
    if maps.exists() and maps.read_text().count("\n") > MOST_MAPS:
        jax.clear_caches()
        gc.collect()


def test_every_case_is_recorded() -> None:
    assert list(recorded()) == list(CASES)


@pytest.mark.parametrize(
    "name", [pytest.param(name, marks=[] if case.quick else [pytest.mark.slow]) for name, case in CASES.items()]
)
def test_results_are_as_recorded(name: str) -> None:
    case = CASES[name]
    if case.shared and not SHARED.is_dir():
        pytest.skip(f"no reference data at {SHARED} (set VARIGYM_SHARED)")
    said = differences(recorded()[name], digest_all(case.make()), EXACT)
    assert not said, "\n".join(said)
