"""What a checkout says about itself beside the code holds together: hooks, versions, forms."""

from __future__ import annotations

import datetime
import os
import subprocess
import tomllib
from pathlib import Path
from typing import Any

import varigym
import yaml

ROOT = Path(__file__).resolve().parents[1]
CHECKS = ("ruff check", "ruff format --check", "lint-imports", "mypy -p varigym", "pyright")


def parsed(path: str) -> Any:
    return yaml.safe_load((ROOT / path).read_text())


def project() -> dict[str, Any]:
    return tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]


def would_run(target: str) -> list[str]:
    """The commands that `make` would run for a target in an environment that is set up."""
    words = ["make", "--dry-run", "--no-print-directory", "--old-file=.venv/.installed", target]
    outside = {name: value for name, value in os.environ.items() if not name.startswith("MAKE")}  # of `make test`
    return subprocess.run(words, cwd=ROOT, env=outside, capture_output=True, text=True, check=True).stdout.splitlines()


def test_the_hooks_run_what_make_lint_runs() -> None:
    (local,) = parsed(".pre-commit-config.yaml")["repos"]
    assert local["repo"] == "local"
    commands = []
    for hook in local["hooks"]:
        assert hook["language"] == "system"
        assert hook["always_run"] is True
        assert hook["pass_filenames"] is False
        make, target = hook["entry"].split()
        assert make == "make"
        commands += would_run(target)
    assert commands == would_run("lint")
    for check in CHECKS:
        assert sum(f"/{check}" in command for command in commands) == 1, check


def test_the_version_is_the_same_everywhere() -> None:
    assert varigym.__version__ == project()["version"] == parsed("CITATION.cff")["version"]


def test_the_citation_says_what_the_format_asks_for() -> None:
    cited = parsed("CITATION.cff")
    assert cited["cff-version"] == "1.2.0"
    assert cited["message"]
    assert cited["title"] == "VariGym"
    assert cited["abstract"]
    assert [author["name"] in (ROOT / "LICENSE").read_text() for author in cited["authors"]] == [True]
    assert (cited["license"], cited["keywords"]) == (project()["license"], project()["keywords"])
    assert datetime.date.fromisoformat(cited["date-released"])


def test_every_reference_names_people_a_title_and_a_place() -> None:
    for work in parsed("CITATION.cff")["references"]:
        assert {"type", "title", "authors", "conference", "year"} <= set(work)
        assert all(set(person) == {"given-names", "family-names"} for person in work["authors"])
