"""`varigym simulate`: one scenario under one policy."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

from tyro.conf import arg

from ..bench.grid.preparation import build_worlds, plan_ahead
from ..bench.grid.world_kinds import find_policy_of, kind_of_world, metrics_of
from ..bench.report.outputs import refuse_unwritable, write_text
from ..bench.report.tables import record_table
from ..bench.report.terminal import console, note
from ..bench.simulate import run_policy
from .arguments import FileArgs, PlatformArgs, one_source
from .named import ScenarioOption, Word, one_scenario
from .plugins import PluginOption


@dataclass(frozen=True)
class Simulate:
    """Run one scenario, built in or from files, under one policy and print its metrics."""

    word: Word = ""
    """Built-in scenario, as NAME[:KNOB=VALUE...] (see varigym list). Default: sia-64, unless --trace is given."""
    scenario: ScenarioOption = ""
    policy: str | None = None
    """A policy for that kind of world (see varigym list). Default: pal for a cluster, esg for a serverless platform."""
    seed: int = 0
    """Seed of the world and of randomised policies."""
    trace: Path | None = None
    """CSV job_id,num_gpus,submit_time,duration,model[,batch_size], instead of a built-in scenario."""
    rows_out: Annotated[Path | None, arg(aliases=["--jobs-out", "--requests-out"])] = None
    """Write one row per tracked job of a cluster, or per counted request of a serverless platform, to this CSV."""
    plugin: PluginOption = None
    platform: PlatformArgs = PlatformArgs()
    files: FileArgs = FileArgs()

    def run(self) -> None:
        """Simulate, print, write."""
        refuse_unwritable(self.rows_out)
        source = one_source(one_scenario(self.word, self.scenario), self.trace, self.platform, self.files)
        (world,) = build_worlds(source, [self.seed])
        kind = kind_of_world(world)
        policy = find_policy_of(kind, kind.usual_policy if self.policy is None else self.policy)
        plan_ahead(policy, [world], os.cpu_count() or 1, note)
        (record,) = run_policy(source, policy, [self.seed], [world])
        note(*dict.fromkeys([*getattr(source, "remarks", []), *getattr(world, "remarks", [])]))
        console().print(record_table(record, policy))
        if count := int(metrics_of(record)["unfinished"]):
            note(*filter(None, [kind.unfinished_note(count)]))
        if self.rows_out:
            write_text(self.rows_out, kind.rows(record))
            note(f"wrote {self.rows_out}")
