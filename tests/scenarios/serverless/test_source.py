from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from varigym.scenarios.catalog import SCENARIOS, find_source, knobs
from varigym.scenarios.cluster.catalog import SCENARIOS as CLUSTER
from varigym.scenarios.cluster.scenario import ClusterScenario
from varigym.scenarios.cluster.source import ClusterSynthetic
from varigym.scenarios.errors import InputError
from varigym.scenarios.serverless.catalog import SCENARIOS as SERVERLESS
from varigym.scenarios.serverless.scenario import TRANSFERS, Scan, ServerlessScenario
from varigym.scenarios.serverless.source import windowed

WARM = [name for name, entry in SERVERLESS.items() if not name.endswith("-cold")]
SHORT = ":warmup_s=2:measured_s=8:drain_s=1"
"""Streams of ten seconds."""


def build(text: str, seed: int = 5) -> ServerlessScenario:
    """The last of equal knobs holds."""
    name, *settings = text.split(":")
    last = {setting.split("=")[0]: setting for setting in settings}
    return find_source(":".join([name, *last.values()])).build(seed)


def load(scenario: ServerlessScenario) -> float:
    """Share of the vGPUs that requests of the window hold if every task runs at minimum configuration."""
    work_ms = [sum(scenario.functions[f].latency_ms[0] for f in w.functions) for w in scenario.workflows]
    held = sum(work_ms[w] for w in scenario.requests.workflow[scenario.requests.counted])
    first, last = scenario.window_ms
    return float(held / (last - first) / scenario.vgpu.sum())


@pytest.mark.parametrize("name", SERVERLESS)
def test_equal_seeds_give_equal_worlds_and_others_do_not(name: str) -> None:
    assert build(name, 3).data_hash == build(name, 3).data_hash
    assert (build(name, 3).data_hash == build(name, 4).data_hash) == name.startswith("tiny")


@pytest.mark.parametrize("name", SERVERLESS)
def test_every_knob_can_be_set_to_its_default_and_nothing_changes(name: str) -> None:
    source = find_source(name)
    defaults = [f"{knob}={value}" for knob, (_, value) in knobs(source).items()]
    for setting in defaults:
        assert replace(find_source(f"{name}:{setting}"), name=name) == source  # type: ignore[type-var]
    assert build(":".join([name, *defaults])).data_hash == build(name).data_hash


@pytest.mark.parametrize("name", SERVERLESS)
def test_a_source_is_called_what_it_was_asked_for_and_knows_no_history(name: str) -> None:
    variant = f"{name}:overhead_ms=1:noise_cv=0.2"
    assert find_source(variant).name == build(variant).name == variant
    assert find_source(name).history() is None


@pytest.mark.parametrize("name", SERVERLESS)
def test_every_slo_can_be_met_on_an_idle_platform(name: str) -> None:
    assert build(name).remarks == ()


@pytest.mark.parametrize("name", WARM)
def test_the_cold_variant_differs_in_its_containers_alone(name: str) -> None:
    warm, cold = build(name), build(f"{name}-cold")
    assert warm.warm > cold.warm == 0
    assert replace(cold, warm=warm.warm).data_hash == warm.data_hash


def test_workflows_and_slos_are_those_of_the_evaluation() -> None:
    scenario = build("moderate-normal")
    assert {f.name: float(f.latency_ms[0]) for f in scenario.functions} == pytest.approx(
        {
            "super-resolution": 86,
            "segmentation": 293,
            "classification": 147,
            "deblur": 319,
            "depth": 828,
            "background-removal": 1047,
        }
    )
    assert [w.slo_ms for w in scenario.workflows] == pytest.approx([526, 1233, 1452, 1892])
    assert [w.stages for w in scenario.workflows] == [3, 3, 3, 5]
    assert (scenario.vcpu.tolist(), scenario.vgpu.tolist()) == ([16] * 16, [7] * 16)
    assert (scenario.warm, scenario.keep_alive_s, scenario.grid.size) == (7, 600.0, 100)
    assert (scenario.window_ms, scenario.horizon_ms) == ((60_000.0, 360_000.0), 420_000.0)
    assert [w.slo_ms for w in build("strict-heavy").workflows] == pytest.approx([420.8, 986.4, 1161.6, 1513.6])


def test_the_fork_join_promises_its_slower_branch() -> None:
    (workflow,) = build("fork-join").workflows
    assert workflow.slo_ms == pytest.approx(86 + 319 + 147)
    assert workflow.predecessors == ((), (0,), (0,), (1, 2))


@pytest.mark.parametrize(
    ("name", "share"),
    [
        ("strict-light", 0.213),
        ("moderate-normal", 0.425),
        ("relaxed-heavy", 0.850),
        ("strict-heavy", 0.850),
        ("tight-normal", 0.425),
        ("overload", 1.105),
        ("burst", 0.850),
        ("fork-join", 0.845),
        ("measured-strict-light", 0.211),
        ("measured-moderate-normal", 0.422),
        ("measured-strict-heavy", 0.845),
    ],
)
def test_load_at_minimum_configuration(name: str, share: float) -> None:
    assert np.mean([load(build(name, seed)) for seed in range(5)]) == pytest.approx(share, rel=0.015)


