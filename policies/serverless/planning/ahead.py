"""Makes Aquatope's plans in several processes, before the runs that need them.

The workers only compute. The main process writes each plan atomically when it arrives, so that an interrupted run keeps
the finished plans. Workers are spawned, not forked (JAX would wait for ever), and so import the main module again. That
import must have no effects: the `varigym` command has none, a script without a `__main__` guard has. Workers do not
import JAX.
"""

from __future__ import annotations

import os
import signal
import warnings
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from concurrent.futures.process import BrokenProcessPool
from contextlib import contextmanager
from multiprocessing import active_children, get_context, parent_process
from pathlib import Path
from threading import Thread

from .aquatope import AquatopeSettings, keep, kept_plan, plan_aquatope, plan_path
from .cache import CacheNotice, cache_folder
from .problem import PlanProblem

MOST_PROCESSES = 8
"""Most worker processes; each loads torch, about 400 MB."""


def make_plans(
    problems: Sequence[PlanProblem],
    seeds: Iterable[int],
    settings: AquatopeSettings,
    processes: int,
    folder: Path | None = None,
    tell: Callable[[str], None] = lambda text: None,
) -> None:
    """Make the plans that the cache lacks, in up to `processes` processes; one process would make the same plans.

    With a single plan or process nothing is done here: `bind` makes the plans that it needs.
    """
    numbers, jobs = tuple(seeds), dict[Path, tuple[PlanProblem, int]]()
    for problem in problems:
        for seed in numbers:
            path = plan_path(problem, seed, settings, folder)
            if path not in jobs and kept_plan(path, problem) is None:
                jobs[path] = (problem, seed)
    workers = min(processes, len(jobs), MOST_PROCESSES)
    if workers < 2:
        return
    tell(f"{len(jobs)} plans of Aquatope are made by {workers} processes, once, and kept in {folder or cache_folder()}")
    try:
        with _workers(workers) as pool:
            with _unheard_interrupts():
                asked = {pool.submit(plan_aquatope, *job, settings): path for path, job in jobs.items()}
            for done in as_completed(asked):
                keep(asked[done], done.result())
    except BrokenProcessPool:
        warnings.warn("a planning process was ended; its plans are made in this one", CacheNotice, stacklevel=2)


@contextmanager
def _workers(count: int) -> Iterator[ProcessPoolExecutor]:
    """Provide spawned processes that have all ended on exit; an error or Ctrl-C ends them at once."""
    others = set(active_children())
    pool = ProcessPoolExecutor(count, mp_context=get_context("spawn"), initializer=_end_with_parent)
    try:
        yield pool
    except BaseException:
        for child in set(active_children()) - others:
            child.terminate()
        raise
    finally:
        pool.shutdown(cancel_futures=True)


@contextmanager
def _unheard_interrupts() -> Iterator[None]:
    """Let processes that are started inside ignore Ctrl-C; their parent handles it and ends them."""
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


def _end_with_parent() -> None:
    """End this process when its parent is killed, instead of waiting for work for ever."""
    parent = parent_process()

    def watch() -> None:
        if parent is not None:
            parent.join()
            os._exit(1)

    Thread(target=watch, daemon=True).start()
