"""What a checkout says about itself beside the code holds together: hooks, versions, forms."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path
from typing import Any

import yaml

ROOT = Path(__file__).resolve().parents[1]
CHECKS = ("ruff check", "ruff format --check", "lint-imports", "mypy -p varigym", "pyright")


def parsed(path: str) -> Any:
    return yaml.safe_load((ROOT / path).read_text())


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
