"""The recorded cases by name. Cases of equal compiled shapes stand side by side."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from unittest import mock

import varigym
from corpus.narrow import in_32_bits
from corpus.packing import Arrays
from corpus.play import CLUSTER, SERVERLESS, batch, branches, single, words
from corpus.records import compared, simulated, worlds, written

ORDERS = ("fifo", "las", "las-2d", "gittins", "srtf", "srsf", "sqrt")
PLACEMENTS = ("random", "packed", "pm-first", "pal")
HABITS = ("", "+sticky", "+backfill", "+sticky+backfill")
SCHEDULERS = ("esg", "esg-literal", "infless", "fast-gshare", "orion", "orion-best-first", "min-config", "max-config")
KNOBS = (
    "esg:replan=off:sharing=off:batching=off",
    "esg:k=1:group=2:later_batch=free",
    "infless:give_up=on:margin=0.85",
)

SMALL = "sia-64:nodes=4:jobs=24:span_h=1:restart_s=90:profile_noise=0.1:profile_stale=0.2"
LARGE = "sia-64:jobs=40:span_h=0.5:restart_s=30"
SHORT = ":warmup_s=1:measured_s=4:drain_s=3"
LOADED, FORK = "overload:invokers=2:load=0.12", "fork-join:invokers=2:load=0.12:warm=1:scan=slack:transfer=slow"
VARIANTS = ":bill_cold=on:prewarm=off:overhead_ms=2:scan=longest:locality=off:burst_s=1:lull_s=1"
MIXED = "measured-strict-heavy:invokers=2:load=0.4:images=4"
CLUSTERS = ("tiny", "sia-64", "sia-64-2h", "sia-64-heavy-pm", "frontera-64", "synergy-256:jobs=60:warm_up=5:tracked=20")
PLATFORMS = tuple(
    name + ":measured_s=4:warmup_s=1"
    for name in ("strict-light", "relaxed-heavy-cold", "burst", "fork-join", "measured-moderate-normal", "tight-normal")
)
REFERENCE = Path(varigym.__file__).parent / "runs" / "reference"
SHARED = Path(os.environ.get("VARIGYM_SHARED", Path(__file__).resolve().parents[3] / "shared"))

TINY_ENV = {"scenario": "tiny", "worlds": 2, "window": 4}
SMALL_ENV = {"scenario": SMALL, "worlds": 3, "window": 8, "base": "gittins+pal+backfill"}
TINY_PLATFORM = {"scenario": "tiny-serverless", "worlds": 2}
LOADED_ENV = {"scenario": LOADED, "worlds": 3, "window_s": 2.5}


@dataclass(frozen=True)
class Case:
    """How to make the arrays of a case."""

    make: Callable[[], Arrays]
    quick: bool = False
    """Part of the usual suite."""
    shared: bool = False
    """Needs the folder of real traces."""


def _quick(function: Callable[..., Arrays], *arguments: object, **keywords: object) -> Case:
    return Case(partial(function, *arguments, **keywords), quick=True)


def _slow(function: Callable[..., Arrays], *arguments: object, **keywords: object) -> Case:
    return Case(partial(function, *arguments, **keywords))


def _family(order: str) -> list[str]:
    return [f"{order}+{placement}{habit}" for placement in PLACEMENTS for habit in HABITS]


def _trace(policy: str) -> Case:
    """A run of PAL's evaluation, as the command makes it from files."""
    trace = SHARED / "data/pal_sia_philly_workloads/original/workload-1.csv"
    files = ("--trace", str(trace), "--pm-scores", str(SHARED / "golden/pal/pm_scores_64gpu_seed42.csv"))
    rules = ("--round-s", "360", "--locality-penalty", "1.7", "--compat", "artifact")
    return Case(
        partial(written, "--jobs-out", "simulate", *files, *rules, "--policy", policy),
        shared=True,
    )


def _planned() -> Arrays:
    """Aquatope's plans, made here and now."""
    with tempfile.TemporaryDirectory() as folder, mock.patch.dict(os.environ, VARIGYM_CACHE=folder):
        return simulated("tiny-serverless", ["aquatope:plans=1:runs=2"], [0, 1])


def _bench(scenarios: str, policies: str) -> Case:
    words = ("bench", "--scenarios", scenarios, "--policies", policies, "--seeds", "2")
    return Case(partial(written, "--out", *words))


