"""Parts of the learned index that are left out: what is frozen stays at zero, all else is searched as ever."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import varigym
from varigym.agents.checkpoints.checkpoint import STATE, load_checkpoint
from varigym.agents.cluster import objective as index_es
from varigym.agents.cluster.es_run import IndexRun
from varigym.agents.cluster.index_parts import FACTS, OUTPUT, mask_without
from varigym.agents.recipes.es import EsOptions, Generation, Weights
from varigym.agents.recipes.es_run import complete_es, run_es
from varigym.policies.cluster.index_features import FEATURES, NAMES
from varigym.policies.cluster.index_net import LearnedIndex
from varigym.scenarios.errors import InputError

OPTIONS = EsOptions(generations=3, pairs=2, worlds=1, averaged=0.5, sigma=1.0, learning_rate=0.03, seed=5)
RUN = IndexRun(
    varigym.find_source("sia-64:jobs=12:nodes=4:span_h=1:restart_s=90"),
    varigym.find_policy("las-2d+pal+backfill"),
    OPTIONS,
    4,
    1,
)


@pytest.fixture(autouse=True, scope="module")
def little_to_compile() -> Iterator[None]:
    """Episodes in one piece, which is the same, and slower only where there are many jobs."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(index_es, "TAIL_SLOTS", ())
        yield


def moved(run: IndexRun, out: Path) -> Weights:
    """Where the last iterate is not where it began."""
    seen: list[Generation] = []
    run_es(run, out, watch=seen.append)
    return {name: value != run.start[name] for name, value in seen[-1].state.weights.items()}


def test_groups_are_features_and_share_none() -> None:
    grouped = [name for group in FACTS.values() for name in group]
    assert len(set(grouped)) == len(grouped)
    assert set(NAMES) - set(grouped) == {"expert's key, log", "restart cost in rounds", "one"}
    assert not set(FACTS) & set(OUTPUT)


def test_masks_by_hand() -> None:
    assert mask_without((), 4) == {}
    mask = mask_without(("keep", "running"), 3)
    assert mask["w2"].tolist() == [[1, 0]] * 3
    assert mask["b2"].tolist() == [1, 0]
    assert np.flatnonzero(mask["w1"].sum(axis=1) == 0).tolist() == [9]
    assert NAMES[9] == "running"
    assert mask["w1"].sum() == 3 * (FEATURES - 1)


@pytest.mark.parametrize(
    ("frozen", "message"),
    [
        (("keeps",), "unknown part of the learned index 'keeps'; did you mean keep"),
        (("order", "keep"), "frozen = order, keep; legal: order or keep, not both"),
    ],
)
def test_what_leaves_nothing_is_refused(frozen: tuple[str, ...], message: str) -> None:
    with pytest.raises(InputError, match=message):
        replace(RUN, frozen=frozen)


@pytest.mark.parametrize("frozen", [("keep",), ("order", "age"), ("running", "speed")])
def test_what_is_frozen_stays_at_zero_and_the_rest_moves(tmp_path: Path, frozen: tuple[str, ...]) -> None:
    run = replace(RUN, frozen=frozen)
    free = {name: np.ones_like(value, dtype=bool) for name, value in run.start.items()}
    free |= {name: part > 0 for name, part in mask_without(frozen, 4).items()}
    found = moved(run, tmp_path / "run")
    assert all((found[name] == free[name]).all() for name in free)
    made = load_checkpoint(tmp_path / "run")
    assert all((made.weights[name][~free[name]] == 0).all() for name in free)
    assert made.training.recipe_options["frozen"] == ", ".join(frozen)


def test_a_start_differs_in_what_is_frozen_alone_and_an_init_loses_it() -> None:
    run, mask = replace(RUN, frozen=("queue",)), mask_without(("queue",), 4)["w1"]
    assert (run.start["w1"] == RUN.start["w1"] * mask).all()
    init = LearnedIndex(RUN.expert, {name: value + 1 for name, value in RUN.start.items()})
    assert (replace(run, init=init).start["w1"] == init.weights["w1"] * mask).all()


def test_a_whole_run_is_asked_as_ever() -> None:
    assert "frozen" not in RUN.asked


def test_a_run_is_begun_gone_on_with_and_left_alone(tmp_path: Path) -> None:
    def stop(seen: Generation) -> None:
        raise KeyboardInterrupt

    run, folder, whole = replace(RUN, frozen=("order",)), tmp_path / "run", tmp_path / "whole"
    with pytest.raises(KeyboardInterrupt):
        complete_es(run, folder, stop)
    with pytest.raises(InputError, match="1 of 3 steps done, with frozen = 'order', not None"):
        complete_es(RUN, folder)
    seen: list[Generation] = []
    made = complete_es(run, folder, seen.append)
    assert [generation.state.generation for generation in seen] == [2, 3]
    assert complete_es(run, whole).identity == made.identity
    before = (folder / STATE).stat().st_mtime_ns
    assert complete_es(run, folder, stop).identity == made.identity
    assert (folder / STATE).stat().st_mtime_ns == before
    with pytest.raises(InputError, match="with generations = 3, not 4"):
        complete_es(replace(run, options=replace(OPTIONS, generations=4)), folder)
