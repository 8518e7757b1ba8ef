from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import pytest
from varigym.bench.grid.rows import COLUMNS, ResultRow, RowStore
from varigym.envs.metric_type import Better, Metric
from varigym.scenarios.errors import InputError

NAMES = ["mean_jct_s", "makespan_s"]
HEADER = "scenario,policy,seed,metric,value,unit,version,commit,data_hash\n"


def metrics(names: Sequence[str], measured: str = "") -> dict[str, Metric[None]]:
    return {name: Metric(name, "s", Better.LOWER, "", lambda record: 0.0, name == measured) for name in names}


def cell(seed: int, value: float = 1 / 3, scenario: str = "tiny") -> list[ResultRow]:
    return [
        ResultRow(scenario, "fifo+pal", seed, metric, value + place, "s", "0.1.0", "abc", "d41d8c")
        for place, metric in enumerate(NAMES)
    ]


def store(folder: Path | None) -> RowStore:
    return RowStore(folder, metrics(NAMES))


@pytest.fixture
def two_cells(tmp_path: Path) -> Path:
    """A rows.csv of seeds 1 and 2."""
    first = store(tmp_path)
    first.add(cell(1))
    first.add(cell(2))
    return tmp_path / "rows.csv"


def test_columns_are_those_that_every_row_must_carry() -> None:
    assert ",".join(COLUMNS) + "\n" == HEADER


@pytest.mark.parametrize("value", [1 / 3, 0.1 + 0.2, 1e300, 5e-324, 0.0, -1.5, 151872.0])
def test_rows_come_back_exactly(tmp_path: Path, value: float) -> None:
    store(tmp_path).add(cell(1, value))
    again = store(tmp_path)
    assert again.rows == cell(1, value)
    assert not again.torn


@pytest.mark.parametrize("value", ["nan", "inf", "none"])
def test_a_value_that_is_no_number_is_refused(two_cells: Path, value: str) -> None:
    lines = two_cells.read_text().splitlines(keepends=True)
    cells = lines[2].split(",")
    two_cells.write_text("".join([*lines[:2], ",".join([*cells[:4], value, *cells[5:]]), *lines[3:]]))
    with pytest.raises(InputError, match="line 3: not a result row"):
        store(two_cells.parent)


def test_a_folder_in_which_another_run_writes_is_refused(tmp_path: Path) -> None:
    first = store(tmp_path)
    with pytest.raises(InputError, match="is in use by process"):
        store(tmp_path)
    del first
    store(tmp_path)


def test_equal_rows_twice_count_once_and_different_ones_are_refused(two_cells: Path) -> None:
    lines = two_cells.read_text().splitlines(keepends=True)
    two_cells.write_text("".join(lines + lines[1:]))
    assert store(two_cells.parent).rows == cell(1) + cell(2)
    assert two_cells.read_text() == "".join(lines)
    cells = lines[1].split(",")
    two_cells.write_text("".join([*lines, ",".join([*cells[:4], "7.5", *cells[5:]])]))
    with pytest.raises(InputError, match="has two results"):
        store(two_cells.parent)


def test_names_with_commas_and_quotes_come_back(tmp_path: Path) -> None:
    store(tmp_path).add(cell(1, scenario='my "trace", v2'))
    assert store(tmp_path).rows == cell(1, scenario='my "trace", v2')


def test_finished_cells_are_known_and_others_are_not(two_cells: Path) -> None:
    again = store(two_cells.parent)
    assert ("tiny", "fifo+pal", 1) in again
    assert ("tiny", "fifo+pal", 3) not in again
    assert ("tiny", "fifo+packed", 1) not in again


def test_rows_are_appended_behind_those_of_an_earlier_run(two_cells: Path) -> None:
    before = two_cells.read_text()
    store(two_cells.parent).add(cell(3))
    assert two_cells.read_text().startswith(before)
    assert store(two_cells.parent).rows == cell(1) + cell(2) + cell(3)


def test_rows_are_on_the_disk_at_once(tmp_path: Path) -> None:
    store(tmp_path).add(iter(cell(1)))
    assert len((tmp_path / "rows.csv").read_text().splitlines()) == 3


def test_without_a_folder_rows_are_kept_in_memory() -> None:
    memory = store(None)
    memory.add(cell(1))
    assert memory.rows == cell(1)


def test_a_missing_folder_is_made(tmp_path: Path) -> None:
    store(tmp_path / "a" / "b").add(cell(1))
    assert store(tmp_path / "a" / "b").rows == cell(1)


@pytest.mark.parametrize("cut", [1, 10, 60, 75, 90, 120])
def test_a_file_cut_off_anywhere_loses_only_the_last_cell(two_cells: Path, cut: int) -> None:
    text = two_cells.read_text()
    assert len(text) - len(HEADER) > 2 * 120
    two_cells.write_text(text[:-cut])
    again = store(two_cells.parent)
    assert again.torn
    assert again.rows == cell(1)
    again.add(cell(2))
    assert two_cells.read_text() == text


