"""Named benchmarks of the training cluster: which scenarios, which policies, against which baseline."""

from __future__ import annotations

from ..grid.suite import Suite, Sweep

PUBLISHED = ("fifo+packed+sticky", "tiresias", "gandiva", "fifo+random+sticky", "fifo+random", "fifo+pm-first", "pal")
"""What PAL (Jain et al., SC 2024) compares, in its own configuration."""
STRONGEST = ("las-2d+pal+backfill", "gittins+pal+backfill", "srsf+pal+backfill", "sqrt+pal+backfill")
"""The best of each kind of information: attained service; history; remaining time (clairvoyant)."""

SWEEPS = (
    Sweep("Spread of PM scores (exponent; 1 = as measured)", "sia-64", "spread", (0.0, 1.0, 2.0, 4.0, 8.0)),
    Sweep("Share of slow GPUs (1.5-2.8 times slower)", "sia-64", "slow_rate", (0.0, 0.02, 0.05, 0.1, 0.2)),
    Sweep("Locality penalty", "sia-64", "locality_penalty", (1.0, 1.3, 1.7, 2.5, 3.0)),
    Sweep("Restart cost, s", "sia-64", "restart_s", (0.0, 30.0, 90.0, 180.0, 300.0)),
    Sweep(
        "Share of GPUs with a stale profile, 5 % slow", "sia-64:slow_rate=0.05", "profile_stale", (0.0, 0.25, 0.5, 1.0)
    ),
)

SUITES: dict[str, Suite] = {
    "quick": Suite(
        "the published schedulers and the strongest of each kind of information on sia-64",
        ("sia-64",),
        (*PUBLISHED, *STRONGEST),
        "fifo+packed+sticky",
    ),
    "pal": Suite(
        "workloads x orders x placements of PAL's evaluation; takes --traces and --pm-scores",
        ("sia-64", "sia-64-20h", "sia-64-heavy-pm"),
        tuple(
            f"{order}+{placement}"
            for order in ("fifo", "las", "srtf")
            for placement in ("packed+sticky", "packed", "random+sticky", "random", "pm-first", "pal")
        ),
        "ORDER+packed+sticky",
    ),
    "variability": Suite(
        "when variability-aware placement pays: one knob at a time, against packed+sticky",
        tuple(dict.fromkeys(name for sweep in SWEEPS for name in sweep.scenarios)),
        ("fifo+packed+sticky", "fifo+packed", "fifo+pm-first", "fifo+pal", "fifo+pal+sticky"),
        "fifo+packed+sticky",
        SWEEPS,
    ),
}
