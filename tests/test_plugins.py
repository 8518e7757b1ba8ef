"""Plug-ins from outside the package add one of everything, which is then found wherever built-in ones are.

One of them is what docs/contributing.md shows, the other a third world.
"""

from __future__ import annotations

import csv
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import gymnasium
import pytest
from contracts import (
    check_checkers,
    check_cluster_policy,
    check_loop,
    check_order,
    check_scenario,
    check_scheduler,
    check_trace_format,
    check_world,
    lockstep,
    play,
)
from gymnasium.vector import AutoresetMode
from varigym.agents.checkpoints.checkpoint import load_checkpoint
from varigym.bench.grid import provenance
from varigym.bench.grid.world_kinds import KINDS, SUITES
from varigym.cli import main
from varigym.commands import plugins
from varigym.commands.learners import LEARNERS
from varigym.policies.cluster.catalog import ORDERS, PLACEMENTS
from varigym.policies.serverless.catalog import SCHEDULERS, find_scheduler
from varigym.scenarios.catalog import SCENARIOS, find_source
from varigym.scenarios.cluster.traces.formats import TRACE_FORMATS
from varigym.scenarios.errors import InputError

TESTS = Path(__file__).parent
PAGE = TESTS.parent / "docs" / "contributing.md"
TRACE = "id,submitted,gpus,seconds\na,0,2,600\nb,60,1,1200\nc,90,8,300\n"
WALK = "toy/Walk-v0"


