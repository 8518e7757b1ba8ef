from __future__ import annotations

import gzip
import re
from collections.abc import Callable
from pathlib import Path

import pytest
from varigym.scenarios.csv_table import Row, read_rows
from varigym.scenarios.errors import InputError

WriteFile = Callable[[str | bytes], Path]

STRANGE = {
    "Arabic digits": "\u0661\u0662",
    "full-width digits": "\uff15",
    "an underscore": "1_000",
    "a space of no ASCII": "\u00a05",
    "a word": "five",
    "nothing": "",
}


def row_of(value: str) -> Row:
    return Row(Path("given.csv"), 7, {"gpus": value})


@pytest.mark.parametrize("value", STRANGE.values(), ids=STRANGE)
def test_a_number_is_written_in_plain_ascii(value: str) -> None:
    where = re.escape(f"given.csv, line 7: gpus = {value!r}; legal: a ")
    with pytest.raises(InputError, match=f"{where}whole number >= 1"):
        row_of(value).whole("gpus", 1)
    with pytest.raises(InputError, match=f"{where}finite number >= 0"):
        row_of(value).number("gpus", 0)


@pytest.mark.parametrize("value", ["12", " 12 ", "12.0", "+1.2e1"])
def test_usual_ways_to_write_a_number(value: str) -> None:
    assert (row_of(value).whole("gpus"), row_of(value).number("gpus", 0)) == (12, 12.0)


def test_a_long_cell_is_shown_in_part() -> None:
    with pytest.raises(InputError, match=r"gpus = 'x{80}\.\.\.'; legal"):
        row_of("x" * 1000).whole("gpus")


@pytest.mark.parametrize("ending", ["\n", "\r\n", "\r"])
def test_rows_know_their_lines(write: WriteFile, ending: str) -> None:
    rows = read_rows(write(ending.join(["a,b", "", "1,'x'", ",", '"2","y, z"'])), ["a"])
    assert [(row.line, row.cells) for row in rows] == [(3, {"a": "1", "b": "'x'"}), (5, {"a": "2", "b": "y, z"})]


@pytest.mark.parametrize("inside", ["\n", "\r\n", "\r", "\u2028", "\u0085", "\x0b"])
def test_a_line_break_in_a_cell_is_refused(write: WriteFile, inside: str) -> None:
    told = re.escape(f"given.csv, line 3: cell 2 = {f'x{inside}y'!r} holds a line break; legal: text on one line")
    with pytest.raises(InputError, match=told):
        read_rows(write(f'a,b\n1,x\n2,"x{inside}y"\n3,z\n'), ["a"])


def test_a_line_break_in_the_header_is_refused(write: WriteFile) -> None:
    with pytest.raises(InputError, match=r"line 1: cell 1 = 'a\\n' holds a line break"):
        read_rows(write('"a\n",b\n1,2\n'), ["a"])


def test_a_quotation_mark_that_is_never_closed(write: WriteFile) -> None:
    with pytest.raises(InputError, match=r"line 2: cell 2 = 'x\\n2,y\\n' holds .* \(is a quotation mark missing\?\)"):
        read_rows(write('a,b\n1,"x\n2,y\n'), ["a"])


@pytest.mark.parametrize(("name", "way"), [("x.csv.gz", "gunzip {}"), ("x.csv", "gzip -dc {} > UNPACKED.csv")])
def test_a_compressed_file_is_to_be_unpacked(tmp_path: Path, name: str, way: str) -> None:
    path = tmp_path / name
    path.write_bytes(gzip.compress(b"a,b\n1,2\n"))
    told = f"{path}: compressed by gzip; unpack it first ({way.format(path)})"
    with pytest.raises(InputError, match=re.escape(told)):
        read_rows(path, ["a"])


def test_a_text_may_have_any_name(tmp_path: Path) -> None:
    path = tmp_path / "x.csv.gz"
    path.write_text("a\n1\n")
    assert [row.cells for row in read_rows(path, ["a"])] == [{"a": "1"}]
