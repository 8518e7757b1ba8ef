"""`varigym perf`: the simulator's speed on this machine."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path

from ..bench.perf.measurements import as_json, machine, measure
from ..bench.report.fitted import FittedTable
from ..bench.report.outputs import refuse_unwritable, write_text
from ..bench.report.terminal import console
from .arguments import FileArgs, PlatformArgs, one_source


@dataclass(frozen=True)
class Perf:
    """Measure the simulator's speed on this machine, together with a fixed NumPy yardstick."""

    quick: bool = False
    """Measure for a shorter time; the figures vary more."""
    json_out: Path | None = None
    """Write the readings and machine facts to this file."""
    trace: Path | None = None
    """Measure only a cluster on this trace, instead of the built-in worlds of both kinds."""
    platform: PlatformArgs = PlatformArgs()
    files: FileArgs = FileArgs()

    def run(self) -> None:
        """Measure, print the figures, and write them if asked to."""
        refuse_unwritable(self.json_out)
        source = one_source("", self.trace, self.platform, self.files)
        readings = measure(source, self.quick, serverless=self.trace is None)
        table = FittedTable()
        table.add_names("name", "value", "unit")
        for reading in readings:
            shown = f"{reading.value:.3f}" if reading.value < 1 else f"{reading.value:,.1f}"
            table.add_row(reading.name, shown, reading.unit)
        console().print(table)
        console().print(", ".join(f"{key}: {value}" for key, value in machine().items()))
        if self.json_out:
            write_text(self.json_out, json.dumps(as_json(readings), indent=1) + "\n")
