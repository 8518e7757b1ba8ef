"""A policy network whose weights do not depend on how many jobs, nodes or bins there are.

Every window slot and every cell is scored by the same small networks: u(slot) says whether this job is next, w(cell)
where it should go, and one head scores REST and COMMIT from the pooled window. Legal actions alone get probability.
"""

from __future__ import annotations

import torch
from torch import Tensor, nn

from ..envs.cluster.action import ActionMode
from ..envs.cluster.observation import Layout

CELL_FEATURES = 4
"""Log slowdown, within one node, bin / V, KEEP."""


class SlotScorer(nn.Module):
    """Logits of every action from the flat observation parts. Only for `action_mode="cell"`."""

    place: Tensor
    marks: Tensor

    def __init__(self, layout: Layout, width: int = 64) -> None:
        """Networks of `width` hidden units for observations of `layout`."""
        super().__init__()
        if layout.space.mode is not ActionMode.CELL:
            raise ValueError("SlotScorer scores cells; make the environment with action_mode='cell'")
        self.window, self.bins = layout.space.window, layout.space.bins
        self.features = layout.sizes["jobs"] // self.window
        row = self.features + layout.sizes["cluster"] + 1
        self.encode = nn.Sequential(nn.Linear(row, width), nn.ReLU(), nn.Linear(width, width), nn.ReLU())
        self.next_job = nn.Linear(2 * width, 1)
        self.cell = nn.Sequential(nn.Linear(CELL_FEATURES, width), nn.ReLU(), nn.Linear(width, 1))
        self.finish = nn.Linear(width, 2)
        place = torch.arange(self.window, dtype=torch.float32) / self.window
        self.register_buffer("place", place[None, :, None])
        self.register_buffer("marks", _marks(self.bins))

    def forward(self, jobs: Tensor, cells: Tensor, cluster: Tensor, mask: Tensor) -> Tensor:
        """Logits [B, actions], -inf where `mask` [B, actions] is 0."""
        batch = jobs.shape[0]
        rows = jobs.view(batch, self.window, self.features)
        around = cluster[:, None, :].expand(-1, self.window, -1)
        hidden = self.encode(torch.cat([rows, around, self.place.expand(batch, -1, -1)], dim=2))
        pooled = hidden.max(dim=1).values
        context = torch.cat([hidden, pooled[:, None, :].expand(-1, self.window, -1)], dim=2)
        slowdown = torch.cat([cells.view(batch, self.window, -1), torch.zeros(batch, self.window, 1)], dim=2)
        marks = self.marks[None, None].expand(batch, self.window, -1, -1)
        per_cell = self.cell(torch.cat([slowdown[..., None], marks], dim=3)).squeeze(3)
        slots = (self.next_job(context) + per_cell).flatten(1)
        logits = torch.cat([slots, self.finish(pooled)], dim=1)
        return logits.masked_fill(mask == 0, -torch.inf)


def _marks(bins: int) -> Tensor:
    """What a cell is, its slowdown apart [2V + 1, 3]."""
    level = torch.arange(bins, dtype=torch.float32) / bins
    within = torch.stack([torch.ones(bins), level, torch.zeros(bins)], dim=1)
    across = torch.stack([torch.zeros(bins), level, torch.zeros(bins)], dim=1)
    return torch.cat([within, across, torch.tensor([[0.0, 0.0, 1.0]])])
