"""Tables that fit the terminal: names and figures are never broken; last columns that do not fit are left out."""

from __future__ import annotations

from copy import copy

from rich import box
from rich.console import Console, ConsoleOptions, RenderResult
from rich.markup import escape
from rich.table import Table
from rich.text import Text

PROSE_WIDTH = 14
"""Smallest width to which a column of prose may be wrapped."""
ENDLESS = 100_000
REPORT = "report.html of --out"
"""Where the complete tables of a grid are found."""


class FittedTable(Table):
    """A table that leaves out last columns that do not fit, and says which ones and how to see them."""

    def __init__(self, title: str = "", light: bool = False, elsewhere: str = "") -> None:
        """Make a table; `light` omits lines between columns, `elsewhere` says where the complete table is."""
        lines, padding = (box.SIMPLE_HEAD, (0, 1, 0, 0)) if light else (box.HEAVY_HEAD, (0, 1))
        super().__init__(title=escape(title), title_justify="left", box=lines, padding=padding)
        self.elsewhere = elsewhere

    def add_names(self, *titles: str) -> None:
        """Add columns whose cells are never wrapped."""
        for title in titles:
            self.add_column(title, no_wrap=True, overflow="crop")

    def add_figures(self, *titles: str) -> None:
        """Add such columns, aligned to the right."""
        for title in titles:
            self.add_column(title, justify="right", no_wrap=True, overflow="crop")

    def add_prose(self, *titles: str) -> None:
        """Add columns of words, which may be wrapped."""
        for title in titles:
            self.add_column(title, overflow="fold")

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        """Yield the title, the columns that fit, and a line about those that do not."""
        if self.title:
            yield Text.from_markup(str(self.title), style="table.title")
        count = len(self.columns)
        while count > 1 and self._width(console, options, count) > options.max_width:
            count -= 1
        shown = self._first(count)
        width = max(options.max_width, self._width(console, options, count))
        yield from Table.__rich_console__(shown, console, options.update(width=width))
        if count < len(self.columns):
            yield Text(self._left_out(count, self._width(console, options, len(self.columns))), style="dim")

    def _first(self, count: int) -> FittedTable:
        """Return the table's first columns, without the title."""
        shown = copy(self)
        shown.title, shown.columns = None, [copy(column) for column in self.columns[:count]]
        return shown

    def _width(self, console: Console, options: ConsoleOptions, count: int) -> int:
        """Return the width that the first columns need."""
        trial = self._first(count)
        for column in trial.columns:
            column.max_width = None if column.no_wrap else PROSE_WIDTH
        return Table.__rich_measure__(trial, console, options.update(width=ENDLESS)).maximum

    def _left_out(self, count: int, width: int) -> str:
        names = ", ".join(" ".join(str(column.header).split()) for column in self.columns[count:])
        ways = ["a wider terminal", f"COLUMNS={width} before the command", *filter(None, [self.elsewhere])]
        return f"left out: {names}; to see them: {', '.join(ways[:-1])} or {ways[-1]}"
