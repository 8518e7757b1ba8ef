"""The folder of a training run: the policy learned so far, and all that is needed to continue.

    weights.safetensors, config.json    the checkpoint of what has been learned so far (see `checkpoint`)
    train_state.safetensors             arrays to continue from, the settings of the run, and its progress
    tb/                                 TensorBoard files
    in-use                              id of the process that is writing (see `lock`)

Every file is written atomically. The state is written last, so that a run that counts as finished has its policy.
"""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ...scenarios.errors import InputError
from ..checkpoints.checkpoint import STATE, WEIGHTS, Checkpoint, load_checkpoint, save_checkpoint
from ..checkpoints.files import MOST_TENSORS, as_json, pack, parse, read_bytes, shown, texts_of, unpack, write_bytes
from .lock import HOLDER, FolderLock, hold

Arrays = Mapping[str, NDArray[Any]]
LOGS = "tb"
FORMAT, FACTS = "varigym-train-state-1", "facts"
FIELDS = ("format", "asked", "done", "total", "facts")


@dataclass(frozen=True)
class Saved:
    """The state of a run between two steps."""

    done: int
    """Number of steps done: generations, epochs or updates."""
    total: int
    """Total number of steps; a run is finished when it has done as many."""
    arrays: Arrays
    facts: Mapping[str, Any]
    """Plain values that are saved with the arrays."""


