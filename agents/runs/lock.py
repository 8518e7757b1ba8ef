"""One process at a time in a run's folder: it is held until it is let go, or until the process ends or dies."""

from __future__ import annotations

import fcntl
import os
import weakref
from contextlib import suppress
from pathlib import Path

from ...scenarios.errors import InputError

HOLDER = "in-use"
"""File that says who holds the folder; what counts is the lock, so that one which a killed process left is harmless."""


class FolderLock:
    """A folder that this process holds. Where the file system knows no locks, nobody is kept out."""

    def __init__(self, folder: Path) -> None:
        """Raises `InputError` where another process holds it."""
        descriptor = os.open(folder, os.O_RDONLY)
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            os.close(descriptor)
            raise InputError(f"{folder} is in use by {_holder(folder)}; wait for it or choose another --out") from None
        except OSError:
            pass
        with suppress(OSError):
            (folder / HOLDER).write_text(str(os.getpid()))
        weakref.finalize(self, _let_go, descriptor, folder / HOLDER, os.getpid())


_HELD: weakref.WeakValueDictionary[Path, FolderLock] = weakref.WeakValueDictionary()


def hold(folder: Path) -> FolderLock:
    """The lock of a folder that exists, which is held while anybody in this process keeps it.

    Raises `InputError`, which names the other process that holds it.
    """
    place = folder.resolve()
    lock = _HELD.get(place)
    if lock is None:
        lock = _HELD[place] = FolderLock(folder)
    return lock


def _holder(folder: Path) -> str:
    try:
        return f"process {int((folder / HOLDER).read_text())}"
    except (OSError, ValueError):
        return "another process"


def _let_go(descriptor: int, holder: Path, process: int) -> None:
    """The file first, while no other can hold the folder; a forked child leaves it to its parent."""
    if os.getpid() == process:
        with suppress(OSError):
            holder.unlink()
    os.close(descriptor)
