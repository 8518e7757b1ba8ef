"""Named benchmarks of the serverless platform: ESG and its baselines, ESG's parts, and the robustness of results."""

from __future__ import annotations

from ..grid.suite import Suite, Sweep

SETTINGS = (
    "strict-light",
    "moderate-normal",
    "relaxed-heavy",
    "strict-heavy",
    "tight-normal",
    "overload",
    "burst",
    "fork-join",
)
"""ESG's three settings, as recalled, and our own, which separate schedulers."""
PLANNERS = ("infless", "fast-gshare", "orion", "aquatope")
"""Baselines of ESG (Hui et al., HPDC 2024), as recalled."""
POLICIES = ("esg", "esg-literal", *PLANNERS, "min-config", "max-config")
FAIR = ":margin=0.85:give_up=on"
"""Knobs that give baselines what only our ESG has: a safety margin, and little spending on lost requests."""
CONTENDED = ("strict-heavy", "overload", "relaxed-heavy")
WITHOUT = (
    "replan=off",
    "group=1",
    "group=2",
    "group=31",
    "k=1",
    "candidates=paths",
    "margin=1.0",
    "no_path=best_effort",
    "locality=off",
    "sharing=off",
    "batching=off",
)
"""ESG without one of its parts, or with another choice that the paper leaves open."""

ORION = (
    "orion",
    "orion:planning_ms=100",
    "orion-best-first:budget=200",
    "orion-best-first:budget=2000",
    "orion-best-first:budget=20000",
    "orion-best-first:budget=2000:planning_ms=100",
)
"""Orion by search, budget, and whether the planning time counts."""

SWEEPS = (
    Sweep("Noise of run times (CV)", "strict-heavy", "noise_cv", (0.0, 0.05, 0.1, 0.2)),
    Sweep("Scaling with vCPUs and vGPUs (factor on eg)", "strict-heavy", "exponent_scale", (0.6, 1.0, 1.3)),
    Sweep("Cost of one more item in a batch (added to s)", "strict-heavy", "s_shift", (-0.2, 0.0, 0.2)),
    Sweep("Transfer between invokers", "strict-heavy", "transfer", ("fast", "slow")),
    Sweep("Order of visits", "strict-heavy", "scan", ("rr", "slack", "longest")),
    Sweep("Controller time per visit, ms", "strict-heavy", "overhead_ms", (0.0, 1.0, 5.0)),
    Sweep("Warm containers per invoker and function", "relaxed-heavy", "warm", (0.0, 2.0, 4.0, 7.0)),
    Sweep("Pre-warming, from cold pools", "relaxed-heavy-cold", "prewarm", ("on", "off")),
)

SUITES: dict[str, Suite] = {
    "esg": Suite("ESG and its baselines on eight settings", SETTINGS, POLICIES, "esg"),
    "esg-fair": Suite(
        "the same, but the baselines also have ESG's safety margin and give_up",
        SETTINGS,
        ("esg", *(f"{name}{FAIR}" for name in PLANNERS)),
        "esg",
    ),
    "esg-ablation": Suite(
        "ESG without one of its parts, under contention",
        CONTENDED,
        ("esg", *(f"esg:{knob}" for knob in WITHOUT)),
        "esg",
    ),
    "esg-sensitivity": Suite(
        "how results depend on our choices: one knob of the world at a time",
        tuple(dict.fromkeys(name for sweep in SWEEPS for name in sweep.scenarios)),
        ("esg", "esg:later_batch=free", "esg-literal", "infless", "fast-gshare", "orion"),
        "esg",
        SWEEPS,
    ),
    "esg-orion": Suite("Orion by search, budget and counted planning time", SETTINGS[:4], ("esg", *ORION), "esg"),
    "esg-cold": Suite(
        "the cold track: invokers start without containers",
        tuple(f"{name}-cold" for name in SETTINGS[:4]),
        POLICIES,
        "esg",
    ),
}
