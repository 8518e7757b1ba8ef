"""A lock on a run's folder for one process at a time; it lasts until it is released or the process ends."""

from __future__ import annotations

import fcntl
import os
import weakref
from contextlib import suppress
from pathlib import Path

from ...scenarios.errors import InputError

HOLDER = "in-use"
"""File with the id of the process that holds the folder. Only the lock counts, so a leftover file is harmless."""


class FolderLock:
    """The lock of a folder by this process. On a file system without locks it has no effect."""

    def __init__(self, folder: Path) -> None:
        """Lock the folder. Raises `InputError` if another process holds it."""
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
    """Return the lock of an existing folder; it is held as long as this process keeps a reference to it.

    Raises `InputError`, which names the other process, if another process holds the folder.
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
    """Remove the file before releasing the lock, so that it is never another process's; a forked child keeps it."""
    if os.getpid() == process:
        with suppress(OSError):
            holder.unlink()
    os.close(descriptor)
