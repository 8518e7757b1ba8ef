"""Figures of a run in TensorBoard files."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path


def scalars(out: Path, done: int) -> Callable[[int, Mapping[str, float]], None]:
    """Writes figures by name for a step number to files in `out`; those of an earlier run beyond step `done` go."""
    from torch.utils.tensorboard import SummaryWriter

    writer = SummaryWriter(str(out), purge_step=done + 1)

    def write(step: int, figures: Mapping[str, float]) -> None:
        for name, value in figures.items():
            writer.add_scalar(name, value, step)
        writer.flush()

    return write
