"""Where tables are printed: a terminal, or a pipe that nothing is cut for."""

from __future__ import annotations

import os
import sys

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, ProgressColumn, TextColumn, TimeElapsedColumn

PIPE_WIDTH = 160
"""Columns when the output is not a terminal, unless the variable COLUMNS asks for more."""


class PipeConsole(Console):
    """A console whose reader may close the pipe early (`| head`) without that being an error."""

    def on_broken_pipe(self) -> None:
        """Leave the rest unprinted; the stream is pointed elsewhere so that its last flush cannot fail either."""
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def console(stderr: bool = False) -> Console:
    """A console that does not wrap tables when its output is piped."""
    made = PipeConsole(stderr=stderr, highlight=False)
    if made.is_terminal:
        return made
    said = os.environ.get("COLUMNS", "")
    width = max(PIPE_WIDTH, int(said) if said.isdecimal() else 0)
    return PipeConsole(stderr=stderr, highlight=False, width=width, soft_wrap=True)


def progress_bar(*more: ProgressColumn) -> Progress:
    """A bar on the error stream that goes when it is done; nothing where that is no terminal."""
    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn(), *more)
    to = console(stderr=True)
    return Progress(*columns, console=to, transient=True, disable=not to.is_terminal)


def note(*lines: str) -> None:
    """What a user should know, on the error stream."""
    for line in lines:
        console(stderr=True).print(f"note: {line}", style="yellow", markup=False)
