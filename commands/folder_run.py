"""Code shared by the commands that train in a folder."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from importlib.util import find_spec
from pathlib import Path
from threading import Timer

from ..agents.checkpoints.checkpoint import STATE, WEIGHTS
from ..agents.runs.folder import LOGS
from ..bench.report.terminal import note
from ..scenarios.errors import InputError

LEARN = ("torch", "tensorboard", "safetensors")
"""What learners need beside the package itself."""
USUAL_SCENARIO = "sia-64"
"""Default scenario to learn on."""
PATIENCE_S = 5.0
"""Delay before the first message; any refusal comes sooner."""


class FolderRun:
    """A command that trains in a folder `out`."""

    out: Path

    @contextmanager
    def looked_on(self) -> Iterator[None]:
        """Say after a while how to watch the run, because compilation comes first and a pipe shows no bar."""
        told = f"at work; to look on: tensorboard --logdir {self.out / LOGS}"
        timer = Timer(PATIENCE_S, note, [told])
        timer.daemon = True
        timer.start()
        try:
            yield
        finally:
            timer.cancel()

    def kept(self) -> str:
        """Describe what an interrupt leaves in the folder."""
        if not (self.out / STATE).exists():
            return "nothing was written"
        held = "what was learned" if (self.out / WEIGHTS).exists() else "what was recorded, and no policy yet"
        return f"{self.out} holds {held}; the same command with --resume goes on"


def require_learn() -> None:
    """Raise `InputError` if a package that learners need is not installed."""
    for name in LEARN:
        if find_spec(name) is None:
            raise InputError(f"learning needs {name}; install it with: pip install 'varigym[learn]'")
