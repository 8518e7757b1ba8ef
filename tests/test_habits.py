"""What a checkout says about itself beside the code holds together: hooks, versions, forms."""

from __future__ import annotations

import datetime
import os
import re
import subprocess
import tomllib
from pathlib import Path
from typing import Any

import pytest
import varigym
import yaml

ROOT = Path(__file__).resolve().parents[1]
FORMS = ".github/ISSUE_TEMPLATE"
CHECKS = ("ruff check", "ruff format --check", "lint-imports", "mypy -p varigym", "pyright")
RUNS_A_FILE = re.compile(
    r"\b(import (cloud)?pickle|torch\.load|PPO\.load|allow_pickle=True|exec_module|(?<!\.)(eval|exec)\()"
)


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


def test_the_changelog_begins_with_the_unreleased_and_the_cited_release() -> None:
    cited = parsed("CITATION.cff")
    headings = re.findall(r"^## (.*)$", (ROOT / "CHANGELOG.md").read_text(), re.MULTILINE)
    assert headings[:2] == ["Unreleased", f"{cited['version']} ({cited['date-released']})"]


def test_every_reference_names_people_a_title_and_a_place() -> None:
    for work in parsed("CITATION.cff")["references"]:
        assert {"type", "title", "authors", "conference", "year"} <= set(work)
        assert all(set(person) == {"given-names", "family-names"} for person in work["authors"])


def yaml_files() -> list[str]:
    found = [path for pattern in ("*.y*ml", ".github/**/*.y*ml") for path in ROOT.glob(pattern)]
    return sorted(str(path.relative_to(ROOT)) for path in found)


@pytest.mark.parametrize("path", yaml_files())
def test_every_yaml_file_can_be_read(path: str) -> None:
    assert isinstance(parsed(path), dict)


@pytest.mark.parametrize("form", ["bug", "feature"])
def test_issue_forms_ask_with_fields_that_the_site_knows(form: str) -> None:
    asked = parsed(f"{FORMS}/{form}.yml")
    assert {"name", "description", "body"} <= set(asked) <= {"name", "description", "labels", "body"}
    fields = [field for field in asked["body"] if field["type"] != "markdown"]
    assert len({field["id"] for field in fields}) == len(fields)
    assert len({field["attributes"]["label"] for field in fields}) == len(fields)
    assert any(field.get("validations", {}).get("required") for field in fields)
    for field in fields:
        assert field["type"] in ("textarea", "dropdown")
        options = field["attributes"].get("options", [])
        assert (field["type"] == "dropdown") == bool(options)
        assert len(set(options)) == len(options)


def test_forms_and_templates_are_there() -> None:
    assert {path.name for path in (ROOT / FORMS).iterdir()} == {"bug.yml", "feature.yml", "config.yml"}
    assert parsed(f"{FORMS}/config.yml") == {"blank_issues_enabled": True}
    assert "- [ ] `make lint`" in (ROOT / ".github/PULL_REQUEST_TEMPLATE.md").read_text()
    assert "private vulnerability report" in (ROOT / "SECURITY.md").read_text()


def test_a_plugin_is_the_one_file_that_the_package_runs() -> None:
    """As SECURITY.md says."""
    settings = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["setuptools"]
    folders = [ROOT.joinpath(*package.split(".")[1:]) for package in settings["packages"]]
    texts = {path.relative_to(ROOT): path.read_text() for folder in folders for path in folder.glob("*.py")}
    assert [str(path) for path, text in texts.items() if RUNS_A_FILE.search(text)] == ["commands/plugins.py"]
