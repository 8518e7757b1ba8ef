from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from varigym.scenarios.catalog import find_source
from varigym.scenarios.errors import InputError
from varigym.scenarios.serverless.profiles.latency_table import read_latency_table

WriteFile = Callable[[str | bytes], Path]

HEADER = "function,batch,vcpu,vgpu,latency_ms"
ROWS = (
    "a,1,1,1,100",
    "a,1,1,2,60",
    "a,2,1,1,150",
    "a,2,1,2,90",
    "b,1,1,1,40",
    "b,1,1,2,30",
    "b,2,1,1,60",
    "b,2,1,2,40",
)


def table(*rows: str, header: str = HEADER) -> str:
    return "\n".join([header, *rows, ""])


@pytest.mark.parametrize("rows", [ROWS, (ROWS[4], *ROWS[:4], *ROWS[5:]), (*ROWS[3::-1], *ROWS[:3:-1])])
def test_rows_of_any_order_span_the_grid(write: WriteFile, rows: tuple[str, ...]) -> None:
    grid, functions, remarks = read_latency_table(write(table(*rows)))
    assert (grid.batches, grid.vcpus, grid.vgpus) == ((1, 2), (1,), (1, 2))
    latencies = {function.name: function.latency_ms.tolist() for function in functions}
    assert latencies == {"a": [100, 60, 150, 90], "b": [40, 30, 60, 40]}
    assert [function.name for function in functions] == list(dict.fromkeys(row[0] for row in rows))
    assert [remark.split(": ")[1] for remark in remarks] == [
        "no column cold_start_ms; 0 is used",
        "no column input_mb; 0 is used",
    ]


def test_cold_start_and_input_size_may_be_there(write: WriteFile) -> None:
    rows = [f"{row},{3 if row[0] == 'a' else 5},0.5" for row in ROWS]
    _, functions, remarks = read_latency_table(write(table(*rows, header=f"{HEADER},cold_start_ms,input_mb")))
    assert [(f.cold_start_ms, f.input_mb) for f in functions] == [(3.0, 0.5), (5.0, 0.5)]
    assert remarks == []


def test_a_scenario_written_to_a_table_reads_back(write: WriteFile) -> None:
    scenario = find_source("strict-light:measured_s=1:warmup_s=0").build(0)
    grid = scenario.grid
    rows = [
        f"{f.name},{grid.batch[x]},{grid.vcpu[x]},{grid.vgpu[x]},{f.latency_ms[x]!r},{f.cold_start_ms},{f.input_mb}"
        for f in scenario.functions
        for x in range(grid.size)
    ]
    rows = [row.replace("np.float64(", "").replace(")", "") for row in rows]
    read_grid, functions, _ = read_latency_table(write(table(*rows, header=f"{HEADER},cold_start_ms,input_mb")))
    assert read_grid == grid
    for read, written in zip(functions, scenario.functions, strict=True):
        assert read.name == written.name
        assert (read.latency_ms == written.latency_ms).all()


@pytest.mark.parametrize(
    ("row", "message"),
    [
        ("a,1,1,2,0", "latency_ms = '0'; legal: a finite number > 0"),
        ("a,1,1,2,-60", "latency_ms = '-60'"),
        ("a,1,1,2,nan", "latency_ms = 'nan'"),
        ("a,1,1,2,inf", "latency_ms = 'inf'"),
        ("a,1,1,2,", "latency_ms = ''"),
        ("a,1,1,2,fast", "latency_ms = 'fast'"),
        ("a,1,1,2,1e9", r"latency_ms = '1e9'; legal: .* <= 1e\+07"),
        ("a,0,1,2,60", "batch = '0'; legal: a whole number, 1 to 1024"),
        ("a,1,1.5,2,60", "vcpu = '1.5'"),
        ("a,1,1,9999,60", "vgpu = '9999'"),
        (",1,1,2,60", "function = ''; legal: a name"),
        ("a,1,1,1,60", r"function = 'a'; legal: one row per function, batch, vcpu, vgpu \(line 2 has the same\)"),
        ("a,1.0,1,1,60", r"one row per .* \(line 2 has the same\)"),
    ],
)
def test_a_bad_row_is_refused_by_file_line_value_and_rule(write: WriteFile, row: str, message: str) -> None:
    path = write(table(ROWS[0], row, *ROWS[2:]))
    with pytest.raises(InputError, match=message) as refusal:
        read_latency_table(path)
    assert str(refusal.value).startswith(f"{path}, line 3: ")


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("", "the file is empty"),
        (f"{HEADER}\n", "no rows"),
        ("function,batch\na,1\n", "no column vcpu, vgpu, latency_ms"),
        (
            table(*ROWS[:5], *ROWS[6:]),
            r"function 'b' has no row for batch 1, vcpu 1, vgpu 2 \(1 of 4 missing\); legal: every combination",
        ),
        (table(*ROWS, "b,1,2,1,40"), r"function 'a' has no row for batch 1, vcpu 2, vgpu 1 \(4 of 8 missing\)"),
        (table("a,2,1,1,5"), r"batches = \(2,\); legal: 1 is among them"),
        (
            table("a,1,1,1,5,7", "a,1,1,2,4,8", header=f"{HEADER},cold_start_ms"),
            r"line 3: cold_start_ms = '8'; legal: one value per function \(line 2 has 7\)",
        ),
        (table("a,1,1,1,5,-7", header=f"{HEADER},cold_start_ms"), "cold_start_ms = '-7'; legal: a finite number >= 0"),
        (table("a,1,1,1,5,nan", header=f"{HEADER},input_mb"), "input_mb = 'nan'"),
    ],
)
def test_a_table_that_is_not_complete_is_refused(write: WriteFile, content: str, message: str) -> None:
    path = write(content)
    with pytest.raises(InputError, match=message) as refusal:
        read_latency_table(path)
    assert str(refusal.value).startswith(str(path))


@pytest.mark.parametrize(
    ("rows", "line"),
    [
        ((*ROWS[:5], *ROWS[6:]), next(k for k, row in enumerate((*ROWS[:5], *ROWS[6:])) if row[0] == "b") + 2),
        (("a,4,1,1,9", "a,2,1,1,5"), 3),
    ],
)
def test_what_is_missing_is_refused_by_line(write: WriteFile, rows: tuple[str, ...], line: int) -> None:
    path = write(table(*rows))
    with pytest.raises(InputError) as refusal:
        read_latency_table(path)
    assert str(refusal.value).startswith(f"{path}, line {line}: ")
