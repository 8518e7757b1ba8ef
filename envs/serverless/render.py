"""The platform as text: one line per queue that holds jobs, and one per invoker."""

from __future__ import annotations

import numpy as np

from ...scenarios.serverless.scenario import ServerlessScenario
from .state import BATCH, CONFIG, INVOKER, NEVER, QUEUE, TICKS_PER_MS, State

FREE = "."


def platform_lines(state: State, scenario: ServerlessScenario) -> str:
    """Show the time, the waiting jobs (the queue at the cursor is marked), and the tasks that hold vGPUs."""
    names = [
        f"{scenario.workflows[w].name}.{scenario.functions[scenario.workflows[w].functions[stage]].name}"
        for w, stage in scenario.queues
    ]
    length, cursor = np.asarray(state.queues.length), int(state.cursor)
    lines = [f"t = {int(state.now) / TICKS_PER_MS:,.2f} ms"]
    for queue in np.flatnonzero(length):
        mark = ">" if queue == cursor else " "
        lines.append(f"{mark} {names[queue]:<24} {length[queue]:>5} waiting")
    running = np.asarray(state.tasks.row)[np.asarray(state.tasks.end) < NEVER]
    for invoker in range(scenario.invokers):
        held = [_bar(row, scenario, names) for row in running if row[INVOKER] == invoker]
        free = int(np.asarray(state.invokers.free_vgpu)[invoker])
        lines.append(f"invoker {invoker:>3} | {' '.join([*held, FREE * free])}")
    return "\n".join(lines)


def _bar(row: np.ndarray, scenario: ServerlessScenario, names: list[str]) -> str:
    """Show a task as `[name xbatch]`, with a `#` for every vGPU it holds."""
    return f"[{names[row[QUEUE]]} x{row[BATCH]} {'#' * int(scenario.grid.vgpu[row[CONFIG]])}]"
