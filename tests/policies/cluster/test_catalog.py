"""Contract of every policy name: it runs everywhere, says what it knows, and shares one compilation."""

from __future__ import annotations

import jax
import pytest
from contracts import CROWD, check_cluster_policy, check_order
from varigym.bench.simulate import simulate
from varigym.envs.cluster import episode
from varigym.envs.cluster.bank import make_bank
from varigym.envs.cluster.episode import run_episodes
from varigym.policies.cluster import catalog
from varigym.policies.cluster.catalog import ALIASES, ORDERS, PLACEMENTS, add_placement, find_policy, policy_names
from varigym.policies.cluster.placements import Placement, packed
from varigym.policies.information import Information
from varigym.scenarios.errors import InputError
from varigym.scenarios.registry import Registry
from worlds import SmallJob, small_scenario


@pytest.mark.parametrize("name", policy_names())
def test_every_policy_finishes_every_job(name: str) -> None:
    record = check_cluster_policy(name)
    if name.endswith("+sticky+backfill") or (name.startswith("fifo") and "+sticky" in name):
        assert record.jobs.preemptions.sum() == 0


@pytest.mark.parametrize("name", [*ORDERS])
def test_remaining_work_is_hidden_from_non_clairvoyant_orders(name: str) -> None:
    check_order(name)


def test_clairvoyance_is_marked() -> None:
    marked = {name for name, order in ORDERS.items() if order.information is Information.CLAIRVOYANT}
    assert marked == {"srtf", "srsf", "sqrt"}


def test_aliases_are_canonical_names_in_results() -> None:
    assert {alias: find_policy(alias).name for alias in ALIASES} == ALIASES


def test_all_policies_share_one_program_and_one_compilation() -> None:
    bank = make_bank([small_scenario([SmallJob(0, 1, 60, 0)] * 90)])
    compiled = episode._go_on
    compiled.clear_cache()  # type: ignore[attr-defined]
    for name in ("fifo+pal", "las+packed+sticky", "gittins+pm-first+backfill", "sqrt+random"):
        policy = find_policy(name)
        run_episodes(bank, policy.program, policy.bind(bank), clairvoyant=True, seeds=[0])
    assert compiled._cache_size() == 1  # type: ignore[attr-defined]


def test_worlds_of_one_shape_share_a_compilation() -> None:
    episode._go_on.clear_cache()  # type: ignore[attr-defined]
    for count in (3, 17, 32):
        simulate(small_scenario([SmallJob(k, 1, 60 + k, k % 2) for k in range(count)]), "fifo+pal")
    assert episode._go_on._cache_size() == 1  # type: ignore[attr-defined]


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("pall", "did you mean pal"),
        ("fifo+pall", "unknown placement 'pall'; did you mean pal"),
        ("fifi+pal", "unknown order 'fifi'; did you mean fifo"),
        ("fifo+pal+stiky", "'stiky' where +sticky and +backfill are legal"),
        ("fifo+pal+sticky+sticky", "each once"),
        ("", "unknown policy ''"),
        ("+", "unknown order ''"),
    ],
)
def test_unknown_names_are_refused_with_the_closest_ones(name: str, said: str) -> None:
    with pytest.raises(InputError) as refusal:
        find_policy(name)
    assert said in str(refusal.value)


def test_a_placement_of_one_s_own(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(catalog, "PLACEMENTS", Registry("placement", PLACEMENTS))
    add_placement(Placement("mine", packed, "test"))
    ours, theirs = (simulate(CROWD, f"las+{name}+sticky")[0].jobs.finish_s for name in ("mine", "packed"))
    assert (ours == theirs).all()
    for taken in ("mine", "pal", "a+b", ""):
        with pytest.raises(InputError):
            add_placement(Placement(taken, packed, "test"))


def test_the_results_are_the_same_in_32_bits_for_short_jobs() -> None:
    plain = simulate(CROWD, "las+pal")[0].jobs
    with jax.enable_x64(False):
        single = simulate(CROWD, "las+pal")[0].jobs
    assert (single.finish_s == plain.finish_s).all()
