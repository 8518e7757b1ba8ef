"""The house: the map in the docs names files that exist, names are told apart at a glance, folders stay small."""

from __future__ import annotations

import re
from itertools import combinations
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
FLOORS = ("scenarios", "envs", "policies", "agents", "bench", "commands")
MODULES = sorted(path for floor in FLOORS for path in (ROOT / floor).rglob("*.py") if path.name != "__init__.py")
MOST_FILES = 15
STOPS = re.findall(r"^\d\. `([\w/]+\.py)`(?:, `([\w.]+)`)?", (ROOT / "docs/architecture.md").read_text(), re.M)


def differ_by_one_letter(one: str, other: str) -> bool:
    """One letter more, less or another one."""
    if abs(len(one) - len(other)) > 1 or one == other:
        return False
    if len(one) == len(other):
        return sum(a != b for a, b in zip(one, other, strict=True)) == 1
    short, long = sorted((one, other), key=len)
    return any(long[:k] + long[k + 1 :] == short for k in range(len(long)))


@pytest.mark.parametrize(("path", "name"), STOPS)
def test_every_stop_of_the_map_is_there(path: str, name: str) -> None:
    text = (ROOT / path).read_text()
    for part in name.split(".") if name else ():
        assert re.search(rf"^\s*(def|class) {part}\b", text, re.M), f"{path} has no {part}"


def test_the_two_ways_have_at_most_six_stops() -> None:
    ways = re.findall(r"^## From .*?(?=^## )", (ROOT / "docs/architecture.md").read_text(), re.M | re.S)
    counts = [len(re.findall(r"^\d\. ", way, re.M)) for way in ways]
    assert len(counts) == 2
    assert max(counts) <= 6


def test_the_map_names_every_folder() -> None:
    """Each floor at the margin, with the names of all folders below it."""
    (plan,) = re.findall(r"^```\n(commands/.*?)^```", (ROOT / "docs/architecture.md").read_text(), re.M | re.S)
    floors = {
        floor.split("/")[0]: set(re.findall(r"(\w+)/", floor))
        for floor in re.split(r"^(?=\w)", plan, flags=re.M)
        if floor
    }
    below = {name: {path.parent.name for path in MODULES if path.is_relative_to(ROOT / name)} for name in FLOORS}
    assert floors == below


def test_no_two_names_differ_by_one_letter() -> None:
    names = sorted({path.stem for path in MODULES})
    assert [pair for pair in combinations(names, 2) if differ_by_one_letter(*pair)] == []


def test_folders_are_small() -> None:
    folders = [path.parent for path in MODULES]
    assert {str(f.relative_to(ROOT)): folders.count(f) for f in folders if folders.count(f) > MOST_FILES} == {}
