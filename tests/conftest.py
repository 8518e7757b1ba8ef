"""Settings of every test: 64-bit JAX, strict broadcasting, and where the optional reference data lie."""

from __future__ import annotations

import gc
import os
import shutil
import signal
import tempfile
from collections.abc import Iterator
from pathlib import Path

import hypothesis
import pytest

SHARED_PROGRAMS = "JAX_COMPILATION_CACHE_DIR"
"""Where test processes and the commands they start leave compiled programs for each other."""
OWN_PROGRAMS = tempfile.mkdtemp(prefix="varigym-tests-") if SHARED_PROGRAMS not in os.environ else None
HERE = Path(__file__).resolve().parent
if OWN_PROGRAMS is not None:
    os.environ[SHARED_PROGRAMS] = OWN_PROGRAMS
    os.environ["JAX_PERSISTENT_CACHE_MIN_COMPILE_TIME_SECS"] = "0.1"

import jax  # noqa: E402 (reads the environment when it is imported)
import varigym  # noqa: E402

varigym.configure(x64=True)
jax.config.update("jax_numpy_rank_promotion", "raise")

hypothesis.settings.register_profile("varigym", deadline=None, derandomize=True, print_blob=True)
hypothesis.settings.load_profile("varigym")


LONG_FILES = (
    "envs/faces/test_gym.py",
    "test_examples.py",
    "agents/recipes/test_ppo.py",
    "envs/faces/test_vector.py",
    "agents/serverless/test_demonstrations.py",
    "test_cli.py",
    "envs/test_registered.py",
    "test_learning_commands.py",
    "policies/cluster/test_index_net.py",
    "policies/serverless/test_learned_esg.py",
    "envs/cluster/test_golden.py",
    "agents/recipes/test_es.py",
    "agents/data/test_minari_export.py",
    "envs/cluster/test_env.py",
    "envs/serverless/test_env.py",
    "corpus/test_corpus.py",
    "agents/cluster/test_demonstrations.py",
)
"""They run first, so that no worker is left with one at the end; xdist itself goes by how many tests a file has."""


def pytest_configure(config: pytest.Config) -> None:
    """The sequence of files is the one of `pytest_collection_modifyitems`."""
    config.option.loadscopereorder = False


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Long files first, the others as they were collected."""
    rank = {HERE / name: place for place, name in enumerate(LONG_FILES)}
    items.sort(key=lambda item: rank.get(item.path, len(rank)))


def pytest_unconfigure() -> None:
    """The process that made the folder of compiled programs removes it."""
    if OWN_PROGRAMS is not None:
        shutil.rmtree(OWN_PROGRAMS, ignore_errors=True)


@pytest.fixture
def heard() -> Iterator[None]:
    """Child processes hear Ctrl-C, even where these tests were started in a way that ignores it (`... &`)."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


@pytest.fixture(scope="session")
def shared() -> Path:
    """Folder of real traces and golden results: $VARIGYM_SHARED, or `shared` beside the checkout."""
    folder = Path(os.environ.get("VARIGYM_SHARED", HERE.parents[1] / "shared"))
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
