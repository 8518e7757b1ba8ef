"""Output of tables: to a terminal, or to a pipe without cutting anything."""

from __future__ import annotations

import os
import sys

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, ProgressColumn, TextColumn, TimeElapsedColumn

PIPE_WIDTH = 160
"""Width of output that is not a terminal, unless the variable COLUMNS is larger."""


class PipeConsole(Console):
    """A console whose reader may close the pipe early (`| head`) without that being an error."""

    def on_broken_pipe(self) -> None:
        """Drop the rest of the output; the stream is redirected so that its last flush cannot fail either."""
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def console(stderr: bool = False) -> Console:
    """Return a console that does not wrap tables when its output is piped."""
    made = PipeConsole(stderr=stderr, highlight=False)
    if made.is_terminal:
        return made
    said = os.environ.get("COLUMNS", "")
    width = max(PIPE_WIDTH, int(said) if said.isdecimal() else 0)
    return PipeConsole(stderr=stderr, highlight=False, width=width, soft_wrap=True)


def progress_bar(*more: ProgressColumn) -> Progress:
    """Return a bar on the error stream that disappears when done; it shows nothing if that is no terminal."""
    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn(), *more)
    to = console(stderr=True)
    return Progress(*columns, console=to, transient=True, disable=not to.is_terminal)


def note(*lines: str) -> None:
    """Print notes for the user on the error stream."""
    for line in lines:
        console(stderr=True).print(f"note: {line}", style="yellow", markup=False)
