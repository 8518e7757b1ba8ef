"""Policy networks whose weights do not depend on how many candidates there are: jobs, bins, nodes, configurations.

Every candidate is scored by the same small network from its own features and the pooled context, and one head scores
what is not a candidate (REST and COMMIT; WAIT and DROP). Legal actions alone get probability.
"""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor, nn

from ..envs.cluster.action import ActionMode
from ..envs.cluster.env import ClusterProcess
from ..envs.cluster.observation import Layout
from ..envs.serverless.env import ServerlessProcess
from ..envs.serverless.observation import CONFIG_FEATURES, OTHER_FEATURES

CELL_FEATURES = 4
"""Log slowdown, within one node, bin / V, KEEP."""


def scorer_for(process: Any, width: int) -> nn.Module:
    """An untrained network for the observations of a process. Raises `ValueError` for actions it cannot score."""
    if isinstance(process, ClusterProcess):
        return SlotScorer(process.layout, width)
    if isinstance(process, ServerlessProcess):
        return ConfigScorer(process, width)
    raise ValueError(f"there is no network for {type(process).__name__}")


class SlotScorer(nn.Module):
    """The cluster: u(slot) says whether a job is next, w(cell) where it should go. Only for `action_mode="cell"`."""

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

    def forward(self, parts: dict[str, Tensor]) -> Tensor:
        """Logits [B, actions] from the parts of observations, -inf where `action_mask` is 0."""
        jobs, cells, cluster = parts["jobs"], parts["cells"], parts["cluster"]
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
        return logits.masked_fill(parts["action_mask"] == 0, -torch.inf)


class ConfigScorer(nn.Module):
    """The serverless platform: every configuration by itself, WAIT and DROP from the context."""

    def __init__(self, process: ServerlessProcess, width: int = 64) -> None:
        """Networks of `width` hidden units. Raises `ValueError` where actions name invokers."""
        super().__init__()
        if process.choose_invoker:
            raise ValueError("ConfigScorer scores configurations; make the environment with choose_invoker=False")
        around = process.sizes["queue"] + process.sizes["platform"]
        self.other = nn.Sequential(nn.Linear(len(OTHER_FEATURES), width), nn.ReLU())
        self.context = nn.Sequential(nn.Linear(around + width, width), nn.ReLU())
        row = len(CONFIG_FEATURES) + width
        self.encode = nn.Sequential(nn.Linear(row, width), nn.ReLU(), nn.Linear(width, width), nn.ReLU())
        self.score = nn.Linear(width, 1)
        self.finish = nn.Linear(2 * width, 2)

    def forward(self, parts: dict[str, Tensor]) -> Tensor:
        """Logits [B, actions] from the parts of observations, -inf where `action_mask` is 0."""
        configs = parts["configs"].unflatten(1, (-1, len(CONFIG_FEATURES)))
        others = self.other(parts["others"].unflatten(1, (-1, len(OTHER_FEATURES)))).max(dim=1).values
        context = self.context(torch.cat([parts["queue"], parts["platform"], others], dim=1))
        spread = context[:, None, :].expand(-1, configs.shape[1], -1)
        hidden = self.encode(torch.cat([configs, spread], dim=2))
        ends = self.finish(torch.cat([context, hidden.max(dim=1).values], dim=1))
        logits = torch.cat([self.score(hidden).squeeze(2), ends], dim=1)
        return logits.masked_fill(parts["action_mask"] == 0, -torch.inf)


def _marks(bins: int) -> Tensor:
    """What a cell is, its slowdown apart [2V + 1, 3]."""
    level = torch.arange(bins, dtype=torch.float32) / bins
    within = torch.stack([torch.ones(bins), level, torch.zeros(bins)], dim=1)
    across = torch.stack([torch.zeros(bins), level, torch.zeros(bins)], dim=1)
    return torch.cat([within, across, torch.tensor([[0.0, 0.0, 1.0]])])
