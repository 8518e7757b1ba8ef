"""Runs a grid and shows its progress: a bar on a terminal, otherwise a line per finished cell."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from ..bench.grid.experiment import Cell, Grid, Results, run_grid
from ..bench.report.terminal import console, note, progress_bar


def run_shown(grid: Grid, out: Path | None) -> Results:
    """Run the cells that are not yet in `out`."""
    with _shown(grid) as finished:
        return run_grid(grid, out, finished, note, os.cpu_count() or 1)


@contextmanager
def _shown(grid: Grid) -> Iterator[Callable[[Cell], None]]:
    to, cells = console(stderr=True), len(grid.sources) * len(grid.policies)
    with progress_bar() as bar:
        task, count = bar.add_task("episodes", total=grid.size), 0

        def finished(cell: Cell) -> None:
            nonlocal count
            count += 1
            bar.advance(task, cell.seeds)
            if not to.is_terminal:
                to.print(f"{count}/{cells}: {cell}", markup=False)

        yield finished
