"""What was learned against experts: one table per scenario, and means over learners that differ in their seed alone.

A learner's figure is an interval over worlds. The mean over learners has an interval over them (Student's t: they are
few), on the same worlds; never the best of them.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from rich.markup import escape
from rich.table import Table

from ..grid.columns import NOTHING, Ratio, pairs, with_bounds
from ..grid.experiment import Results
from ..grid.intervals import spread_interval
from ..grid.layout import Compared
from .fitted import REPORT, FittedTable

ALL = "all scenarios"


@dataclass(frozen=True)
class Judgement:
    """Learners and experts that met the same worlds."""

    results: Results
    learners: tuple[str, ...]
    """Names of policies of the results."""
    experts: tuple[str, ...]
    groups: tuple[tuple[str, tuple[str, ...]], ...] = ()
    """Learners that differ in their seed alone: what they are called together, and their names."""

    def tables(self) -> list[Table]:
        """One per scenario; where there are several, one over all of them."""
        names = [source.name for source in self.results.grid.sources]
        made = [self._table(name, [name]) for name in names]
        return [*made, self._table(ALL, names)] if len(names) > 1 else made

    def rows(self, scenarios: list[str]) -> list[list[str]]:
        """Name, then a cell per expert and figure."""
        compared = [(column, expert) for expert in self.experts for column in self.results.grid.kind.layout.judged]
        one = [[name, *(self._cell(c, scenarios, name, e) for c, e in compared)] for name in self.learners]
        many = [[name, *(self._mean(c, scenarios, members, e) for c, e in compared)] for name, members in self.groups]
        others = [[name, *(self._cell(c, scenarios, name, e) for c, e in compared)] for name in self.experts]
        return [*one, *many, *others]

    def _table(self, title: str, scenarios: list[str]) -> Table:
        seeds = self.results.grid.seeds
        told = f"{title}, seeds {seeds[0]}-{seeds[-1]}"
        table = FittedTable(told, light=True, elsewhere=REPORT)
        table.add_names("policy")
        for expert in self.experts:
            for column in self.results.grid.kind.layout.judged:
                table.add_figures(column.title.replace("{expert}", expert))
        for row in self.rows(scenarios):
            table.add_row(*map(escape, row))
        return table

    def _cell(self, column: Compared, scenarios: list[str], policy: str, expert: str) -> str:
        """Over the worlds."""
        if policy == expert:
            return "1" if isinstance(column, Ratio) else "0"
        grid = replace(self.results.grid, baseline=expert)
        return column.over(replace(self.results, grid=grid), scenarios, policy)

    def _mean(self, column: Compared, scenarios: list[str], members: Sequence[str], expert: str) -> str:
        """Over the learners, each by its mean over the worlds."""
        found = np.array([self._figure(column, scenarios, name, expert) for name in members])
        if not np.isfinite(found).all():
            return NOTHING
        interval = spread_interval(found)
        return with_bounds(interval.exp() if isinstance(column, Ratio) else interval, column.digits)

    def _figure(self, column: Compared, scenarios: list[str], policy: str, expert: str) -> float:
        """Mean over worlds of the log ratio, or of the difference."""
        values, base = pairs(self.results, scenarios, policy, expert, column.metric)
        if isinstance(column, Ratio):
            both = (values > 0) & (base > 0)
            return float(np.log(values[both] / base[both]).mean()) if both.any() else np.nan
        both = ~np.isnan(values + base)
        return float(column.scale * (values - base)[both].mean()) if both.any() else np.nan


def seed_groups(checkpoints: Sequence[tuple[str, Any]]) -> tuple[tuple[str, tuple[str, ...]], ...]:
    """(policy name, checkpoint) pairs whose training differs in the seed alone, where there are two or more."""
    alike: dict[str, list[tuple[str, Any]]] = {}
    for name, checkpoint in checkpoints:
        training = checkpoint.training
        asked = {key: value for key, value in training.recipe_options.items() if key != "seed"}
        same = (checkpoint.kind, checkpoint.base, dict(checkpoint.options), dict(checkpoint.sizes))
        told = (*same, training.recipe, sorted(asked.items(), key=str), training.scenarios, training.teacher)
        alike.setdefault(repr(told), []).append((name, checkpoint))
    groups = []
    for members in alike.values():
        seeds = [checkpoint.training.seeds for _, checkpoint in members]
        if len(members) > 1 and len(set(seeds)) == len(seeds):
            shown = ", ".join(str(seed) for each in seeds for seed in each)
            called = f"mean of {len(members)} {members[0][1].training.recipe} learners (seeds {shown})"
            groups.append((called, tuple(name for name, _ in members)))
    return tuple(groups)
