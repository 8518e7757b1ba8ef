"""Writes figures of a run to TensorBoard files."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path


def scalars(out: Path, done: int) -> Callable[[int, Mapping[str, float]], None]:
    """Return a function that writes a step's named figures to `out`; it hides an earlier run's steps after `done`."""
    from torch.utils.tensorboard import SummaryWriter

    writer = SummaryWriter(str(out), purge_step=done + 1)

    def write(step: int, figures: Mapping[str, float]) -> None:
        for name, value in figures.items():
            writer.add_scalar(name, value, step)
        writer.flush()

    return write
