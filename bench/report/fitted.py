"""Tables in the width there is: names and figures stay whole, and the last columns go where they do not fit."""

from __future__ import annotations

from copy import copy

from rich import box
from rich.console import Console, ConsoleOptions, RenderResult
from rich.markup import escape
from rich.table import Table
from rich.text import Text

PROSE_WIDTH = 14
"""A column of prose may be broken at words until it is as narrow as this."""
ENDLESS = 100_000
REPORT = "report.html of --out"
"""Where the tables of a grid are whole."""


class FittedTable(Table):
    """A table that leaves out its last columns where they do not fit, and says which and how to see them."""

    def __init__(self, title: str = "", light: bool = False, elsewhere: str = "") -> None:
        """`light` has no lines between columns; `elsewhere` is where the whole table stands, in words."""
        lines, padding = (box.SIMPLE_HEAD, (0, 1, 0, 0)) if light else (box.HEAVY_HEAD, (0, 1))
        super().__init__(title=escape(title), title_justify="left", box=lines, padding=padding)
        self.elsewhere = elsewhere

    def add_names(self, *titles: str) -> None:
        """Columns that are never broken."""
        for title in titles:
            self.add_column(title, no_wrap=True, overflow="crop")

    def add_figures(self, *titles: str) -> None:
        """The same, to the right."""
        for title in titles:
            self.add_column(title, justify="right", no_wrap=True, overflow="crop")

    def add_prose(self, *titles: str) -> None:
        """Columns of words, which may be broken."""
        for title in titles:
            self.add_column(title, overflow="fold")

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        """The title, the columns that fit, and a line about those that do not."""
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
        """Its first columns, without the title."""
        shown = copy(self)
        shown.title, shown.columns = None, [copy(column) for column in self.columns[:count]]
        return shown

    def _width(self, console: Console, options: ConsoleOptions, count: int) -> int:
        """What the first columns need."""
        trial = self._first(count)
        for column in trial.columns:
            column.max_width = None if column.no_wrap else PROSE_WIDTH
        return Table.__rich_measure__(trial, console, options.update(width=ENDLESS)).maximum

    def _left_out(self, count: int, width: int) -> str:
        names = ", ".join(" ".join(str(column.header).split()) for column in self.columns[count:])
        ways = ["a wider terminal", f"COLUMNS={width} before the command", *filter(None, [self.elsewhere])]
        return f"left out: {names}; to see them: {', '.join(ways[:-1])} or {ways[-1]}"