CASES: dict[str, Case] = {
    "worlds/cluster": _quick(worlds, (*CLUSTERS, SMALL), (0, 200_000)),
    "worlds/serverless": _quick(worlds, ("tiny-serverless", *PLATFORMS), (0, 200_000)),
    **{f"cluster/tiny/{order}": _quick(simulated, "tiny", _family(order), [0]) for order in ORDERS},
    "cluster/env/tiny": _quick(single, CLUSTER, 60, **TINY_ENV),
    "cluster/env/tiny-branches": _quick(branches, CLUSTER, 12, **TINY_ENV),
    "serverless/tiny": _slow(simulated, "tiny-serverless", ("esg",), [0, 1]),
    "serverless/env/tiny": _quick(single, SERVERLESS, 60, **TINY_PLATFORM),
    "cluster/words": _slow(words, CLUSTER, 10, **TINY_ENV),
    "serverless/words": _slow(words, SERVERLESS, 10, **TINY_PLATFORM),
    "cluster/compare": _slow(
        compared, ["tiny", "tiny:restart_s=45"], ["fifo+packed+sticky", "pal"], "mean_jct_s mean_ftf utilization"
    ),
    **{f"cluster/small/{order}": _slow(simulated, SMALL, _family(order), [0, 200_000]) for order in ORDERS},
    "cluster/checkpoint": _slow(simulated, SMALL, [REFERENCE / "cluster"], [0, 200_000]),
    "cluster/bench": _bench(f"tiny,{SMALL}", f"fifo+packed+sticky,pal,las+packed+sticky,{REFERENCE / 'cluster'}"),
    **{f"cluster/large/{order}": _slow(simulated, LARGE, _family(order), [7]) for order in ORDERS},
    "cluster/env/small": _slow(single, CLUSTER, 250, **SMALL_ENV),
    "cluster/env/scaled": _slow(single, CLUSTER, 120, reward_scale=1000.0, bank="validation", **SMALL_ENV),
    "cluster/env/held-out": _slow(branches, CLUSTER, 60, bank="held-out", **SMALL_ENV),
    "cluster/env/select-slowdown": _slow(
        single, CLUSTER, 120, action_mode="select", reward="slowdown", decide_every=1, **TINY_ENV
    ),
    "cluster/env/ftf-clairvoyant": _slow(
        single, CLUSTER, 250, reward="ftf", clairvoyant=True, decide_every=0, **SMALL_ENV
    ),
    "cluster/env/makespan": _slow(
        single,
        CLUSTER,
        120,
        action_mode="select",
        reward="makespan",
        bins=3,
        slots=64,
        **{**TINY_ENV, "base": "fifo+random+sticky"},
    ),
    **{
        f"cluster/batch/{mode}": _slow(batch, CLUSTER, 150, autoreset_mode=mode, **TINY_ENV)
        for mode in ("NextStep", "SameStep", "Disabled")
    },
    "cluster/batch/select-small": _slow(
        batch, CLUSTER, 200, autoreset_mode="SameStep", action_mode="select", **SMALL_ENV
    ),
    **{
        f"serverless/loaded/{name}": _slow(simulated, LOADED + SHORT, [name], [0, 200_000])
        for name in (*SCHEDULERS, *KNOBS)
    },
    "serverless/checkpoint": _slow(simulated, LOADED + SHORT, [REFERENCE / "serverless"], [0, 200_000]),
    "serverless/bench": _bench(LOADED + SHORT, f"esg,orion,min-config,{REFERENCE / 'serverless'}"),
    "serverless/compare": _slow(
        compared, [LOADED + SHORT], ["esg", "infless"], "hit_rate cost_usd_per_request served cold_starts"
    ),
    "serverless/fork": _slow(simulated, FORK + SHORT, ("esg", "orion"), [0]),
    "serverless/variants": _slow(simulated, LOADED + SHORT + VARIANTS, ("esg", "orion:planning_ms=20"), [0]),
    "serverless/measured": _slow(simulated, MIXED + SHORT, ("esg", "max-config"), [0]),
    "float32/tiny": Case(in_32_bits),
    "serverless/aquatope": Case(_planned),
    "serverless/env/loaded": _slow(single, SERVERLESS, 400, **LOADED_ENV),
    "serverless/env/scaled": _slow(single, SERVERLESS, 60, reward_scale=5.0, bank="held-out", **LOADED_ENV),
    "serverless/env/price": _slow(single, SERVERLESS, 200, price_weight=2.0, base="min-config", **LOADED_ENV),
    "serverless/env/logged": _slow(branches, SERVERLESS, 150, log=True, **LOADED_ENV),
    "serverless/env/choose-invoker": _slow(single, SERVERLESS, 300, choose_invoker=True, drop=False, **LOADED_ENV),
    "serverless/env/whole": _slow(
        single, SERVERLESS, 150, scenario=FORK + SHORT, worlds=2, window_s=None, base="infless"
    ),
    **{
        f"serverless/batch/{mode}": _slow(batch, SERVERLESS, 250, autoreset_mode=mode, **LOADED_ENV)
        for mode in ("NextStep", "SameStep", "Disabled")
    },
    **{f"cluster/trace/{policy}": _trace(policy) for policy in ("pal", "las+packed+sticky", "srtf+pm-first")},
}
