"""`varigym simulate`: one scenario under one policy."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path

from ..bench.catalog import KINDS, BenchKind, find_policy_of, kind_of_world, metrics_of
from ..bench.report.outputs import refuse_unwritable, write_text
from ..bench.report.tables import record_table
from ..bench.report.terminal import console, note
from ..bench.simulate import build_worlds, plan_ahead, run_policy
from ..scenarios.errors import InputError
from .arguments import FileArgs, PlatformArgs, one_source
from .named import ScenarioOption, Word, one_scenario
from .plugins import load_plugin


@dataclass(frozen=True)
class Simulate:
    """Run one scenario, built in or from files, under one policy and print its metrics."""

    word: Word = ""
    """Built-in scenario, as NAME[:KNOB=VALUE...] (see varigym list). Default: sia-64, unless --trace is given."""
    scenario: ScenarioOption = ""
    policy: str | None = None
    """A policy for that kind of world (see varigym list). Default: pal for a cluster, esg for a serverless platform."""
    seed: int = 0
    """Seed of the world and of policies that draw lots."""
    trace: Path | None = None
    """CSV job_id,num_gpus,submit_time,duration,model[,batch_size], instead of a built-in scenario."""
    jobs_out: Path | None = None
    """Cluster: write one row per tracked job to this CSV."""
    requests_out: Path | None = None
    """Serverless: write one row per counted request to this CSV."""
    plugin: Path | None = None
    """Python file of your own to import first (it may add placements)."""
    platform: PlatformArgs = PlatformArgs()
    files: FileArgs = FileArgs()

    def run(self) -> None:
        """Simulate, print, write."""
        load_plugin(self.plugin)
        source = one_source(one_scenario(self.word, self.scenario), self.trace, self.platform, self.files)
        (world,) = build_worlds(source, [self.seed])
        kind = kind_of_world(world)
        path = self._rows_out(kind)
        policy = find_policy_of(kind, kind.usual_policy if self.policy is None else self.policy)
        plan_ahead(policy, [world], os.cpu_count() or 1, note)
        (record,) = run_policy(source, policy, [self.seed], [world])
        note(*dict.fromkeys([*getattr(source, "remarks", []), *getattr(world, "remarks", [])]))
        console().print(record_table(record, policy))
        if count := int(metrics_of(record)["unfinished"]):
            note(*filter(None, [kind.unfinished_note(count)]))
        if path:
            write_text(path, kind.rows(record))
            note(f"wrote {path}")

    def _rows_out(self, kind: BenchKind) -> Path | None:
        """The file for rows, if one is asked for. Raises `InputError` for the other kind's option."""
        for other in KINDS:
            path: Path | None = getattr(self, other.rows_option.removeprefix("--").replace("-", "_"))
            if path and other is not kind:
                legal = f"legal for {kind.about}: {kind.rows_option}"
                raise InputError(f"{other.rows_option} belongs to {other.about}; {legal}")
            refuse_unwritable(path)
        return self.jobs_out or self.requests_out
