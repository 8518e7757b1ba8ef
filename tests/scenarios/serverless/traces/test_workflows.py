from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from varigym.scenarios.errors import InputError
from varigym.scenarios.serverless.traces.workflows import read_workflows

WriteFile = Callable[[str | bytes], Path]

HEADER = "workflow,stage,function,after,slo_ms"
FUNCTIONS = ("f", "g", "h")


def table(*rows: str) -> str:
    return "\n".join([HEADER, *rows, ""])


def test_a_pipeline_and_a_fork(write: WriteFile) -> None:
    path = write(
        table(
            "line,one,f,,100",
            "line,two,g,one,100",
            "fork,in,h,,50.5",
            "fork,left,f,in,50.5",
            "fork,right,g,in,50.5",
            "fork,out,h,left + right,50.5",
        )
    )
    line, fork = read_workflows(path, FUNCTIONS)
    assert (line.name, line.functions, line.edges, line.slo_ms) == ("line", (0, 1), ((0, 1),), 100.0)
    assert (fork.name, fork.functions, fork.slo_ms) == ("fork", (2, 0, 1, 2), 50.5)
    assert set(fork.edges) == {(0, 1), (0, 2), (1, 3), (2, 3)}


def test_stages_of_any_order_are_numbered_topologically_the_earliest_line_first(write: WriteFile) -> None:
    rows = ("w,out,h,right+left,9", "w,right,g,in,9", "w,left,f,in,9", "w,in,h,,9")
    (workflow,) = read_workflows(write(table(*rows)), FUNCTIONS)
    assert workflow.functions == (2, 1, 0, 2)
    assert set(workflow.edges) == {(0, 1), (0, 2), (1, 3), (2, 3)}


def test_workflows_may_be_interleaved(write: WriteFile) -> None:
    rows = ("a,1,f,,9", "b,1,g,,8", "a,2,g,1,9", "b,2,f,1,8")
    a, b = read_workflows(write(table(*rows)), FUNCTIONS)
    assert (a.functions, b.functions) == ((0, 1), (1, 0))


@pytest.mark.parametrize(
    ("rows", "message"),
    [
        (("w,a,f,b,9", "w,b,g,a,9"), r"workflow w has a cycle: (a -> b -> a|b -> a -> b)"),
        (("w,a,f,a,9",), "workflow w has a cycle: a -> a"),
        (("w,a,f,,9", "w,b,g,c,9"), "line 3: unknown stage of w 'c'; legal: a, b"),
        (("w,a,f,,9", "w,b,g,a+,9"), "line 3: after = 'a[+]'; legal: distinct stages"),
        (("w,a,f,,9", "w,b,g,a+a,9"), "line 3: after = 'a[+]a'; legal: distinct stages"),
        (("w,a,f,,9", "w,a,g,,9"), r"line 3: workflow = 'w'; legal: one row per workflow, stage \(line 2"),
        (("w,a,ff,,9",), "line 2: unknown function 'ff'; .*; every function needs rows in the latency table"),
        (("w,a,f,,0",), "line 2: slo_ms = '0'; legal: a finite number > 0"),
        (("w,a,f,,nan",), "line 2: slo_ms = 'nan'"),
        (("w,a,f,,",), "line 2: slo_ms = ''"),
        (("w,a,f,,9", "w,b,g,a,8"), r"line 3: slo_ms = '8'; legal: one value per workflow \(line 2 has 9\)"),
        (("w,a,f,,9", "w,b,g,,9"), r"stage 1 cannot be reached from stage 0, the one entry \(stages: 0 = a, 1 = b\)"),
        (
            ("w,a,f,,9", "w,b,g,a,9", "w,c,g,a,9"),
            r"stage 1 does not lead to stage 2, the one exit \(stages: 0 = a, 1 = b, 2 = c\)",
        ),
        ((",a,f,,9",), "line 2: workflow = ''; legal: a name"),
        (("w,,f,,9",), "line 2: stage = ''; legal: a name"),
        (("w,a,,,9",), "line 2: function = ''; legal: a name"),
        (tuple(f"w,{k},f,{k - 1 if k else ''},9" for k in range(32)), "number of stages of w = 32"),
    ],
)
def test_bad_workflows_are_refused_by_file_and_reason(write: WriteFile, rows: tuple[str, ...], message: str) -> None:
    path = write(table(*rows))
    with pytest.raises(InputError, match=message) as refusal:
        read_workflows(path, FUNCTIONS)
    assert str(refusal.value).startswith(f"{path}, line ")
    assert str(refusal.value).count(str(path)) == 1


@pytest.mark.parametrize(
    ("rows", "line"),
    [
        (("w,a,f,,9", "w,b,g,,9", "w,c,h,a+b,9"), 3),  # two entries: the second
        (("v,a,f,,9", "w,c,h,a+b,9", "w,b,g,,9", "w,a,f,,9"), 5),  # the earliest line is the entry
        (("w,a,f,,9", "w,b,g,a,9", "w,c,g,a,9"), 3),  # two exits: the one that nobody waits for
        (("w,a,f,,9", *(f"w,b{k},g,a,9" for k in range(5)), "w,c,h,b0+b1+b2+b3+b4,9"), 8),
        (("v,a,f,,9", *(f"w,{k},f,{k - 1 if k else ''},9" for k in range(32))), 3),  # too long: where it begins
        (("v,a,f,,9", "w,a,f,b,9", "w,b,g,a,9"), "(3|4)"),
    ],
)
def test_a_graph_that_is_no_workflow_is_refused_by_line(write: WriteFile, rows: tuple[str, ...], line: object) -> None:
    with pytest.raises(InputError, match=rf", line {line}: "):
        read_workflows(write(table(*rows)), FUNCTIONS)


def test_a_file_without_the_columns_is_refused(write: WriteFile) -> None:
    with pytest.raises(InputError, match="no column after, slo_ms"):
        read_workflows(write("workflow,stage,function\nw,a,f\n"), FUNCTIONS)