@dataclass(frozen=True)
class RunFolder:
    """A folder, and the settings `asked` of the run in it: plain facts that all affect the result.

    `open` reserves it for this process until the run is finished, `close` is called or the process ends.
    """

    path: Path
    asked: Mapping[str, Any]
    _locks: list[FolderLock] = field(default_factory=list, init=False, repr=False, compare=False)

    @property
    def logs(self) -> Path:
        """Folder of the TensorBoard files."""
        return self.path / LOGS

    def is_begun(self) -> bool:
        """Whether the folder holds a run, with any settings."""
        return (self.path / STATE).exists()

    def is_finished(self) -> bool:
        """Whether all steps of the run are done. Raises `InputError` if the run has other settings."""
        if not self.is_begun():
            return False
        saved, asked = self._read()
        self._refuse_other(saved, asked)
        return saved.done >= saved.total

    def complete(self, run: Callable[[bool], Checkpoint]) -> Checkpoint:
        """Return the checkpoint if the run is finished; else call `run(resume)` to begin or continue it.

        It serves grids of runs. Raises `InputError` if the folder holds something else.
        """
        return load_checkpoint(self.path) if self.is_finished() else run(self.is_begun())

    def open(self, resume: bool) -> Saved | None:
        """Open the folder; return the state to continue from, or None for a new run.

        Raises `InputError` if the folder holds other files, or if another process is using it.
        """
        if self.path.exists() and not self.path.is_dir():
            raise InputError(f"{self.path} is a file; legal: a folder, new or empty")
        if not self.is_begun():
            self._claim(resume)
        self._locks.append(hold(self.path))
        try:
            return self._opened(resume)
        except InputError:
            self.close()
            raise

    @contextmanager
    def opened(self, resume: bool, *others: str) -> Iterator[Saved | None]:
        """Keep the folder `open` in a `with` block; a run that is refused before its first save leaves no files.

        `others` are further files that the run writes.
        """
        begins = not self.is_begun()
        missing = [folder for folder in (self.path, *self.path.parents) if not folder.exists()]
        saved = self.open(resume)
        try:
            yield saved
        except InputError:
            if begins and not (self.path / WEIGHTS).exists():
                self._undo(others, missing)
            raise
        finally:
            self.close()

    def close(self) -> None:
        """Release the folder for other processes."""
        self._locks.clear()

    def _opened(self, resume: bool) -> Saved | None:
        if not self.is_begun():
            self._write(Saved(0, 1, {}, {}))  # so that a run that is killed early is recognised as a run
            return None
        saved, asked = self._read()
        if saved.done >= saved.total:
            raise InputError(f"{self.path} holds a finished run; choose another --out")
        if not resume:
            raise InputError(f"{self._how_far(saved)}; go on with --resume, or choose another --out")
        self._refuse_other(saved, asked)
        return saved if saved.arrays else None

    def save(self, saved: Saved, checkpoint: Checkpoint) -> None:
        """Write the policy, then the state. Raises `InputError` if the file system refuses."""
        save_checkpoint(self.path, checkpoint)
        self._write(saved)
        if saved.done >= saved.total:
            self.close()

    def _undo(self, others: tuple[str, ...], made: list[Path]) -> None:
        """Remove the files of a run that was refused, and the folders that were made for it."""
        shutil.rmtree(self.logs, ignore_errors=True)
        for name in (*others, STATE, HOLDER):
            with suppress(OSError):
                (self.path / name).unlink()
        for folder in made:
            with suppress(OSError):  # somebody else put a file there
                folder.rmdir()

    def _how_far(self, saved: Saved) -> str:
        return f"{self.path} holds a run, {saved.done} of {saved.total} steps done"

    def _refuse_other(self, saved: Saved, asked: Mapping[str, Any]) -> None:
        for name in sorted({*asked, *self.asked}):
            theirs, ours = asked.get(name), self.asked.get(name)
            if theirs != ours:
                told = f"{self._how_far(saved)}, with {name} = {shown(theirs)}, not {shown(ours)}"
                raise InputError(f"{told}; resume it as it began")

    def _claim(self, resume: bool) -> None:
        """Make the folder of a new run."""
        if resume:
            raise InputError(f"{self.path} holds no run to go on with; leave out --resume to begin one")
        try:
            self.path.mkdir(parents=True, exist_ok=True)
            held = any(path.name != HOLDER for path in self.path.iterdir())
        except OSError as error:
            raise InputError(f"{self.path}: cannot be made ({error.strerror})") from None
        if held:
            raise InputError(f"{self.path} is not empty and holds no run of ours; choose another --out")

    def _write(self, saved: Saved) -> None:
        told = (FORMAT, dict(self.asked), saved.done, saved.total, dict(saved.facts))
        facts = as_json(dict(zip(FIELDS, told, strict=True))).decode()
        arrays = saved.arrays or {"none": np.zeros(0, np.float32)}  # a file needs at least one array
        write_bytes(self.path / STATE, pack(arrays, {FACTS: facts}))

    def _read(self) -> tuple[Saved, dict[str, Any]]:
        path = self.path / STATE
        data = read_bytes(path, MOST_TENSORS)
        arrays = unpack(path, data)
        stored = parse(path, texts_of(path, data).get(FACTS, "{}").encode())
        if stored.get("format") != FORMAT or set(stored) != set(FIELDS):
            raise InputError(f"{path}: not a state that this version can go on from; choose another --out")
        done, total = stored["done"], stored["total"]
        whole = all(isinstance(n, int) and not isinstance(n, bool) for n in (done, total))
        if not whole or not all(isinstance(stored[name], dict) for name in ("asked", "facts")):
            raise InputError(f"{path}: done, total, asked or facts are not what they must be; choose another --out")
        kept = {name: np.array(array) for name, array in arrays.items() if name != "none"}
        return Saved(done, total, kept, stored["facts"]), stored["asked"]


def part(arrays: Arrays, name: str) -> dict[str, NDArray[Any]]:
    """Return the arrays stored as `name/...`."""
    start = f"{name}/"
    return {key.removeprefix(start): value for key, value in arrays.items() if key.startswith(start)}


def joined(**parts: Arrays) -> dict[str, NDArray[Any]]:
    """Join groups of arrays under the names `name/...`, which `part` separates again."""
    return {f"{name}/{key}": value for name, arrays in parts.items() for key, value in arrays.items()}
