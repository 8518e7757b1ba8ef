"""A run's folder is one process's at a time; a process that died keeps nobody out."""

from __future__ import annotations

import gc
import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import numpy as np
import pytest
from varigym.agents.checkpoints.checkpoint import STATE, Training
from varigym.agents.runs.lock import HOLDER
from varigym.agents.runs.folder import RunFolder, Saved
from varigym.agents.checkpoints.policies import index_checkpoint
from varigym.policies.cluster.catalog import find_policy
from varigym.policies.cluster.index_net import untrained
from varigym.scenarios.errors import InputError

ASKED = {"recipe": "es"}
OTHER = """
import sys
from pathlib import Path
from varigym.agents.runs.folder import RunFolder
folder = RunFolder(Path(sys.argv[1]), {"recipe": "es"})
folder.open(False)
print("open", flush=True)
sys.stdin.read()
"""


@contextmanager
def in_use(path: Path) -> Iterator[subprocess.Popen[str]]:
    """Another process has the folder until its input ends."""
    words = [sys.executable, "-c", OTHER, str(path)]
    with subprocess.Popen(words, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as child:
        assert child.stdout is not None
        assert child.stdout.readline() == "open\n"
        yield child


def test_what_another_process_writes_is_left_alone_until_it_dies(tmp_path: Path) -> None:
    with in_use(tmp_path / "run") as child:
        for resume in (False, True):
            with pytest.raises(InputError, match=f"run is in use by process {child.pid}; wait for it"):
                RunFolder(tmp_path / "run", ASKED).open(resume)
        child.kill()
    assert (tmp_path / "run" / HOLDER).exists()
    mine = RunFolder(tmp_path / "run", ASKED)
    assert mine.open(True) is None
    assert int((tmp_path / "run" / HOLDER).read_text()) == os.getpid()


def test_a_process_that_ends_leaves_no_trace_of_the_lock(tmp_path: Path) -> None:
    with in_use(tmp_path / "run") as child:
        child.communicate("")
    assert [path.name for path in (tmp_path / "run").iterdir()] == [STATE]


def test_a_process_does_not_lock_itself_out(tmp_path: Path) -> None:
    first, second = (RunFolder(tmp_path, ASKED) for _ in range(2))
    first.open(False)
    second.open(True)
    first.close()
    assert (tmp_path / HOLDER).exists()
    del second
    gc.collect()
    assert not (tmp_path / HOLDER).exists()


def test_a_refused_or_finished_run_is_let_go(tmp_path: Path) -> None:
    folder = RunFolder(tmp_path, ASKED)
    folder.open(False)
    weights = untrained(0, 2)
    made = index_checkpoint(find_policy("fifo+pal"), weights, Training("es"))
    folder.save(Saved(1, 2, {"x": np.zeros(1)}, {}), made)
    assert (tmp_path / HOLDER).exists()
    assert not folder.is_finished()
    folder.save(Saved(2, 2, {"x": np.zeros(1)}, {}), made)
    assert not (tmp_path / HOLDER).exists()
    assert folder.is_finished()
    with pytest.raises(InputError, match="holds a finished run"):
        folder.open(True)
    assert not (tmp_path / HOLDER).exists()


def test_a_folder_that_was_claimed_and_no_more_is_begun(tmp_path: Path) -> None:
    (tmp_path / HOLDER).write_text("1")
    folder = RunFolder(tmp_path, ASKED)
    assert folder.open(False) is None
    assert folder.is_begun()


def refuse(folder: RunFolder, *others: str) -> None:
    """A run that writes what it may write, and is refused then."""
    with pytest.raises(InputError, match="not like this"), folder.opened(folder.is_begun(), *others):
        folder.logs.mkdir(exist_ok=True)
        for path in (folder.logs / "events", *(folder.path / name for name in others)):
            path.write_text("x")
        raise InputError("not like this")


def test_a_run_that_is_refused_leaves_nothing(tmp_path: Path) -> None:
    refuse(RunFolder(tmp_path / "new" / "run", ASKED), "data.npz")
    assert list(tmp_path.iterdir()) == []
    refuse(RunFolder(tmp_path, ASKED), "data.npz")
    assert list(tmp_path.iterdir()) == []


def test_a_refusal_keeps_what_is_not_its_own(tmp_path: Path) -> None:
    folder = RunFolder(tmp_path / "run", ASKED)
    with pytest.raises(InputError), folder.opened(False):
        (tmp_path / "run" / "notes.txt").write_text("mine")
        raise InputError("not like this")
    assert [path.name for path in (tmp_path / "run").iterdir()] == ["notes.txt"]


def test_a_refusal_keeps_a_run_that_was_begun_before(tmp_path: Path) -> None:
    folder = RunFolder(tmp_path, ASKED)
    folder.open(False)
    folder.close()
    refuse(folder)
    assert folder.is_begun()


def test_a_refusal_keeps_what_was_learned(tmp_path: Path) -> None:
    folder = RunFolder(tmp_path, ASKED)
    with pytest.raises(InputError), folder.opened(False):
        folder.save(
            Saved(1, 2, {"x": np.zeros(1)}, {}),
            index_checkpoint(find_policy("fifo+pal"), untrained(0, 2), Training("es")),
        )
        raise InputError("not like this")
    assert folder.is_begun()
    assert not (tmp_path / HOLDER).exists()


def test_an_interrupted_run_keeps_its_folder(tmp_path: Path) -> None:
    folder = RunFolder(tmp_path, ASKED)
    with pytest.raises(KeyboardInterrupt), folder.opened(False):
        raise KeyboardInterrupt
    assert [path.name for path in tmp_path.iterdir()] == [STATE]
