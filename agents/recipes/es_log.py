"""What TensorBoard is told of a search by evolution strategies."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from .es import Generation


def scalars(out: Path, start: int) -> Callable[[Generation], None]:
    """Writes a generation's figures to TensorBoard files in `out`; those of an earlier run beyond `start` go."""
    from torch.utils.tensorboard import SummaryWriter

    writer = SummaryWriter(str(out), purge_step=start + 1)

    def write(generation: Generation) -> None:
        figures = {
            "es/fitness_mean": float(generation.fitness.mean()),
            "es/fitness_sd": float(generation.fitness.std()),
            "es/step": generation.step,
            "es/episodes_per_s": generation.episodes_per_s,
            **{f"validation/{name}": value for name, value in (generation.validation or {}).items()},
        }
        for name, value in figures.items():
            writer.add_scalar(name, value, generation.state.generation)
        writer.flush()

    return write
