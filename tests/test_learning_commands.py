"""`varigym train` and `varigym evaluate`: from options to a folder to a table, and what is refused."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from dataclasses import fields, replace
from pathlib import Path

import numpy as np
import pytest
from varigym.agents.checkpoints.checkpoint import load_checkpoint
from varigym.agents.cluster.es_run import IndexRun
from varigym.agents.recipes.es import EsOptions
from varigym.agents.serverless.es_run import OPTIONS, EsgRun
from varigym.cli import main
from varigym.scenarios.errors import InputError

WORLD = "sia-64:jobs=12:nodes=4:span_h=1"
ES = ("train", "--scenario", WORLD, "--teacher", "las-2d+pal+backfill", "--hidden", "4", "--validation-worlds", "2")
SEARCH = ("--pairs", "2", "--worlds", "2")
SERVERLESS = Path(__file__).resolve().parents[1] / "runs" / "reference" / "serverless"


def run(*words: str) -> int:
    with pytest.raises(SystemExit) as end:
        main(list(words))
    assert isinstance(end.value.code, int)
    return end.value.code


def test_train_then_evaluate(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("varigym.agents.cluster.objective.TAIL_SLOTS", ())  # less to compile
    for seed in ("1", "2"):
        assert run(*ES, *SEARCH, "--generations", "2", "--seed", seed, "--out", f"run{seed}") == 0
    said = capsys.readouterr().out
    assert "against las-2d+pal+backfill on 2 validation worlds: " in said
    assert "varigym evaluate run1" in said
    assert sorted(path.name for path in Path("run1").iterdir()) == [
        "config.json",
        "tb",
        "train_state.safetensors",
        "weights.safetensors",
    ]
    assert run("evaluate", "run1", "run2", "--seeds", "3", "--out", "judged") == 0
    streams = capsys.readouterr()
    assert "4/4: " in streams.err
    said = streams.out
    rows = [line.split()[0] for line in said.splitlines() if "@" in line or "+pal+" in line]
    assert rows[-4].startswith("run1@")
    assert rows[-3].startswith("run2@")
    assert rows[-2:] == ["gittins+pal+backfill", "las-2d+pal+backfill"]
    assert "mean of 2 es learners (seeds 1, 2)" in said
    assert f"{WORLD}, seeds 200000-200002" in said
    assert Path("judged/rows.csv").exists()
    assert "mean of 2 es learners (seeds 1, 2)" in Path("judged/report.html").read_text()


@pytest.mark.parametrize(
    ("words", "wanted"),
    [
        (("--scenario", "sia-64"), EsOptions()),
        (("sia-64:restart_s=90",), EsOptions()),
        ((), EsOptions()),
        (("overload", "burst", "--teacher", "esg"), OPTIONS),
        (("--scenarios", "overload,burst", "--teacher", "esg"), OPTIONS),
        (("--scenario", "overload", "--teacher", "esg"), OPTIONS),
        (("--scenario", "overload", "--pairs", "3", "--seed", "2"), replace(OPTIONS, pairs=3, seed=2)),
        (("--scenario", "sia-64", "--sigma", "0.2", "--averaged", "0"), EsOptions(sigma=0.2, averaged=0)),
    ],
)
def test_what_is_not_given_follows_from_the_kind_of_world(
    monkeypatch: pytest.MonkeyPatch, words: tuple[str, ...], wanted: EsOptions
) -> None:
    asked: list[EsOptions] = []

    def note(run: IndexRun | EsgRun, *rest: object) -> None:
        asked.append(run.options)
        raise InputError("seen")

    monkeypatch.setattr("varigym.agents.recipes.es_run.run_es", note)
    assert run("train", *words, "--out", "none") == 2
    assert asked == [wanted]


def test_help_says_the_options_of_both_kinds_of_world(capsys: pytest.CaptureFixture[str]) -> None:
    assert run("train", "--help") == 0
    said = " ".join(capsys.readouterr().out.replace("│", " ").split())
    for field in fields(EsOptions):
        cluster, serverless = (getattr(options, field.name) for options in (EsOptions(), OPTIONS))
        other = "" if cluster == serverless else f"; of a serverless platform {serverless}"
        assert f"Default: {cluster}{other}." in said.partition(f"--{field.name.replace('_', '-')} ")[2]


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ((*ES, "--out", "held"), "held is not empty and holds no run of ours; choose another --out"),
        ((*ES, "--out", "new", "--resume"), "new holds no run to go on with; leave out --resume to begin one"),
        ((*ES, "--out", "new", "--sigma", "0"), "sigma = 0.0; legal: a finite number > 0"),
        ((*ES, "--out", "new", "--hidden", "0"), "hidden = 0; legal: a whole number, 1 to 1,024"),
        (("train", "sia-64", "--out", "new", "--scenario", "tiny"), "'sia-64' and --scenarios tiny: give one of them"),
        (("train", "sia-64", "synergy-256", "--out", "new"), "scenarios sia-64, synergy-256; legal for a cluster: one"),
        (
            ("train", "--algo", "ppo", "--out", "new", "sia-64", "--scenario", "tiny"),
            "scenario 'sia-64' and --scenario tiny: give one of them",
        ),
        (("train", "tyny", "--algo", "ppo", "--out", "new"), "unknown scenario 'tyny'; did you mean tiny"),
        (("imitate", "tyny", "--out", "new"), "unknown scenario 'tyny'; did you mean tiny"),
        (("imitate", "tiny", "--scenario", "tiny", "--out", "new"), "'tiny' and --scenario tiny: give one of them"),
        (("evaluate", "tiny"), "no checkpoint to evaluate; at least one folder is needed"),
        (
            ("evaluate", str(SERVERLESS), "overload", "--scenarios", "burst"),
            "scenario 'overload' and --scenarios burst: give one of them",
        ),
        (("evaluate", str(SERVERLESS), "sia-64"), " is for a serverless platform; legal for a training cluster: "),
        (("train", "--out", "new", "--scenario", "tiny"), "scenario 'tiny' is the same world for every seed"),
        (
            ("train", "--out", "new", "--scenario", "overload", "--teacher", "orion"),
            "teacher 'orion'; legal for es on a serverless platform: esg",
        ),
        (("train", "--out", "new", "--teacher", "esg"), "policy 'esg' is for a serverless platform"),
        (("train", "--out", "new", "--teacher", "srsf+pal"), "expert 'srsf+pal' is clairvoyant"),
        (("train", "--out", "new", "--init", "held"), "held holds no checkpoint; legal: a folder"),
        (("train", "--algo", "ppo", "--out", "new", "--steps", "0"), "steps = 0; legal: a whole number"),
        (
            ("train", "--out", "new", "--init", str(SERVERLESS)),
            "serverless holds another kind of policy; legal",
        ),
        (
            ("evaluate", str(SERVERLESS), "--out", str(SERVERLESS)),
            "holds a checkpoint; choose another",
        ),
        (
            ("train", "--algo", "ppo", "--out", "new", "--init", "held"),
            "held holds no checkpoint; legal: a folder",
        ),
        (("train", "--algo=ppo", "--out", "new", "--teacher", "esg"), "policy 'esg' is for a serverless platform"),
        (("imitate", "--out", "new", "--epochs", "0"), "epochs = 0; legal: a whole number"),
        (("imitate", "--out", "new", "--data", "held/thesis.tex"), "held/thesis.tex: not a data set"),
        (("imitate", "--out", "new", "--data-out", "held/thesis.tex"), "held/thesis.tex exists already"),
        (("imitate", "--out", "new", "--scenario", "overload", "--window-s", "0"), "window_s = 0.0; legal"),
        (("imitate", "--out", "new", "--resume"), "new holds no run to go on with; leave out --resume"),
        (("imitate", "--out", "new", "--minari", "small"), "Minari data set 'small'; legal: NAMESPACE/NAME-v0"),
        (("imitate", "--out", "new", "--minari", "a/b-v0", "--dagger", "1"), "legal: --dagger 0"),
        (("evaluate", "held"), "held holds no checkpoint; legal: a folder"),
        (("evaluate", "none"), "checkpoint 'none': no such folder"),
        (("evaluate", "held", "--seeds", "0"), "seeds = 0; at least one is needed"),
    ],
)
def test_refusals_are_one_line(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    words: tuple[str, ...],
    message: str,
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("held").mkdir()
    Path("held/thesis.tex").write_text("x")
    assert run(*words) == 2
    printed = capsys.readouterr()
    assert printed.out == ""
    assert message in printed.err
    assert printed.err.startswith("error: ")
    assert printed.err.count("\n") == 1
    assert sorted(path.name for path in tmp_path.iterdir()) == ["held"]


@pytest.mark.usefixtures("heard")
def test_ctrl_c_keeps_what_was_learned_and_the_same_command_goes_on(tmp_path: Path) -> None:
    words = [sys.executable, "-m", "varigym.cli", *ES, *SEARCH, "--generations", "20000", "--out", "run"]
    with subprocess.Popen(words, cwd=tmp_path, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as child:
        deadline = time.monotonic() + 180
        while not (tmp_path / "run" / "weights.safetensors").exists() and time.monotonic() < deadline:
            time.sleep(0.1)
        child.send_signal(signal.SIGINT)
        out, err = child.communicate(timeout=60)
    assert (child.returncode, out) == (130, b"")
    look, held = err.decode().splitlines()
    assert look == "note: at work; to look on: tensorboard --logdir run/tb"
    assert held == "interrupted; run holds what was learned; the same command with --resume goes on"
    first = load_checkpoint(tmp_path / "run")
    assert first.training.notes["generations_done"] >= 10
    assert all(np.isfinite(weight).all() for weight in first.weights.values())
    assert not [path for path in os.listdir(tmp_path / "run") if path.endswith(".part")]
