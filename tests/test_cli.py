from __future__ import annotations

import csv
import gzip
import json
import math
import re
import signal
import subprocess
import sys
import time
from importlib import metadata
from pathlib import Path
from typing import Any

import pytest
from varigym.bench.grid.world_kinds import SUITES
from varigym.cli import main
from varigym.envs.cluster.metrics import METRICS
from varigym.envs.serverless.metrics import METRICS as SERVERLESS_METRICS
from varigym.interrupts import is_command
from varigym.policies.cluster.catalog import ALIASES, ORDERS, PLACEMENTS
from varigym.policies.serverless.catalog import SCHEDULERS
from varigym.policies.serverless.catalog import knobs as scheduler_knobs
from varigym.scenarios.catalog import SCENARIOS

TRACE = "job_id,num_gpus,submit_time,duration,model\na,2,0,600,resnet50\nb,1,30,1200,vgg19\nc,4,40,60,BERT\n"
SCORES = "gpu_id,node_id,score_A,score_B,score_C\n0,0,1,1,1\n1,0,1.5,1,1\n2,1,1,1,1\n3,1,1,1,1\n"
FILES = {
    "trace.csv": TRACE,
    "scores.csv": SCORES,
    "runs.csv": "uuid,perf\nu,1\nv,1.2\nw,1.1\n",
    "models.csv": "model,iter_s,app_class\nllama,1,A\n",
    "broken.csv": "job_id,num_gpus,submit_time,duration,model\na,2,0,-600,resnet50\n",
    "strange.csv": "job_id,num_gpus,submit_time,duration,model\na,2,0,600,resnet5\n",
    "wide.csv": "job_id,num_gpus,submit_time,duration,model\na,5,0,600,resnet50\n",
    "unsorted.csv": "job_id,num_gpus,submit_time,duration,model\na,1,60,60,BERT\nb,1,0,60,BERT\n",
    "few.csv": "model,iter_s,fu_pct,dram_pct\na,1,90,10\nb,1,10,90\n",
    "text.txt": "hello\n",
    "syntax.py": "def (:\n",
    "raises.py": "raise ValueError('of its own')\n",
    "imports.py": "import no_such_module_anywhere\n",
    "taken.py": "import varigym\nvarigym.add_placement(varigym.Placement('pal', None, 'again'))\n",
    "hello.py": "print('hello from the plugin')\n",
}
SMALL = ("--nodes", "2", "--gpus-per-node", "2")
ON_TRACE = ("simulate", "--trace", "trace.csv", *SMALL)
TINY_BENCH = ("bench", "--scenarios", "tiny", "--policies", "fifo+packed+sticky,pal,srtf+pal", "--seeds", "2")


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A working directory with good and bad files."""
    monkeypatch.chdir(tmp_path)
    for name, text in FILES.items():
        Path(name).write_text(text)
    Path("binary.csv").write_bytes(bytes(range(256)))
    Path("trace.csv.gz").write_bytes(gzip.compress(b"job_id"))
    return tmp_path


def run(*words: str) -> int:
    with pytest.raises(SystemExit) as end:
        main(list(words))
    assert isinstance(end.value.code, int)
    return end.value.code


def files_in(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir() if path.name != "__pycache__")


def row_of(printed: str, name: str) -> str:
    return next(line for line in printed.splitlines() if f" {name} " in line)


def table_row(printed: str, name: str) -> str:
    return next(line for line in printed.splitlines() if line.startswith(f"│ {name} "))


@pytest.fixture
def listed(capsys: pytest.CaptureFixture[str]) -> str:
    """What `varigym list` prints."""
    assert run("list") == 0
    return capsys.readouterr().out


def test_list_names_everything_there_is(listed: str) -> None:
    names = [
        *SCENARIOS,
        *ORDERS,
        *PLACEMENTS,
        *ALIASES,
        *SCHEDULERS,
        *SUITES,
        *(metric.name for metric in METRICS.values()),
    ]
    assert [name for name in names if f" {name} " not in listed] == []


def test_list_says_what_each_order_knows(listed: str) -> None:
    for order in ORDERS.values():
        row = row_of(listed, order.name)
        assert str(order.information) in row
        assert ("*" in row) == (order.information == "clairvoyant")


def test_list_shows_schedulers_with_their_knobs(listed: str) -> None:
    for name, entry in SCHEDULERS.items():
        assert entry.about[:40] in table_row(listed, name)
        knobs = scheduler_knobs(entry.make(name))
        assert not knobs or f"{next(iter(knobs))}=" in listed
    for metric in SERVERLESS_METRICS.values():
        assert any(metric.definition in line for line in listed.splitlines() if line.startswith(f"│ {metric.name} "))


def test_list_defines_every_metric_and_shows_seeds_and_knobs(listed: str) -> None:
    for metric in METRICS.values():
        assert metric.definition in row_of(listed, metric.name)
    for word in ("200,000", "held-out", "slow_rate=0.08", "span_h=20.0", "load_per_h=8.0", "compat=paper"):
        assert word in listed


def test_simulate_prints_every_metric_with_unit_and_definition(capsys: pytest.CaptureFixture[str]) -> None:
    assert run("simulate", "tiny") == 0
    printed = capsys.readouterr()
    assert "tiny, fifo+pal (non-clairvoyant), seed 0, 4 jobs" in printed.out
    for metric in METRICS.values():
        assert metric.definition in row_of(printed.out, metric.name)
    assert "142.5000" in row_of(printed.out, "mean_jct_s")
    assert printed.err == ""


def test_simulate_says_that_a_policy_is_clairvoyant(capsys: pytest.CaptureFixture[str]) -> None:
    assert run("simulate", "tiny", "--policy", "srtf+pal", "--seed", "7") == 0
    assert "tiny, srtf+pal (clairvoyant), seed 7" in capsys.readouterr().out


def test_simulate_writes_one_row_per_job(folder: Path) -> None:
    assert run("simulate", "tiny", "--jobs-out", "jobs.csv") == 0
    assert Path("jobs.csv").read_text().splitlines() == [
        "job_id,arrival_s,start_s,finish_s,demand,app_class,jct_s,run_slowdown,preemptions,contention,ftf",
        f"0,0,0,120,2,A,120,1,0,1.125,{120 / (120 * 1.125)!r}",
        "1,0,0,60,1,B,60,1,0,1,1",
        f"2,30,60,240,2,A,210,{3.5 / 3!r},1,{3.25 / 3!r},{210 / (120 * (3.25 / 3))!r}",
        f"3,60,120,240,1,A,180,1,0,{3.25 / 3!r},{180 / (120 * (3.25 / 3))!r}",
    ]


def test_simulate_writes_one_row_per_request(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run("simulate", "tiny-serverless", "--policy", "min-config", "--requests-out", "requests.csv") == 0
    printed = capsys.readouterr()
    assert "tiny-serverless, min-config, seed 0, 6 requests" in printed.out
    for metric in SERVERLESS_METRICS.values():
        assert metric.definition in table_row(printed.out, metric.name)
    lines = Path("requests.csv").read_text().splitlines()
    assert lines[0] == "request_id,workflow,arrival_ms,finish_ms,slo_ms,hit,cost_usd,cold_starts"
    assert lines[3] == f"2,say-only,20,60,60,1,{0.04 * (0.034 + 0.67) / 3600!r},0"
    assert printed.err == "note: wrote requests.csv\n"


def test_a_serverless_bench_prints_hits_and_cost_and_writes_a_page(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    words = ("bench", "--scenarios", "tiny-serverless", "--policies", "esg,min-config", "--seeds", "2", "--out", "out")
    assert run(*words) == 0
    printed = capsys.readouterr().out
    assert "1 (baseline)" in row_of(printed, "esg")
    assert "report: out/report.html" in printed
    assert files_in(Path("out")) == ["report.html", "rows.csv"]
    assert run(*words) == 0
    assert capsys.readouterr().out == printed


def test_jobs_cut_off_at_the_horizon_are_said_and_have_no_finish(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run("simulate", "tiny", "--restart-s", "1e9", "--jobs-out", "jobs.csv") == 0
    assert "note: 1 jobs had not finished at the horizon" in capsys.readouterr().err
    with Path("jobs.csv").open() as file:
        (cut,) = [row for row in csv.DictReader(file) if not row["finish_s"]]
    assert cut["job_id"] == "2"
    assert float(cut["jct_s"]) > 1000


def test_platform_options_become_knobs_of_the_scenario(capsys: pytest.CaptureFixture[str]) -> None:
    options = ("--restart-s", "30", "--compat", "artifact", "--locality-penalty", "A=1.5/B=1/C=1/D=1")
    assert run("simulate", "tiny", *options) == 0
    printed = capsys.readouterr().out
    assert "tiny:restart_s=30.0:locality_penalty=A=1.5/B=1/C=1/D=1:compat=artifact, fifo+pal" in printed


@pytest.mark.parametrize(
    "files",
    [
        (),
        ("--pm-scores", "scores.csv"),
        ("--pm-runs", "A=runs.csv,B=runs.csv, C=runs.csv"),
        ("--models", "models.csv"),
        ("--duration-unit", "iterations"),
        ("--locality-penalty", "A=1.2/B=1/C=1/D=1"),
    ],
)
def test_simulate_runs_a_trace_with_its_files(
    folder: Path, capsys: pytest.CaptureFixture[str], files: tuple[str, ...]
) -> None:
    assert run(*ON_TRACE, *files) == 0
    assert "trace, fifo+pal (non-clairvoyant), seed 0, 3 jobs" in capsys.readouterr().out


def test_simulate_counts_the_tracked_jobs_only(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(*ON_TRACE, "--tracked", "1-2", "--jobs-out", "jobs.csv") == 0
    assert "2 jobs" in capsys.readouterr().out
    assert [line.split(",")[0] for line in Path("jobs.csv").read_text().splitlines()[1:]] == ["b", "c"]


def test_remarks_on_the_files_are_said(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run("simulate", "--trace", "unsorted.csv", *SMALL) == 0
    assert capsys.readouterr().err.startswith("note: unsorted.csv, line 3: arrivals are not in order")


def test_a_plugin_is_run_first(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run("simulate", "tiny", "--plugin", "hello.py") == 0
    assert capsys.readouterr().out.startswith("hello from the plugin\n")


def test_bench_prints_paired_ratios_and_writes_rows_that_a_rerun_keeps(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(*TINY_BENCH, "--out", "out") == 0
    printed = capsys.readouterr().out
    assert "tiny, 2 seeds" in printed
    assert "1 (baseline)" in row_of(printed, "fifo+packed+sticky")
    assert "142" in row_of(printed, "fifo+pal")
    assert "srtf+pal *" in printed
    assert "rows: out/rows.csv" in printed
    text = Path("out/rows.csv").read_text()
    rows = list(csv.DictReader(text.splitlines()))
    assert {row["metric"] for row in rows} == {metric.name for metric in METRICS.values()}
    assert {row["seed"] for row in rows} == {"200000", "200001"}
    assert len(rows) == 3 * 2 * len(METRICS)
    assert run(*TINY_BENCH, "--out", "out") == 0
    assert Path("out/rows.csv").read_text() == text
    assert capsys.readouterr().out == printed


def test_bench_runs_traces_once_where_files_leave_nothing_to_draw(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    policies = ("--policies", "fifo+packed+sticky,pal")
    assert run("bench", "--traces", "trace.csv", "--pm-scores", "scores.csv", *policies, *SMALL) == 0
    assert "trace, 1 seed" in capsys.readouterr().out


def test_bench_shows_a_summary_over_scenarios(capsys: pytest.CaptureFixture[str]) -> None:
    given = ("--scenarios", "tiny, tiny:round_s=30", "--policies", "fifo+packed,pal", "--seeds", "1")
    assert run("bench", *given, "--baseline", "ORDER+packed", "--seed-start", "5") == 0
    printed = capsys.readouterr().out
    assert "Geometric mean over 2 scenarios" in printed
    assert "seeds 5-5" in printed


def test_a_bench_into_a_log_says_every_finished_cell(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run("bench", "tiny", "tiny:round_s=30", "--policies", "pal,fifo+packed", "--seeds", "2", "--out", "out") == 0
    said = [re.sub(r"\d+\.\d s$", "T s", line) for line in capsys.readouterr().err.splitlines()]
    assert said == [
        "1/4: tiny, fifo+pal: 2 seeds, T s",
        "2/4: tiny, fifo+packed: 2 seeds, T s",
        "3/4: tiny:round_s=30, fifo+pal: 2 seeds, T s",
        "4/4: tiny:round_s=30, fifo+packed: 2 seeds, T s",
    ]
    assert run("bench", "tiny", "--policies", "pal", "--seeds", "3", "--out", "out") == 0
    assert capsys.readouterr().err.startswith("1/1: tiny, fifo+pal: 3 seeds (2 of them there before), ")


def test_a_bench_on_a_terminal_shows_a_bar_and_no_lines(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("FORCE_COLOR", "1")  # a terminal, to rich
    assert run("bench", "tiny", "--policies", "pal", "--seeds", "2") == 0
    said = capsys.readouterr().err
    assert "2/2" in said
    assert "1/1: " not in said


def test_a_narrow_terminal_and_a_pipe_break_no_name(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    policies = ("esg", "esg:margin=0.85:k=1:group=2", "infless:margin=0.85:give_up=on")
    words = ("bench", "tiny-serverless", "tiny-serverless:warm=0", "--policies", *policies, "--seeds", "2")
    assert run(*words) == 0
    piped = capsys.readouterr().out
    monkeypatch.setenv("FORCE_COLOR", "1")  # a terminal, to rich
    monkeypatch.setenv("COLUMNS", "60")
    assert run(*words) == 0
    narrow = re.sub(r"\x1b\[[0-9;]*m", "", capsys.readouterr().out)
    for name in policies:
        assert name in piped.split()
        assert name in narrow.split()
    assert "left out: " in narrow
    assert max(map(len, narrow.splitlines())) <= 60


SAID = ("words", "commas", "option", "option with spaces", "singular")


@pytest.mark.parametrize("way", SAID)
def test_bench_takes_scenarios_and_policies_in_every_way(capsys: pytest.CaptureFixture[str], way: str) -> None:
    scenarios = {
        "words": ("tiny", "tiny:round_s=30"),
        "commas": ("tiny,tiny:round_s=30",),
        "option": ("--scenarios", "tiny,tiny:round_s=30"),
        "option with spaces": ("--scenarios", "tiny", "tiny:round_s=30"),
        "singular": ("--scenario", "tiny", "tiny:round_s=30"),
    }[way]
    policies = ("--policy", "fifo+packed,pal") if way == "singular" else ("--policies", "fifo+packed", "pal")
    assert run("bench", *scenarios, *policies, "--seeds", "1") == 0
    printed = capsys.readouterr().out
    assert "Geometric mean over 2 scenarios" in printed
    assert "1 (baseline)" in row_of(printed, "fifo+packed")


def test_no_name_is_both_a_suite_and_a_scenario() -> None:
    assert set(SUITES) & set(SCENARIOS) == set()


def test_simulate_takes_its_scenario_as_an_option_too(capsys: pytest.CaptureFixture[str]) -> None:
    assert run("simulate", "--policy", "pal", "tiny") == 0
    printed = capsys.readouterr().out
    assert run("simulate", "--scenario", "tiny", "--policy", "pal") == 0
    assert capsys.readouterr().out == printed


def test_an_interrupted_bench_says_how_to_continue(
    folder: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    def interrupted(*_: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("varigym.commands.grid_run.run_grid", interrupted)
    assert run(*TINY_BENCH, "--out", "out") == 130
    said = capsys.readouterr().err
    assert "interrupted; finished rows are in out/rows.csv; the same command continues" in said
    assert "Traceback" not in said


RATES = {"single": (9000.0, 0.25), "batched": (80000.0, 0.5), "host_stepped": (30000.0, 0.5)}


@pytest.mark.parametrize("rates", [RATES, pytest.param(None, marks=pytest.mark.slow)], ids=["given", "measured"])
def test_perf_measures_beside_machine_facts(
    folder: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, rates: dict[str, Any] | None
) -> None:
    """With the rates of environments, most of what takes long, given or measured."""
    if rates:
        monkeypatch.setattr("varigym.bench.perf.measurements.cluster_rates", lambda *given: rates)
    assert run("perf", "--quick", "--json-out", "perf.json", "--trace", "trace.csv", *SMALL) == 0
    printed = capsys.readouterr().out
    found = json.loads(Path("perf.json").read_text())
    assert set(found) == {"machine", "rows"}
    units = {row["name"]: row["unit"] for row in found["rows"]}
    assert units == {
        "cluster.rounds_per_s": "1/s",
        "cluster.placements_per_s": "1/s",
        "cluster.compile_s": "s",
        "cluster.env_steps_per_s.single": "1/s",
        "cluster.env_steps_rest_or_commit.single": "share",
        "cluster.env_steps_per_s.batched": "1/s",
        "cluster.env_steps_rest_or_commit.batched": "share",
        "cluster.env_steps_per_s.host_stepped": "1/s",
        "cluster.env_steps_rest_or_commit.host_stepped": "share",
        "peak_rss_mb": "MB",
        "numpy_loop_per_s": "1/s",
    }
    for row in found["rows"]:
        assert set(row) == {"name", "value", "unit"}
        assert math.isfinite(row["value"])
        assert row["value"] > 0 or row["name"] == "cluster.compile_s"  # nothing left to compile in this process
        assert row["name"] in printed
    facts = {"processor", "cores", "system", "python", "jax", "numpy", "device", "x64", "version", "commit"}
    assert set(found["machine"]) == facts
    assert all(str(fact) in printed for fact in found["machine"].values())


BAD = {
    "policy of the other kind": (
        ("simulate", "tiny", "--policy", "esg"),
        "policy 'esg' is for a serverless platform; ",
    ),
    "cluster policy": (("simulate", "tiny-serverless", "--policy", "pal"), "legal for a serverless platform: esg, "),
    "scheduler": (("simulate", "tiny-serverless", "--policy", "esgg"), "unknown scheduler 'esgg'; did you mean esg"),
    "scheduler knob": (("simulate", "tiny-serverless", "--policy", "esg:kay=1"), "unknown knob of esg 'kay'"),
    "requests into a folder": (("simulate", "tiny-serverless", "--requests-out", "."), ".: cannot be written"),
    "nodes of a platform": (("simulate", "tiny-serverless", "--nodes", "2"), "unknown knob of tiny-serverless 'nodes'"),
    "seconds with an underscore": (("simulate", "tiny:restart_s=1_0"), "restart_s = '1_0'; legal: a number"),
    "penalty with an underscore": (("simulate", "tiny:locality_penalty=1_7"), "locality_penalty = '1_7'; legal"),
    "penalties in other digits": (
        ("simulate", "tiny:locality_penalty=A=\u0661/B=1/C=1/D=1"),
        "legal: a number >= 1, or one",
    ),
    "both kinds": (("bench", "--scenarios", "tiny,tiny-serverless"), "run one kind at a time"),
    "suite of the other kind": (("bench", "esg", "--scenarios", "tiny"), "policy 'esg' is for a serverless platform"),
    "scenario": (("simulate", "tyny"), "unknown scenario 'tyny'; did you mean tiny?"),
    "knob": (("simulate", "tiny:rounds=3"), "unknown knob of tiny 'rounds'; did you mean round_s"),
    "policy": (("simulate", "tiny", "--policy", "pall"), "unknown policy 'pall'; did you mean pal"),
    "no policy": (("simulate", "tiny", "--policy", ""), "unknown policy ''"),
    "order": (("simulate", "tiny", "--policy", "fifi+pal"), "unknown order 'fifi'; did you mean fifo?"),
    "placement": (
        ("simulate", "tiny", "--policy", "fifo+pmfirst"),
        "unknown placement 'pmfirst'; did you mean pm-first",
    ),
    "habit": (("simulate", "tiny", "--policy", "fifo+pal+stick"), "'stick' where +sticky and +backfill are legal"),
    "nodes 0": (("simulate", "tiny", "--nodes", "0"), "legal|expected"),
    "nodes 0 of sia": (("simulate", "sia-64", "--nodes", "0"), "nodes = 0"),
    "nodes 0 of synergy": (("simulate", "synergy-256", "--nodes", "0"), "nodes = 0"),
    "nodes below 0": (("simulate", "sia-64", "--nodes", "-4"), "nodes = -4"),
    "nodes 0 of a trace": (("simulate", "--trace", "trace.csv", "--nodes", "0"), "nodes = 0"),
    "gpus per node 0": (("simulate", "sia-64", "--gpus-per-node", "0"), "gpus_per_node = 0"),
    "round_s 0": (("simulate", "tiny", "--round-s", "0"), "round_s = 0.0; legal: a finite number > 0"),
    "round_s nan": (("simulate", "tiny", "--round-s", "nan"), "round_s = nan"),
    "round_s below 0": (("simulate", "tiny", "--round-s", "-60"), "round_s = -60.0"),
    "round_s 0 of a trace": ((*ON_TRACE, "--round-s", "0"), "round_s = 0.0"),
    "restart_s inf": (("simulate", "tiny", "--restart-s", "inf"), "restart_s = inf"),
    "penalty 0.5": (("simulate", "tiny", "--locality-penalty", "0.5"), "locality_penalty of class A = 0.5; legal: "),
    "penalty text": (("simulate", "tiny", "--locality-penalty", "high"), "locality_penalty = 'high'; legal: a number"),
    "penalty 0.5 of a trace": ((*ON_TRACE, "--locality-penalty", "0.5"), "locality_penalty of class A = 0.5"),
    "penalty text of a trace": ((*ON_TRACE, "--locality-penalty", "high"), "locality_penalty = 'high'; legal: "),
    "penalty of a class": (
        ("simulate", "tiny", "--locality-penalty", "A=1/B=1/C=1/D=0"),
        "locality_penalty of class D = 0.0",
    ),
    "penalty of no class": (("simulate", "tiny", "--locality-penalty", "A=1/X=1"), "unknown app class 'X'"),
    "seed below 0": (("simulate", "tiny", "--seed", "-1"), "seed = -1; legal: "),
    "seed below 0 of sia": (("simulate", "sia-64", "--seed", "-1"), "seed = -1; legal: "),
    "endless seed": (("simulate", "tiny", "--seed", "99999999999999999999"), "seed = 99999999999999999999; legal: "),
    "no trace": (("simulate", "--trace", "none.csv"), "none.csv: cannot be read (No such file"),
    "a folder as trace": (("simulate", "--trace", "."), ".: cannot be read (Is a directory"),
    "binary trace": (("simulate", "--trace", "binary.csv"), "binary.csv: not a text file"),
    "packed trace": (
        ("simulate", "--trace", "trace.csv.gz"),
        "compressed by gzip; unpack it first (gunzip trace.csv.gz)",
    ),
    "bad trace": (("simulate", "--trace", "broken.csv"), "broken.csv, line 2: duration = '-600'; legal: "),
    "model": (
        ("simulate", "--trace", "strange.csv"),
        "strange.csv, line 2: unknown model 'resnet5'; did you mean resnet50",
    ),
    "wide job": (("simulate", "--trace", "wide.csv", *SMALL), "line 2: num_gpus = '5'; legal: a whole number, 1 to 4"),
    "no scores": ((*ON_TRACE, "--pm-scores", "none.csv"), "none.csv: cannot be read"),
    "bad scores": ((*ON_TRACE, "--pm-scores", "trace.csv"), "trace.csv, line 1: no column gpu_id, node_id"),
    "few scores": (("simulate", "--trace", "trace.csv", "--pm-scores", "scores.csv"), "scores.csv: 4 GPUs; legal: "),
    "no models": ((*ON_TRACE, "--models", "none.csv"), "none.csv: cannot be read"),
    "bad models": ((*ON_TRACE, "--models", "trace.csv"), "trace.csv, line 1: no column iter_s"),
    "few models": ((*ON_TRACE, "--models", "few.csv"), "few.csv"),
    "no runs": ((*ON_TRACE, "--pm-runs", "A=none.csv"), "none.csv: cannot be read"),
    "bad runs": ((*ON_TRACE, "--pm-runs", "A=trace.csv"), "trace.csv, line 1: no column perf"),
    "runs of no class": ((*ON_TRACE, "--pm-runs", "X=runs.csv"), "unknown app class in --pm-runs 'X'"),
    "runs without file": ((*ON_TRACE, "--pm-runs", "A"), "pm_runs = 'A'; legal: CLASS=FILE"),
    "runs twice": ((*ON_TRACE, "--pm-runs", "A=runs.csv,A=runs.csv,B=runs.csv,C=runs.csv"), "pm-runs|pm_runs"),
    "runs of too few classes": ((*ON_TRACE, "--pm-runs", "A=runs.csv"), "a model of class A (this one is C)"),
    "tracked text": ((*ON_TRACE, "--tracked", "all"), "tracked = 'all'; legal: FIRST-LAST"),
    "tracked nobody": ((*ON_TRACE, "--tracked", "2-7"), "tracked = 2-7; legal: FIRST-LAST within 0-2"),
    "no plugin": (("simulate", "tiny", "--plugin", "none.py"), "none.py: no such file"),
    "misspelt plugin": (("simulate", "tiny", "--plugin", "helo.py"), "helo.py: no such file; did you mean hello.py?"),
    "no plugin in no folder": (("simulate", "tiny", "--plugin", "none/hello.py"), "none/hello.py: no such file"),
    "text plugin": (("simulate", "tiny", "--plugin", "text.txt"), "text.txt: not a Python file"),
    "a folder as plugin": (("simulate", "tiny", "--plugin", "."), ".: not a Python file"),
    "plugin with bad syntax": (("simulate", "tiny", "--plugin", "syntax.py"), "syntax.py"),
    "plugin that raises": (("simulate", "tiny", "--plugin", "raises.py"), "raises.py"),
    "plugin that imports nothing": (("simulate", "tiny", "--plugin", "imports.py"), "imports.py"),
    "plugin with a taken name": (
        ("simulate", "tiny", "--plugin", "taken.py"),
        "placement 'pal' exists already; legal: a new name",
    ),
    "scores without trace": (("simulate", "--pm-scores", "scores.csv"), "--pm-scores belongs to --trace"),
    "scores of a scenario": (("simulate", "tiny", "--pm-scores", "scores.csv"), "--pm-scores belongs to --trace"),
    "tracked of a scenario": (("simulate", "tiny", "--tracked", "0-1"), "--tracked belongs to --trace"),
    "scenario and trace": (
        ("simulate", "tiny", "--trace", "trace.csv"),
        "scenario 'tiny' and --trace trace.csv: give one",
    ),
    "jobs into no folder": (("simulate", "tiny", "--jobs-out", "none/jobs.csv"), "none/jobs.csv: cannot be written"),
    "jobs into a folder": (("simulate", "tiny", "--jobs-out", "."), ".: cannot be written"),
    "jobs below a file": (
        ("simulate", "tiny", "--jobs-out", "text.txt/jobs.csv"),
        "text.txt/jobs.csv: cannot be written",
    ),
    "json into no folder": (("perf", "--json-out", "none/perf.json"), "none/perf.json: cannot be written"),
    "perf without its trace": (("perf", "--trace", "none.csv"), "none.csv: cannot be read"),
    "perf scores": (("perf", "--pm-scores", "scores.csv"), "--pm-scores belongs to --trace"),
    "suite": (("bench", "quik"), "unknown suite or scenario 'quik'; did you mean quick"),
    "scenario twice": (("simulate", "tiny", "--scenario", "sia-64"), "scenario 'tiny' and --scenario sia-64: give one"),
    "bench suite and scenario": (("bench", "esg", "overload"), "with the suite 'esg'; legal: one suite, or scenarios"),
    "bench two suites": (("bench", "esg", "pal"), "'esg pal' with the suite 'esg'; legal: one suite"),
    "bench scenario both ways": (("bench", "tiny", "--scenarios", "sia-64"), "'tiny' and --scenarios sia-64: give one"),
    "bench knob": (("bench", "tiny:rounds=3"), "unknown knob of tiny 'rounds'; did you mean round_s"),
    "bench no scenario": (("bench", "--scenarios", "--seeds", "1"), "--scenarios '' names nothing; legal: names with"),
    "bench no policy": (("bench", "--policies", ","), "--policies ',' names nothing; legal: names with commas or"),
    "bench scenario": (("bench", "--scenarios", "tyny"), "unknown scenario 'tyny'; did you mean tiny"),
    "bench policy": ((*TINY_BENCH[:3], "--policies", "pal,pall"), "unknown policy 'pall'; did you mean pal"),
    "bench policy twice": ((*TINY_BENCH[:3], "--policies", "pal,fifo+pal"), "policy 'fifo+pal' is given twice"),
    "bench baseline": ((*TINY_BENCH, "--baseline", "ORDER+pall"), "unknown placement 'pall'; did you mean pal"),
    "bench baseline that is not run": (
        ("bench", "--scenarios", "tiny-serverless", "--policies", "min-config,esg", "--baseline", "orion"),
        "baseline = 'orion' is not among the policies to run; legal: a name that stands for one of min-config, esg",
    ),
    "bench scores": (("bench", "--pm-scores", "scores.csv"), "--pm-scores belongs to --traces"),
    "bench trace": (("bench", "--traces", "none.csv"), "none.csv: cannot be read"),
    "bench seeds 0": ((*TINY_BENCH[:-1], "0"), "seeds = 0; at least one is needed"),
    "bench seeds below 0": ((*TINY_BENCH[:-1], "-3"), "seeds = -3"),
    "bench seed start below 0": ((*TINY_BENCH, "--seed-start", "-5"), "-5; legal: "),
    "bench round_s": ((*TINY_BENCH, "--round-s", "0"), "round_s = 0.0"),
    "bench plugin": ((*TINY_BENCH, "--plugin", "none.py"), "none.py: no such file"),
    "rows into a file": ((*TINY_BENCH, "--out", "text.txt"), "text.txt/rows.csv: cannot be used for results"),
    "rows below a file": ((*TINY_BENCH, "--out", "text.txt/out"), "text.txt/out/rows.csv: cannot be used for results"),
}


@pytest.mark.parametrize("case", BAD)
def test_bad_input_is_refused_in_one_line(folder: Path, capsys: pytest.CaptureFixture[str], case: str) -> None:
    words, message = BAD[case]
    before = files_in(folder)
    assert run(*words) == 2
    streams = capsys.readouterr()
    (line,) = streams.err.splitlines()
    assert line.startswith("error: ")
    assert any(part in line for part in message.split("|"))
    assert "Traceback" not in streams.out + streams.err
    assert files_in(folder) == before


def test_rows_of_a_stranger_are_refused_and_kept(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (folder / "out").mkdir()
    (folder / "out/rows.csv").write_text("mine\n")
    assert run(*TINY_BENCH, "--out", "out") == 2
    assert "out/rows.csv, line 1: not a results file" in capsys.readouterr().err
    assert (folder / "out/rows.csv").read_text() == "mine\n"


@pytest.mark.parametrize(
    "words", [(), ("simulat",), ("simulate", "--nodes", "many"), ("simulate", "--compat", "papers")]
)
def test_words_that_are_no_command_are_refused_without_a_traceback(
    capsys: pytest.CaptureFixture[str], words: tuple[str, ...]
) -> None:
    assert run(*words) == 2
    assert "Traceback" not in capsys.readouterr().err


@pytest.mark.parametrize("command", ["list", "simulate", "bench", "perf", "imitate", "train", "evaluate"])
def test_every_command_explains_itself(capsys: pytest.CaptureFixture[str], command: str) -> None:
    assert run(command, "--help") == 0
    assert command in capsys.readouterr().out


def command(*words: str, cwd: Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "varigym.cli", *words], cwd=cwd, capture_output=True, text=True, timeout=120, check=False
    )


def test_the_installed_command_is_main() -> None:
    (entry,) = metadata.entry_points(group="console_scripts", name="varigym")
    assert entry.load() is main


def test_simulate_from_end_to_end(tmp_path: Path) -> None:
    done = command("simulate", "tiny", "--jobs-out", "jobs.csv", cwd=tmp_path)
    assert done.returncode == 0
    assert "142.5000" in done.stdout
    assert done.stderr == "note: wrote jobs.csv\n"
    assert len((tmp_path / "jobs.csv").read_text().splitlines()) == 5


def test_a_refusal_from_end_to_end(tmp_path: Path) -> None:
    done = command("bench", "--scenarios", "tiny", "--seeds", "0", cwd=tmp_path)
    assert done.returncode == 2
    assert done.stderr == "error: seeds = 0; at least one is needed\n"
    assert done.stdout == ""
    assert list(tmp_path.iterdir()) == []


@pytest.mark.usefixtures("heard")
@pytest.mark.parametrize("after_s", [0.1, 0.2, 0.4, 0.6])
def test_an_interrupt_while_the_command_is_still_importing_is_said_in_one_line(tmp_path: Path, after_s: float) -> None:
    with subprocess.Popen(
        [sys.executable, "-m", "varigym.cli", "perf"], cwd=tmp_path, stdout=subprocess.PIPE, stderr=subprocess.PIPE
    ) as child:
        time.sleep(after_s)
        child.send_signal(signal.SIGINT)
        out, err = child.communicate(timeout=60)
    assert (child.returncode, out, err) == (130, b"", b"interrupted; nothing was written\n")


@pytest.mark.parametrize(
    ("words", "ours"),
    [
        (["/usr/bin/python3", "/home/me/.venv/bin/varigym", "bench", "esg"], True),
        (["python", "-m", "varigym.cli", "list"], True),
        (["python", "train.py", "varigym"], False),
        (["python", "-c", "import varigym"], False),
        (["python", "-c", "from multiprocessing.spawn import spawn_main; spawn_main()"], False),
        (["python"], False),
        ([], False),
    ],
)
def test_only_the_command_listens_from_the_start(words: list[str], ours: bool) -> None:
    assert is_command(words) is ours


def test_main_leaves_the_interrupt_as_it_was() -> None:
    before = signal.getsignal(signal.SIGINT)
    assert run("list") == 0
    assert signal.getsignal(signal.SIGINT) is before


def test_a_reader_that_leaves_early_is_no_error(tmp_path: Path) -> None:
    with subprocess.Popen(
        [sys.executable, "-m", "varigym.cli", "list"], cwd=tmp_path, stdout=subprocess.PIPE, stderr=subprocess.PIPE
    ) as child:
        assert child.stdout is not None
        assert child.stderr is not None
        child.stdout.close()
        said = child.stderr.read()
    assert said == b""
    assert child.returncode == 0
