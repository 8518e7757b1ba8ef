"""Policy networks whose weights do not depend on how many candidates there are: jobs, bins, nodes, configurations.

Every candidate is scored by the same small network from its own features and the pooled context, and one head scores
what is not a candidate (REST and COMMIT; WAIT and DROP). Legal actions alone get probability.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn.functional import linear

from ...envs.cluster.mdp.action import ActionMode
from ...envs.cluster.mdp.env import ClusterProcess
from ...envs.cluster.mdp.observation import SLOT_FEATURES, Layout
from ...envs.serverless.mdp.env import ServerlessProcess
from ...envs.serverless.mdp.observation import CONFIG_FEATURES, QUEUE_FEATURES
from ...envs.serverless.mdp.platform_features import INVOKER_FEATURES, OTHER_FEATURES
from ...scenarios.errors import InputError
from .jax_networks import CELL_FEATURES, FAR_BELOW

PRESENT = SLOT_FEATURES.index("present")
ENOUGH = CONFIG_FEATURES.index("the queue holds its batch")
LEFT = CONFIG_FEATURES.index("slack less it and the fastest later stages over SLO")
EVEN = 0.01
"""Size of last weights that make no difference yet."""


class Scorer(nn.Module, ABC):
    """A network that scores the actions of a kind of process, and sums up what it saw for a critic."""

    totals: int
    """Length of the summary."""

    @abstractmethod
    def forward(self, parts: dict[str, Tensor]) -> Tensor:
        """Logits [B, actions] from the parts of observations, -inf where `action_mask` is 0."""

    @abstractmethod
    def summary(self, parts: dict[str, Tensor]) -> Tensor:
        """Totals of what is shown [B, totals], of one length however many candidates there are."""


def scorer_for(process: Any, width: int) -> Scorer:
    """An untrained network for the observations of a process. Raises `InputError` where there is none."""
    if type(process) not in SCORERS:
        legal = ", ".join(kind.__name__ for kind in SCORERS)
        raise InputError(f"there is no network for {type(process).__name__}; legal: {legal}")
    return SCORERS[type(process)](process, width)


class SlotScorer(Scorer):
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
        self.totals = 2 * self.features + layout.sizes["cluster"]
        place = torch.arange(self.window, dtype=torch.float32) / self.window
        self.register_buffer("place", place[None, :, None])
        self.register_buffer("marks", _marks(self.bins))

    def forward(self, parts: dict[str, Tensor]) -> Tensor:
        """Logits [B, actions] from the parts of observations, -inf where `action_mask` is 0."""
        mask = parts["action_mask"]
        jobs = parts["jobs"].unflatten(1, (self.window, self.features))
        lane, slot = torch.nonzero(jobs[:, :, PRESENT] > 0, as_tuple=True)
        hidden = self._hidden(jobs[lane, slot], parts["cluster"], lane, slot)
        blank = hidden.new_zeros((len(mask), hidden.shape[1]))
        pooled = blank.scatter_reduce(0, lane[:, None].expand_as(hidden), hidden, "amax")
        own, shared = self.next_job.weight.split(hidden.shape[1], dim=1)
        next_job = jobs.new_zeros(jobs.shape[:2]).index_put((lane, slot), linear(hidden, own).squeeze(1))
        next_job = next_job + linear(pooled, shared, self.next_job.bias)
        slots = self._slots(next_job, parts["cells"], mask[:, :-2])
        return torch.cat([slots, self.finish(pooled).masked_fill(mask[:, -2:] == 0, -torch.inf)], dim=1)

    def summary(self, parts: dict[str, Tensor]) -> Tensor:
        """The cluster, and mean and maximum over the jobs of the window."""
        jobs = parts["jobs"].unflatten(1, (self.window, -1))
        return torch.cat([parts["cluster"], jobs.mean(dim=1), jobs.max(dim=1).values], dim=1)

    def _hidden(self, rows: Tensor, cluster: Tensor, lane: Tensor, slot: Tensor) -> Tensor:
        """What is made of every job [N, width]; what all jobs of a state share enters once."""
        first = self.encode[0]
        assert isinstance(first, nn.Linear)
        own, around, place = first.weight.split([self.features, cluster.shape[1], 1], dim=1)
        shift, by_place = linear(cluster, around, first.bias), self.place[0] * place[:, 0]
        hidden: Tensor = self.encode[1:](linear(rows, own) + shift[lane] + by_place[slot])
        return hidden

    def _slots(self, next_job: Tensor, cells: Tensor, mask: Tensor) -> Tensor:
        """Logits [B, W (2V + 1)] of next_job [B, W] and what each legal cell is worth, some forty among a thousand."""
        lane, slot, cell = torch.nonzero(mask.unflatten(1, (self.window, -1)), as_tuple=True)
        slowdown = nn.functional.pad(cells.unflatten(1, (self.window, -1)), (0, 1))  # that of KEEP is 0
        rows = torch.cat([slowdown[lane, slot, cell][:, None], self.marks[cell]], dim=1)
        score = next_job[lane, slot] + self.cell(rows).squeeze(1)
        blank = score.new_full(mask.shape, -torch.inf)
        return blank.index_put((lane, slot * self.marks.shape[0] + cell), score)


class ConfigScorer(Scorer):
    """The serverless platform: every configuration by itself (on each invoker, where actions name one), WAIT and DROP.

    Only what the queue can fill is scored. What is left of the SLO decides at thresholds that lie within a hundredth
    of it, so it is given to the network as waves of doubling frequency too.
    """

    frequency: Tensor

    def __init__(self, process: ServerlessProcess, width: int = 64, waves: int = 8) -> None:
        """Networks of `width` hidden units; `waves` frequencies of what is left of the SLO."""
        super().__init__()
        self.targets, self.width = process.targets, width
        shown = process.sizes["queue"] + process.sizes["platform"]
        self.totals, around = shown + len(OTHER_FEATURES), shown + 2 * waves
        self.other = nn.Sequential(nn.Linear(len(OTHER_FEATURES), width // 2), nn.ReLU())
        self.context = nn.Sequential(nn.Linear(around + width // 2, width), nn.ReLU(), nn.Linear(width, width))
        self.config = nn.Linear(len(CONFIG_FEATURES) + 2 * waves, width)
        self.encode = nn.Sequential(nn.ReLU(), nn.Linear(width, width), nn.ReLU(), nn.Linear(width, width), nn.ReLU())
        self.score = nn.Linear(width, 1)
        self.finish = nn.Sequential(nn.Linear(2 * width, width), nn.ReLU(), nn.Linear(width, 2))
        if process.choose_invoker:
            self.invoker = nn.Linear(len(INVOKER_FEATURES), width)
            self.pair = nn.Linear(width, width)
        self.register_buffer("frequency", torch.pi * 2.0 ** torch.arange(waves))

    def flatten(self) -> None:
        """Draw the last weights anew so that all actions score nearly the same."""
        for last in (self.score.weight, next(self.finish[-1].parameters())):
            nn.init.orthogonal_(last, EVEN)

    def forward(self, parts: dict[str, Tensor]) -> Tensor:
        """Logits [B, actions] from the parts of observations, -inf where `action_mask` is 0."""
        return self.judge(parts)[0].masked_fill(parts["action_mask"] == 0, -torch.inf)

    def summary(self, parts: dict[str, Tensor]) -> Tensor:
        """The queue, the platform, and the mean over the other queues."""
        others = parts["others"].unflatten(1, (-1, len(OTHER_FEATURES)))
        return torch.cat([parts["queue"], parts["platform"], others.mean(dim=1)], dim=1)

    def judge(self, parts: dict[str, Tensor]) -> tuple[Tensor, Tensor]:
        """(scores [B, actions], `FAR_BELOW` for what was not scored; what was seen [B, 2 width], for a critic)."""
        configs = parts["configs"].unflatten(1, (-1, len(CONFIG_FEATURES)))
        context = self.context(self._around(parts))
        lane, number = torch.nonzero(configs[:, :, ENOUGH] > 0, as_tuple=True)
        rows = configs[lane, number]
        hidden = self.encode(self.config(torch.cat([rows, self._waves(rows[:, LEFT])], dim=1)) + context[lane])
        pooled = torch.zeros_like(context).scatter_reduce(0, lane[:, None].expand_as(hidden), hidden, "amax")
        seen = torch.cat([context, pooled], dim=1)
        blank = context.new_full((len(context), configs.shape[1] * self.targets), FAR_BELOW)
        at, score = self._scores(parts, lane, number, hidden)
        return torch.cat([blank.index_put(at, score), self.finish(seen)], dim=1), seen

    def _around(self, parts: dict[str, Tensor]) -> Tensor:
        """Everything but the candidates, in a row [B, ...]."""
        queue, others = parts["queue"], parts["others"].unflatten(1, (-1, len(OTHER_FEATURES)))
        waves = self._waves(queue[:, QUEUE_FEATURES.index("slack over SLO")])
        return torch.cat([queue, parts["platform"], waves, self.other(others).max(dim=1).values], dim=1)

    def _scores(
        self, parts: dict[str, Tensor], lane: Tensor, number: Tensor, hidden: Tensor
    ) -> tuple[tuple[Tensor, Tensor], Tensor]:
        """((lane, action), score) of the rows; of their legal invokers, where actions name one."""
        if self.targets == 1:
            return (lane, number), self.score(hidden).squeeze(1)
        mask = parts["action_mask"][:, :-2].unflatten(1, (-1, self.targets))
        row, invoker = torch.nonzero(mask[lane, number] > 0, as_tuple=True)
        places = self.invoker(parts["invokers"].unflatten(1, (self.targets, -1)))
        pair = torch.relu(self.pair(hidden)[row] + places[lane[row], invoker])
        return (lane[row], number[row] * self.targets + invoker), self.score(pair).squeeze(1)

    def _waves(self, share: Tensor) -> Tensor:
        """Sines and cosines [N, 2 waves] of a share of the SLO [N]."""
        angle = share[:, None] * self.frequency
        return torch.cat([angle.sin(), angle.cos()], dim=1)


def _marks(bins: int) -> Tensor:
    """What a cell is, its slowdown apart [2V + 1, 3]."""
    level = torch.arange(bins, dtype=torch.float32) / bins
    within = torch.stack([torch.ones(bins), level, torch.zeros(bins)], dim=1)
    across = torch.stack([torch.zeros(bins), level, torch.zeros(bins)], dim=1)
    return torch.cat([within, across, torch.tensor([[0.0, 0.0, 1.0]])])


SCORERS: dict[type, Callable[[Any, int], Scorer]] = {
    ClusterProcess: lambda process, width: SlotScorer(process.layout, width),
    ServerlessProcess: ConfigScorer,
}
"""Class of a process -> the network of (process, hidden units); for a process of your own, add an entry."""