def test_a_cell_without_all_its_metrics_is_computed_again_wherever_it_stands(two_cells: Path) -> None:
    lines = two_cells.read_text().splitlines(keepends=True)
    two_cells.write_text("".join(lines[:2] + lines[3:]))
    again = store(two_cells.parent)
    assert again.torn
    assert ("tiny", "fifo+pal", 1) not in again
    assert again.rows == cell(2)
    del again
    assert store(two_cells.parent).rows == cell(2)


@pytest.mark.parametrize(("seeds", "absent"), [((1, 2), "ftf"), ((1,), "ftf"), ((1, 2), "ftf, unfinished")])
def test_results_of_a_version_with_fewer_metrics_are_refused_and_left_untouched(
    tmp_path: Path, seeds: tuple[int, ...], absent: str
) -> None:
    old = store(tmp_path)
    for seed in seeds:
        old.add(cell(seed))
    del old
    text = (tmp_path / "rows.csv").read_text()
    now = [NAMES[0], "ftf", NAMES[1]] if absent == "ftf" else [*NAMES, "ftf", "unfinished"]
    with pytest.raises(InputError, match=f"of another version, without {absent}; choose another --out"):
        RowStore(tmp_path, metrics(now))
    assert (tmp_path / "rows.csv").read_text() == text


def test_the_first_cell_of_a_killed_run_is_computed_again(tmp_path: Path) -> None:
    store(tmp_path).add(cell(1)[:1])
    again = store(tmp_path)
    assert again.torn
    assert again.rows == []


def test_zero_bytes_left_by_a_crashed_disk_are_cut_off(two_cells: Path) -> None:
    with two_cells.open("ab") as file:
        file.write(bytes(50))
    assert store(two_cells.parent).rows == cell(1) + cell(2)
    assert b"\0" not in two_cells.read_bytes()


def test_a_header_without_its_newline_does_not_swallow_the_first_row(tmp_path: Path) -> None:
    (tmp_path / "rows.csv").write_text(HEADER.rstrip("\n"))
    store(tmp_path).add(cell(1))
    assert store(tmp_path).rows == cell(1)


def test_a_file_with_crlf_is_read(two_cells: Path) -> None:
    two_cells.write_bytes(two_cells.read_bytes().replace(b"\n", b"\r\n"))
    assert store(two_cells.parent).rows == cell(1) + cell(2)


