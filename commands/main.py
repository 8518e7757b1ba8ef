"""The `varigym` command: it takes arguments and prints tables; refused input gives one line and exit code 2."""

from __future__ import annotations

import os
import sys
import threading
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Any, Union

import tyro
from tyro.conf import subcommand

from ..bench.report.terminal import console
from ..interrupts import INTERRUPTED
from ..scenarios.errors import InputError
from ..settings import configure
from .bench import Bench
from .evaluate import Evaluate
from .folder_run import FolderRun
from .imitate import Imitate
from .learners import learner_of
from .listing import List
from .perf import Perf
from .plugins import load_plugin, plugin_of
from .simulate import Simulate
from .train_es import TrainEs
from .train_ppo import TrainPpo

REFUSED = 2

Command = List | Simulate | Bench | Perf | Imitate | TrainEs | TrainPpo | Evaluate


def _commands(words: Sequence[str]) -> Any:
    """Return all commands by name; the options of `train` depend on its algorithm."""
    kinds: dict[str, Any] = {"list": List, "simulate": Simulate, "bench": Bench, "perf": Perf}
    kinds |= {"imitate": Imitate, "train": learner_of(words) if "train" in words else TrainEs, "evaluate": Evaluate}
    return Union[tuple(Annotated[kind, subcommand(name)] for name, kind in kinds.items())]  # noqa: UP007


def read_command(argv: Sequence[str] | None) -> Command:
    """Parse the words (default: those of the process) into a command; exit if they are no legal command."""
    configure(x64=True)
    words = sys.argv[1:] if argv is None else argv
    try:
        load_plugin(plugin_of(words))
        commands = _commands(words)
    except InputError as error:
        sys.exit(_refuse(error))
    config = (tyro.conf.OmitArgPrefixes, tyro.conf.FlagCreatePairsOff, tyro.conf.EnumChoicesFromValues)
    return tyro.cli(commands, prog="varigym", description=__doc__, args=words, config=config)


def run_command(command: Command) -> int:
    """Run a command and return its exit code; a refusal or Ctrl-C is reported in one line."""
    try:
        command.run()
    except InputError as error:
        return _refuse(error)
    except KeyboardInterrupt:
        console(stderr=True).print(f"interrupted; {_kept(command)}", markup=False)
        if threading.active_count() > 1:  # Python would wait for a thread with a running episode
            sys.stdout.flush()
            os._exit(INTERRUPTED)
        return INTERRUPTED
    return 0


def _refuse(error: InputError) -> int:
    """Say what is wrong in a line; the exit code."""
    console(stderr=True).print(f"error: {error}", style="red", markup=False)
    return REFUSED


def _kept(command: Command) -> str:
    """Describe what an interrupted command leaves behind, and how to continue."""
    if isinstance(command, FolderRun):
        return command.kept()
    out: Path | None = getattr(command, "out", None)
    return f"finished rows are in {out / 'rows.csv'}; the same command continues" if out else "nothing was written"
