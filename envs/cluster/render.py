"""The cluster as text: one line per node, one column per GPU."""

from __future__ import annotations

import numpy as np

from ...scenarios.cluster.scenario import ClusterScenario
from .state import FREE, State

IDLE = "."


def gantt_line(state: State, scenario: ClusterScenario) -> str:
    """Show the time, the job that holds each GPU in the plan that ran last, and the waiting jobs."""
    owner, job = np.asarray(state.owner), np.asarray(state.slots.job)
    names = [str(scenario.jobs.job_id[j]) for j in job[: int(state.count)]]
    width = max([len(IDLE), *(len(name) for name in names)])
    lines = [f"t = {int(state.round) * scenario.round_s:,.0f} s"]
    for node, held in enumerate(owner):
        cells = [(IDLE if slot == FREE else names[slot]).rjust(width) for slot in held]
        lines.append(f"node {node:>3} | {' '.join(cells)}")
    running = np.asarray(state.slots.running)[: len(names)]
    waiting = [name for name, runs in zip(names, running, strict=True) if not runs]
    lines.append(f"waiting: {' '.join(waiting) or 'nobody'}")
    return "\n".join(lines)