@pytest.mark.parametrize("setting", ["noise_cv=0.3", "straggler_share=0.5", "straggler_factor=3"])
def test_a_knob_of_the_noise_changes_nothing_else(setting: str) -> None:
    plain, changed = build(f"burst{SHORT}"), build(f"burst{SHORT}:{setting}")
    assert (plain.requests.noise != changed.requests.noise).any()
    assert replace(changed, requests=plain.requests).data_hash == plain.data_hash
    for name in ("arrival_ms", "workflow", "counted"):
        assert (getattr(plain.requests, name) == getattr(changed.requests, name)).all()


@pytest.mark.parametrize("setting", ["load=0.8", "load=1.3", "measured_s=12", "burst_s=0", "gap_high_ms=12", "warm=0"])
def test_other_knobs_leave_the_noise_and_the_mix_of_each_request(setting: str) -> None:
    plain, changed = build(f"burst{SHORT}").requests, build(f"burst{SHORT}:{setting}").requests
    both = min(len(plain), len(changed))
    assert (plain.noise[:both] == changed.noise[:both]).all()
    assert (plain.workflow[:both] == changed.workflow[:both]).all()


@pytest.mark.parametrize(
    "setting",
    [
        "invokers=15",
        "vcpu=15",
        "vgpu=8",
        "slo_factor=0.9",
        "warm=0",
        "keep_alive_s=60",
        "prewarm=no",
        "bill_cold=yes",
        "overhead_ms=1",
        "transfer=slow",
        "transfer=none",
        "scan=slack",
        "scan=longest",
        "locality=off",
        "usd_per_vcpu_h=0.1",
        "usd_per_vgpu_h=0.1",
        "grid=S20",
        "exponent_scale=0.6",
        "s_shift=-0.2",
        "gap_low_ms=9",
        "gap_high_ms=17",
        "load=1.1",
        "burst_s=4",
        "lull_s=3",
        "burst_rate=2",
        "lull_rate=0.5",
        "warmup_s=3",
        "measured_s=7",
        "drain_s=2",
        "noise_cv=0.05",
        "straggler_share=0.2",
        "straggler_factor=2",
    ],
)
def test_every_knob_changes_the_world(setting: str) -> None:
    assert build(f"burst{SHORT}:{setting}").data_hash != build(f"burst{SHORT}").data_hash


@pytest.mark.parametrize("setting", ["images=4", "gpu_share=0.9", "vcpu_exponent=0.3", "cold_start_ms=1", "image_mb=1"])
def test_every_knob_of_measured_profiles_changes_the_world(setting: str) -> None:
    assert build(f"measured-strict-heavy:{setting}").data_hash != build("measured-strict-heavy").data_hash


def test_knobs_arrive_where_they_belong() -> None:
    scenario = build(f"burst{SHORT}:invokers=3:vgpu=8:grid=S256:transfer=slow:scan=slack:prewarm=false:warm=2")
    assert (scenario.invokers, scenario.vgpu.tolist(), scenario.grid.size) == (3, [8, 8, 8], 256)
    assert (scenario.transfer, scenario.scan, scenario.prewarm, scenario.warm) == (
        TRANSFERS["slow"],
        Scan.SLACK,
        False,
        2,
    )


def test_an_impossible_slo_is_remarked() -> None:
    assert len(build("strict-light:slo_factor=0.29").remarks) == 2
    assert len(build("strict-light:slo_factor=0.1").remarks) == 4


@pytest.mark.parametrize(
    ("setting", "message"),
    [
        ("warm=-1", "warm = -1; legal: a whole number, 0 to 64"),
        ("warm=1.5", "warm = '1.5'; legal: a whole number"),
        ("invokers=0", "invokers = 0; legal: a whole number, 1 to 4,096"),
        ("invokers=100000", "invokers = 100000; legal"),
        ("vgpu=6", "no invoker can hold a configuration of 8 vCPU and 7 vGPU"),
        ("vcpu=0", "vcpu = 0"),
        ("grid=S256", "no invoker can hold a configuration of 8 vCPU and 8 vGPU .*16 and 7.*; use larger invokers"),
        ("grid=S1000", "unknown grid 'S1000'; did you mean S100"),
        ("transfer=fats", "unknown transfer 'fats'; did you mean fast"),
        ("scan=random", "scan = 'random'; legal: rr, slack, longest"),
        ("prewarm=maybe", "prewarm = 'maybe'; legal: true, false, on, off, yes, no, 1, 0"),
        ("slo_factor=0", "slo_factor = 0.0; legal: a finite number > 0"),
        ("slo_factor=nan", "slo_factor = nan"),
        ("slo_factor=1e9", "slo_factor = 1000000000.0"),
        ("keep_alive_s=-1", "keep_alive_s = -1.0"),
        ("overhead_ms=nan", "overhead_ms = nan"),
        ("usd_per_vgpu_h=-1", "usd_per_vgpu_h = -1.0; legal: a finite number >= 0"),
        ("exponent_scale=x", "exponent_scale = 'x'; legal: a number"),
        ("load=0", "load = 0.0"),
        ("load=1000", "requests would arrive; legal: at most 1,000,000"),
        ("measured_s=0", "measured_s = 0.0"),
        ("noise_cv=2", "noise_cv = 2.0"),
        ("rate=2", "unknown knob of strict-heavy 'rate'"),
        ("nodes=2", "unknown knob of strict-heavy 'nodes'"),
    ],
)
def test_a_bad_knob_is_refused_with_what_is_legal(setting: str, message: str) -> None:
    with pytest.raises(InputError, match=message):
        build(f"strict-heavy:{setting}")


