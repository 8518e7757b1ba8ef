"""Tables at any width: no name is broken, and what is left out is said."""

from __future__ import annotations

import io
import re

import pytest
from rich.console import Console
from varigym.bench.report.fitted import PROSE_WIDTH, REPORT, FittedTable
from varigym.bench.report.html import _table
from varigym.bench.report.terminal import PIPE_WIDTH, console

NAMES = ("esg:margin=0.85:give_up=on:k=3", "las-2d+pal+backfill", "runs/reference/serverless@f9e4c70e")
TITLES = ("hit %\n[95 %]", "cost ratio [95 %]", "served %")
WIDTHS = (20, 40, 60, 80, 160)


def grid_table() -> FittedTable:
    table = FittedTable("overload, 10 seeds [held-out]", light=True, elsewhere=REPORT)
    table.add_names("policy")
    table.add_figures(*TITLES)
    for name in NAMES:
        table.add_row(name, "91.2\n\\[90.1, 92.3]", "1.024 \\[1.012, 1.041]", "100")
    return table


def printed(table: FittedTable, width: int) -> str:
    to = Console(file=io.StringIO(), width=width, soft_wrap=True, highlight=False)
    to.print(table)
    assert isinstance(to.file, io.StringIO)
    return to.file.getvalue()


@pytest.mark.parametrize("width", WIDTHS)
def test_names_and_figures_stay_whole_at_any_width(width: int) -> None:
    said = printed(grid_table(), width)
    assert all(any(name in line for line in said.splitlines()) for name in NAMES)
    for figure in ("1.024", "1.041"):
        assert (figure in said) == ("1.024 [1.012, 1.041]" in said)


@pytest.mark.parametrize(("width", "left"), [(160, 0), (83, 0), (80, 1), (60, 2), (20, 3)])
def test_the_last_columns_are_left_out_and_named(width: int, left: int) -> None:
    *rows, last = printed(grid_table(), width).rstrip().splitlines()
    titles = [" ".join(title.split()) for title in TITLES]
    if not left:
        assert "left out" not in last
        return
    assert last.startswith(f"left out: {', '.join(titles[-left:])}; to see them: a wider terminal, COLUMNS=")
    assert last.endswith(f" or {REPORT}")
    assert not any("served" in row for row in rows)
    assert all(len(row) <= max(width, 40) for row in rows)


def test_the_width_that_is_asked_for_is_just_enough() -> None:
    (width,) = map(int, re.findall(r"COLUMNS=(\d+)", printed(grid_table(), 40)))
    assert "left out" not in printed(grid_table(), width)
    assert "left out" in printed(grid_table(), width - 1)


def test_figures_stand_to_the_right() -> None:
    rows = [line.rstrip() for line in printed(grid_table(), 160).splitlines() if line.rstrip().endswith("100")]
    assert len(rows) == len({len(row) for row in rows}) * len(NAMES)


def test_prose_is_broken_at_words_before_it_is_left_out() -> None:
    table = FittedTable("Metrics")
    table.add_names("name")
    table.add_prose("definition")
    table.add_row("mean_jct_s", "mean of finish minus arrival over all tracked jobs")
    narrow = len("mean_jct_s") + PROSE_WIDTH + len("┃  ┃  ┃")
    said = printed(table, narrow)
    assert "left out" not in said
    assert {"finish", "minus", "arrival", "tracked"} <= set(said.split())
    assert "left out: definition; to see them: a wider terminal or COLUMNS=" in printed(table, narrow - 1)


def test_the_page_holds_every_column() -> None:
    assert all(title.split()[0] in _table(grid_table()) for title in TITLES)


@pytest.mark.parametrize(("said", "width"), [("200", 200), ("", PIPE_WIDTH), ("80", PIPE_WIDTH), ("many", PIPE_WIDTH)])
def test_columns_widen_a_pipe(monkeypatch: pytest.MonkeyPatch, said: str, width: int) -> None:
    monkeypatch.setenv("COLUMNS", said)
    assert console().width == width
