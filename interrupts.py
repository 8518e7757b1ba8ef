"""Ctrl-C while the `varigym` command is still importing: one line, not a traceback out of some library.

Imported before all else, so that it hears from the start; only the command's own process listens.
"""

from __future__ import annotations

import os
import signal
import sys
import threading
from collections.abc import Sequence
from pathlib import Path

INTERRUPTED = 130
"""Exit code: 128 + SIGINT."""


def is_command(words: Sequence[str]) -> bool:
    """Whether a command line, the interpreter first, is that of `varigym`."""
    named = next((word for word in words[1:] if not word.startswith("-")), "")
    return Path(named).name in ("varigym", "varigym.cli")


def hear_early() -> None:
    """From now on Ctrl-C ends the process at once, unless somebody else listens or it is ignored."""
    usual = signal.getsignal(signal.SIGINT) is signal.default_int_handler
    if usual and threading.current_thread() is threading.main_thread():
        signal.signal(signal.SIGINT, _leave)


def hear_as_usual() -> None:
    """From now on Ctrl-C raises KeyboardInterrupt again."""
    if signal.getsignal(signal.SIGINT) is _leave:
        signal.signal(signal.SIGINT, signal.default_int_handler)


def _leave(*_: object) -> None:
    os.write(2, b"interrupted; nothing was written\n")
    os._exit(INTERRUPTED)


if is_command(sys.orig_argv):
    hear_early()