@pytest.mark.parametrize(
    "content",
    [
        b"name,score\nada,3\n",
        b"scenario,policy,seed\n",
        b"hello",
        bytes(range(256)),
        HEADER.encode() + b"tiny,fifo+pal,one,mean_jct_s,1.0,s,0.1.0,abc,d4\n",
        HEADER.encode() + b"tiny,fifo+pal,1,mean_jct_s,fast,s,0.1.0,abc,d4\n",
        HEADER.encode() + b"tiny,fifo+pal,1\n",
        HEADER.encode() + b"x" * 200_000 + b"\n",
    ],
    ids=["csv", "fewer-columns", "text", "binary", "text-seed", "text-value", "short-row", "endless-cell"],
)
def test_a_foreign_file_is_refused_and_left_untouched(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "rows.csv"
    path.write_bytes(content)
    with pytest.raises(InputError, match=rf"{path}.*; choose another --out"):
        store(tmp_path)
    assert path.read_bytes() == content
    assert [entry.name for entry in tmp_path.iterdir()] == ["rows.csv"]


def test_a_bad_row_is_named_by_its_line(two_cells: Path) -> None:
    with two_cells.open("a") as file:
        file.write("tiny,fifo+pal\n")
    with pytest.raises(InputError, match=r"line 6: not a result row \(tiny,fifo\+pal\)"):
        store(two_cells.parent)


@pytest.mark.parametrize(
    ("now", "message"),
    [
        (("other", "0.1.0", "abc"), "data d41d8c, now other"),
        (("d41d8c", "0.2.0", "abc"), "version 0.1.0, now 0.2.0"),
        (("d41d8c", "0.1.0", "def"), "commit abc, now def"),
    ],
)
def test_a_cell_from_other_data_or_code_is_refused(two_cells: Path, now: tuple[str, str, str], message: str) -> None:
    with pytest.raises(InputError, match=rf"{two_cells}: tiny, fifo\+pal, seed 2 was computed with {message}"):
        store(two_cells.parent).check(("tiny", "fifo+pal", 2), *now)


def test_a_cell_from_the_same_data_and_code_is_accepted(two_cells: Path) -> None:
    store(two_cells.parent).check(("tiny", "fifo+pal", 2), "d41d8c", "0.1.0", "abc")


def test_a_folder_that_is_a_file_is_refused(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("mine")
    for folder in (tmp_path / "file", tmp_path / "file" / "below"):
        with pytest.raises(InputError, match="cannot be used for results"):
            store(folder)
    assert (tmp_path / "file").read_text() == "mine"


def test_rows_that_are_a_folder_are_refused(tmp_path: Path) -> None:
    (tmp_path / "rows.csv").mkdir()
    with pytest.raises(InputError, match="cannot be used for results"):
        store(tmp_path)


def test_a_file_that_vanishes_under_the_run_is_said(tmp_path: Path) -> None:
    writing = store(tmp_path)
    (tmp_path / "rows.csv").unlink()
    (tmp_path / "rows.csv").mkdir()
    with pytest.raises(InputError, match="cannot be written"):
        writing.add(cell(1))


def test_a_measured_time_may_differ_and_the_first_one_is_kept(tmp_path: Path) -> None:
    writing = store(tmp_path)
    writing.add(cell(1))
    writing.add([replace(row, value=row.value + 1) for row in cell(1)[1:]])
    del writing
    assert RowStore(tmp_path, metrics(NAMES, measured=NAMES[1])).rows == cell(1)


def test_a_value_that_does_not_exist_is_an_empty_cell(tmp_path: Path) -> None:
    rows = [replace(row, value=math.nan) for row in cell(1)]
    for _ in range(2):  # equal rows twice are one result
        store(tmp_path).add(rows)
    assert (tmp_path / "rows.csv").read_text().count(",,s,") == 4
    assert [repr(row) for row in store(tmp_path).rows] == [repr(row) for row in rows]


def test_further_rows_of_a_cell_are_kept_and_are_not_missed(tmp_path: Path) -> None:
    further = replace(cell(1)[0], metric="hit_rate[by workflow]")
    store(tmp_path).add([further, *cell(1)])
    store(tmp_path).add(cell(2))
    assert store(tmp_path).rows == [further, *cell(1), *cell(2)]
    (tmp_path / "rows.csv").write_text(HEADER + "tiny,fifo+pal,1,hit_rate[by workflow],1.0,s,0.1.0,abc,d4\n")
    assert store(tmp_path).rows == []


@pytest.mark.parametrize(
    ("column", "value", "message"),
    [
        (6, "0.2.0", r"was computed with version 0.2.0, now 0.1.0 \(makespan_s\)"),
        (7, "def", r"was computed with commit def, now abc \(makespan_s\)"),
        (8, "other", r"was computed with data other, now d41d8c \(makespan_s\)"),
        (5, "h", r"was computed with unit h, now s \(makespan_s\)"),
        (4, "-1.5", "makespan_s = -1.5; legal: 0 or more"),
    ],
)
def test_every_row_of_a_cell_is_checked_not_its_first_alone(
    two_cells: Path, column: int, value: str, message: str
) -> None:
    lines = two_cells.read_text().splitlines()
    cells = lines[4].split(",")
    assert (cells[2], cells[3]) == ("2", NAMES[1])
    cells[column] = value
    two_cells.write_text("\n".join([*lines[:4], ",".join(cells), ""]))
    again = store(two_cells.parent)
    again.check(("tiny", "fifo+pal", 1), "d41d8c", "0.1.0", "abc")
    with pytest.raises(InputError, match=rf"{two_cells}: tiny, fifo\+pal, seed 2.*{message}"):
        again.check(("tiny", "fifo+pal", 2), "d41d8c", "0.1.0", "abc")


@pytest.mark.parametrize(
    ("value", "legal"), [(0.0, True), (1.0, True), (1 + 2e-16, True), (1.01, False), (-0.1, False)]
)
def test_a_share_is_at_most_one(tmp_path: Path, value: float, legal: bool) -> None:
    shares = {"hit_rate": Metric("hit_rate", "share", Better.HIGHER, "", lambda record: 0.0)}
    rows = [replace(cell(1, value)[0], metric=name, unit="share") for name in ("hit_rate[one]", "hit_rate")]
    RowStore(tmp_path, shares).add(rows)
    again = RowStore(tmp_path, shares)
    if legal:
        again.check(("tiny", "fifo+pal", 1), "d41d8c", "0.1.0", "abc")
        return
    with pytest.raises(InputError, match=rf"hit_rate\[one\] = {value:g}; legal: 0 to 1; choose another --out"):
        again.check(("tiny", "fifo+pal", 1), "d41d8c", "0.1.0", "abc")


@pytest.mark.parametrize("begun", ["", HEADER[:7], HEADER[:-1], "\0" * 40])
def test_a_file_whose_first_write_was_cut_off_is_begun_anew(tmp_path: Path, begun: str) -> None:
    (tmp_path / "rows.csv").write_text(begun)
    fresh = store(tmp_path)
    assert fresh.rows == []
    fresh.add(cell(1))
    del fresh
    assert store(tmp_path).rows == cell(1)
    assert (tmp_path / "rows.csv").read_text().startswith(HEADER)