@pytest.mark.parametrize(
    ("name", "knob", "value", "legal"),
    [
        ("strict-heavy", "exponent_scale", "10", r"exponent_scale = 10.0; legal: .* <= 5\.33"),
        ("strict-heavy", "vcpu", "1", r"\(vcpu and vgpu are at most 1 and 7\)"),
        ("strict-heavy", "vgpu", "1", r"\(vcpu and vgpu are at most 16 and 1\)"),
        ("strict-heavy", "gap_low_ms", "100", r"gap_high_ms = 16.8; legal: a finite number >= 100 \(gap_low_ms\)"),
        ("burst", "burst_rate", "100", r"up to 3.6e\+06 requests would arrive; .*burst_rate"),
        ("burst", "measured_s", "1e-9", r"^measured_s = 1e-09: no request .*; legal: .* longer than 0\.024 s"),
        ("measured-strict-heavy", "gap_high_ms", "1e6", "no request arrives .* longer than 1000 s.*gap_high_ms"),
        ("measured-strict-heavy", "images", "10", "^images = 10, .*legal: batches of 1, 2, 4, 8, 16, 32"),
        ("measured-strict-heavy", "image_mb", "-1", "^image_mb = -1.0; legal: .* >= 0 and <= 125000"),
        ("measured-strict-heavy", "cold_start_ms", "1e8", "^cold_start_ms = 100000000.0; legal: .* <= 1e.07"),
    ],
)
def test_what_a_knob_spoils_is_refused_by_the_name_of_the_knob(name: str, knob: str, value: str, legal: str) -> None:
    with pytest.raises(InputError, match=legal) as refusal:
        build(f"{name}:{knob}={value}", seed=200_000)
    assert knob in str(refusal.value)


def test_a_window_that_is_too_short_for_a_request_is_refused_by_its_name() -> None:
    source = find_source("burst")
    with pytest.raises(InputError, match=r"^window_s = 0\.02; legal: longer than 0\.024 s"):
        windowed(source, 0.02)
    for seed in range(20):
        assert windowed(source, 0.0241).build(seed).requests.counted.any()


def test_a_bad_seed_is_refused() -> None:
    with pytest.raises(InputError, match="seed = -1; legal: 0 to 2147483647"):
        build("strict-light", -1)


def test_the_two_kinds_are_told_apart() -> None:
    assert {name: entry.world for name, entry in SCENARIOS.items()} == {
        **dict.fromkeys(CLUSTER, "cluster"),
        **dict.fromkeys(SERVERLESS, "serverless"),
    }
    assert isinstance(find_source("tiny:restart_s=3").build(0), ClusterScenario)
    assert isinstance(find_source("tiny-serverless:warm=0").build(0), ServerlessScenario)
    assert isinstance(find_source("sia-64"), ClusterSynthetic)
    with pytest.raises(InputError, match="unknown scenario 'strict-hevy'; did you mean strict-heavy"):
        find_source("strict-hevy")
    with pytest.raises(InputError, match="unknown scenario 'overlaod'; did you mean overload"):
        find_source("overlaod")


def test_the_docs_give_the_range_of_every_knob() -> None:
    docs = (Path(__file__).parents[3] / "docs" / "serverless_scenarios.md").read_text()
    table = docs.partition("\n## Ranges")[2].partition("\n## ")[0]
    rows = [row.split("|")[1:3] for row in table.splitlines() if row.startswith("| `")]
    ranges = {name.strip(" `"): legal.strip() for names, legal in rows for name in names.split(",")}
    homes = {knob: name for name in WARM for knob in knobs(find_source(name))}
    assert set(homes) - set(ranges) == set()
    for knob, legal in ranges.items():
        if knob in homes and " to " in legal:
            beyond = float(legal.split(" to ")[1]) * 1.01 + 1
            with pytest.raises(InputError, match=knob):
                find_source(f"{homes[knob]}:{knob}={beyond:g}").build(0)


def test_the_docs_name_every_scenario_function_workflow_and_knob() -> None:
    docs = (Path(__file__).parents[3] / "docs" / "serverless_scenarios.md").read_text()
    scenarios = [find_source(name).build(0) for name in WARM if name != "tiny-serverless"]
    parts = [part.name for scenario in scenarios for part in (*scenario.functions, *scenario.workflows)]
    names = {*WARM, *parts, *(knob for name in WARM for knob in knobs(find_source(name)))}
    assert {name for name in names if f"`{name}`" not in docs} == set()