@pytest.fixture(scope="module")
def shown(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The Python blocks of the page as one file."""
    path = tmp_path_factory.mktemp("page") / "shown.py"
    path.write_text("\n\n".join(re.findall(r"^```python\n(.*?)^```$", PAGE.read_text(), re.M | re.S)))
    return path


@pytest.fixture(scope="module", autouse=True)
def plugged(shown: Path) -> Iterator[None]:
    """The plug-ins are loaded once, as a command does it, and are gone afterwards."""
    metrics = [kind.metrics for kind in KINDS.values()]
    catalogs = [ORDERS, PLACEMENTS, SCHEDULERS, SCENARIOS, TRACE_FORMATS, LEARNERS, SUITES, KINDS, *metrics]
    before = [dict(catalog) for catalog in catalogs]
    for path in (shown, TESTS / "toys" / "walk.py"):
        plugins.load_plugin(path)
    yield
    for catalog, entries in zip(catalogs, before, strict=True):
        catalog.clear()
        catalog.update(entries)
    plugins._LOADED.clear()
    provenance._PLUGINS.clear()
    del gymnasium.registry[WALK]


def run(*words: str) -> int:
    with pytest.raises(SystemExit) as end:
        main(words)
    return int(end.value.code or 0)


def test_a_command_loads_a_plug_in(shown: Path) -> None:
    words = [sys.executable, "-m", "varigym.cli", "list", "--plugin", str(shown)]
    done = subprocess.run(words, capture_output=True, text=True, check=True)
    assert "largest-batch" in done.stdout


def test_list_shows_all_of_it(capsys: pytest.CaptureFixture[str]) -> None:
    assert run("list") == 0
    listed = capsys.readouterr().out
    names = (
        "widest",
        "last-free",
        "largest-batch",
        "mini-16",
        "wait",
        "longest_wait_h",
        "random-search",
        "walk",
        "run",
        "walks",
    )
    assert [name for name in names if f" {name} " not in listed] == []
    assert "most=8" in listed
    assert "least=5, spread=10" in listed


def test_an_order_and_a_placement(capsys: pytest.CaptureFixture[str]) -> None:
    for name in ("widest+packed", "fifo+last-free", "widest+last-free+sticky+backfill"):
        check_cluster_policy(name)
    check_order("widest")
    assert run("bench", "mini-16", "--policies", "widest+last-free,pal,fifo+packed+sticky", "--seeds", "2") == 0
    shown = capsys.readouterr().out
    assert "widest+last-free" in shown
    assert "longest_wait_h" in shown.replace("\n", "") or "longest" in shown


def test_a_scheduler(capsys: pytest.CaptureFixture[str]) -> None:
    check_scheduler(find_scheduler("largest-batch"), find_source("tiny-serverless").build(0))
    assert run("bench", "tiny-serverless", "--policies", "largest-batch:most=4,esg", "--seeds", "1") == 0
    assert "largest-batch:most=4" in capsys.readouterr().out


def test_a_scenario_and_a_metric(capsys: pytest.CaptureFixture[str]) -> None:
    check_scenario("mini-16")
    check_world("cluster", "mini-16", ("pal", "tiresias"))
    assert run("simulate", "mini-16:jobs=5") == 0
    shown = capsys.readouterr().out
    assert "5 jobs" in shown
    assert "longest_wait_h" in shown


def test_a_trace_format(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "trace.txt"
    path.write_text(TRACE)
    check_trace_format("wait", path)
    words = ("--nodes", "2", "--jobs-out", str(tmp_path / "jobs.csv"))
    assert run("simulate", "--trace", str(path), *words) == 0
    assert [row["job_id"] for row in csv.DictReader((tmp_path / "jobs.csv").read_text().splitlines())] == [
        "a",
        "b",
        "c",
    ]
    assert run("simulate", "--trace", str(path), "--format", "sia", *words) == 2
    assert "line 1: no column job_id, num_gpus" in capsys.readouterr().err.replace("\n", " ")
    assert run("simulate", "--trace", str(path), "--format", "waits", *words) == 2
    assert "unknown trace format 'waits'; did you mean wait?" in capsys.readouterr().err


def test_a_learner(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    folder = tmp_path / "found"
    assert run("train", "--algo", "random-search", "--tries", "2", "--out", str(folder), "mini-16") == 0
    assert load_checkpoint(folder).training.recipe == "random-search"
    assert run("bench", "mini-16", "--policies", "pal", str(folder), "--seeds", "1") == 0
    assert "found@" in capsys.readouterr().out
    assert run("train", "--algo", "random-serch", "--out", str(folder)) == 2
    assert "unknown learner 'random-serch'; did you mean random-search?" in capsys.readouterr().err


def test_a_third_world(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    check_scenario("walk")
    check_world("walk", "walk:least=7", ("stroll", "run"))
    assert run("simulate", "walk", "--policy", "run", "--rows-out", str(tmp_path / "rows.csv")) == 0
    assert (tmp_path / "rows.csv").read_text().startswith("length,steps\n")
    assert run("bench", "walks", "--seeds", "3", "--out", str(tmp_path / "walks")) == 0
    shown = capsys.readouterr().out
    assert "walk:least=20" in shown
    assert "Geometric mean over 2 scenarios" in shown
    assert "<h1>varigym bench walks</h1>" in (tmp_path / "walks" / "report.html").read_text()
    for words, says in (
        (("bench", "walk", "tiny"), "scenario 'walk' is a walk, 'tiny' is a training cluster"),
        (
            ("simulate", "walk", "--policy", "pal"),
            "'pal' is for a training cluster; legal for a walk: stroll, run",
        ),
        (("simulate", "tiny", "--policy", "run"), "policy 'run' is for a walk"),
        (("train", "walk", "--out", str(tmp_path / "no")), "unknown world that learners know 'walk'"),
    ):
        assert run(*words) == 2
        assert says in capsys.readouterr().err


def test_an_environment_of_a_third_world() -> None:
    check_checkers(WALK, {})
    check_loop(WALK, {})
    for mode in AutoresetMode:
        assert sum(play(lockstep(WALK, {}, 3, mode, 40))) > 0


@pytest.mark.parametrize("catalog", [ORDERS, SCHEDULERS, SCENARIOS, LEARNERS, SUITES, KINDS, TRACE_FORMATS])
@pytest.mark.parametrize("name", ["", "a b", "a+b", "a:b", "a,b", "a=b", "a/b", "a[b", "a\nb"])
def test_names_with_a_meaning_are_refused(catalog: object, name: str) -> None:
    with pytest.raises(InputError, match="legal: a name without spaces and without"):
        catalog.check_new(name)  # type: ignore[attr-defined]
