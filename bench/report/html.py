"""Writes a benchmark as one self-contained HTML page: the tables of the terminal, and figures."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape
from pathlib import Path

from rich.table import Table

from ..grid.experiment import Results
from ..grid.provenance import commit, version
from ..grid.suite import Sweep
from .outputs import write_text
from .tables import legend, remarks, result_tables

STYLE = """
body { font: 15px/1.45 system-ui, sans-serif; max-width: 1200px; margin: 2em auto; padding: 0 1em; color: #222 }
table { border-collapse: collapse; margin: 0 0 2em; font-variant-numeric: tabular-nums }
caption { text-align: left; font-weight: 600; padding: .3em 0 }
th, td { padding: .25em .7em; border-bottom: 1px solid #ddd; text-align: right; white-space: pre-line }
td { white-space: pre } th:first-child, td:first-child { text-align: left }
svg text { font: 12px system-ui, sans-serif } p { white-space: pre-line; color: #555 }
"""


def write_report(
    path: Path, results: Results, title: str, sweeps: tuple[Sweep, ...] = (), first: Sequence[Table] = ()
) -> None:
    """Write the page, tables `first` before those of all results. Raises `InputError` where it cannot be written."""
    kind = results.grid.kind
    tables = [*first, *result_tables(results, sweeps=sweeps), *kind.more_tables(results)]
    figures = [f"<h2>{escape(name)}</h2>{svg}" for name, svg in kind.figures(results)]
    origin = f"varigym {version()}, commit {commit()}"
    body = [
        f"<h1>{escape(title)}</h1>",
        f"<p>{escape(legend(results))}\n{escape(origin)}</p>",
        *map(_table, tables),
        *figures,
        *(f"<p>{escape(line)}</p>" for line in remarks(results)),
    ]
    page = f'<!doctype html><meta charset="utf-8"><title>{escape(title)}</title><style>{STYLE}</style>'
    write_text(path, page + "\n".join(body) + "\n")


def _table(table: Table) -> str:
    """Convert a table of the terminal to HTML."""
    columns = [[str(cell) for cell in column.cells] for column in table.columns]
    head = "".join(f"<th>{_text(column.header)}</th>" for column in table.columns)
    cells = [[f"<td>{_text(cell)}</td>" for cell in row] for row in zip(*columns, strict=True)]
    rows = [f"<tr>{''.join(row)}</tr>" for row in cells]
    return f"<table><caption>{_text(table.title or '')}</caption><tr>{head}</tr>{''.join(rows)}</table>"


def _text(shown: object) -> str:
    """Return the text as the terminal shows it, without the escapes that keep brackets from being styles."""
    return escape(str(shown).replace("\\[", "["))
