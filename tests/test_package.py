from __future__ import annotations

import ast
import subprocess
import sys
import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import varigym
from varigym.cli import main
from varigym.policies.cluster.catalog import PLACEMENTS

ROOT = Path(__file__).resolve().parents[1]
HEAVY = ("jax", "torch", "stable_baselines3", "sb3_contrib", "scipy", "sklearn")


def loaded(code: str, tmp_path: Path) -> set[str]:
    """Heavy libraries that a fresh interpreter has loaded after `code`."""
    report = f"{code}\nimport sys\nprint(*[name for name in {HEAVY!r} if name in sys.modules])"
    done = subprocess.run(
        [sys.executable, "-c", report], cwd=tmp_path, capture_output=True, text=True, timeout=60, check=True
    )
    return set(done.stdout.split())


@pytest.fixture
def placements() -> Iterator[None]:
    """Placements that a test adds are taken out again."""
    before = dict(PLACEMENTS)
    yield
    PLACEMENTS.clear()
    PLACEMENTS.update(before)


def test_every_package_folder_is_installed() -> None:
    settings = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["setuptools"]
    folders = [path.parent.relative_to(ROOT) for path in ROOT.rglob("__init__.py")]
    ours = [f for f in folders if not f.parts or not (f.parts[0].startswith(".") or f.parts[0] in ("tests", "build"))]
    assert sorted(settings["packages"]) == sorted(".".join(["varigym", *folder.parts]) for folder in ours)


def test_every_module_lies_in_a_package_folder() -> None:
    settings = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["setuptools"]
    for package in settings["packages"]:
        folder = ROOT.joinpath(*package.split(".")[1:])
        for below in folder.iterdir():
            if below.is_dir() and folder != ROOT and any(below.glob("*.py")):
                assert (below / "__init__.py").is_file(), below


def test_public_names_resolve() -> None:
    for name in varigym._HOMES:
        assert getattr(varigym, name) is not None
    assert dir(varigym) == sorted(varigym._HOMES)


def test_public_names_are_those_that_type_checkers_see() -> None:
    tree = ast.parse((ROOT / "__init__.py").read_text())
    (checked,) = [node for node in tree.body if isinstance(node, ast.If) and ast.unparse(node.test) == "TYPE_CHECKING"]
    imports = {
        alias.asname: (statement.module, alias.name)
        for statement in checked.body
        if isinstance(statement, ast.ImportFrom)
        for alias in statement.names
    }
    assert imports == {name: (home, name) for name, home in varigym._HOMES.items()}


def test_an_unknown_name_is_an_attribute_error() -> None:
    with pytest.raises(AttributeError, match="module 'varigym' has no attribute 'simulat'"):
        _ = varigym.simulat


def test_importing_the_package_costs_nothing(tmp_path: Path) -> None:
    assert loaded("import varigym", tmp_path) == set()


def test_benchmarking_needs_no_torch(tmp_path: Path) -> None:
    modules = "varigym.scenarios.catalog, varigym.policies.cluster.catalog, varigym.bench.grid.experiment"
    assert not loaded(f"import {modules}", tmp_path) & {"torch", "stable_baselines3", "sb3_contrib"}


def test_no_import_chooses_the_precision(tmp_path: Path) -> None:
    code = "import varigym.cli, jax\nassert not jax.config.jax_enable_x64"
    loaded(code, tmp_path)


@pytest.mark.usefixtures("placements")
def test_the_example_placement_simulates(capsys: pytest.CaptureFixture[str]) -> None:
    words = ["simulate", "tiny", "--policy", "fifo+fast-node", "--plugin", str(ROOT / "examples/custom_placement.py")]
    with pytest.raises(SystemExit) as end:
        main(words)
    assert end.value.code == 0
    assert "tiny, fifo+fast-node (non-clairvoyant), seed 0, 4 jobs" in capsys.readouterr().out
    assert "fast-node" in PLACEMENTS


@pytest.mark.parametrize("given", [{"x64": "no"}, {"x64": 1}, {"synchronous": None}])
def test_settings_are_true_or_false(given: dict[str, Any]) -> None:
    with pytest.raises(varigym.InputError, match="legal: True or False"):
        varigym.configure(**given)
