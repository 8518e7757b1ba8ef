"""A search in a folder: interrupted and resumed it ends as one that was not; foreign and finished folders are safe."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import varigym
from varigym.agents.checkpoints.checkpoint import STATE, load_checkpoint
from varigym.agents.checkpoints.policies import load_policy
from varigym.agents.cluster import objective as index_es
from varigym.agents.cluster.es_run import IndexRun
from varigym.agents.recipes.es import EsOptions, Generation
from varigym.agents.recipes.es_run import run_es
from varigym.scenarios.errors import InputError

OPTIONS = EsOptions(generations=4, pairs=2, worlds=1, averaged=0.5, learning_rate=0.03, seed=5)
RUN = IndexRun(
    varigym.find_source("sia-64:jobs=12:nodes=4:span_h=1"), varigym.find_policy("las-2d+pal+backfill"), OPTIONS, 4, 1
)


@pytest.fixture(autouse=True, scope="module")
def little_to_compile() -> Iterator[None]:
    """Episodes in one piece, which is the same, and slower only where there are many jobs."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(index_es, "TAIL_SLOTS", ())
        yield


def same(one: Path, other: Path) -> bool:
    first, second = (load_checkpoint(folder).weights for folder in (one, other))
    return all(np.array_equal(first[name], second[name]) for name in first)


def interrupt_after(generation: int):
    def watch(seen: Generation) -> None:
        if seen.state.generation == generation:
            raise KeyboardInterrupt

    return watch


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("whole") / "run"
    run_es(RUN, folder)
    return folder


@pytest.mark.parametrize("stop", [1, 3])
def test_an_interrupted_run_ends_as_one_that_was_not(whole: Path, tmp_path: Path, stop: int) -> None:
    folder = tmp_path / "run"
    with pytest.raises(KeyboardInterrupt):
        run_es(RUN, folder, watch=interrupt_after(stop))
    assert load_checkpoint(folder).training.notes["generations_done"] == stop
    with pytest.raises(InputError, match=rf"{stop} of 4 steps done; go on with --resume"):
        run_es(RUN, folder)
    other = replace(RUN, options=replace(OPTIONS, sigma=0.2))
    with pytest.raises(InputError, match=r"sigma = 0.1, not 0.2; resume it as it began"):
        run_es(other, folder, resume=True)
    run_es(RUN, folder, resume=True)
    assert same(folder, whole)
    assert (folder / "config.json").read_bytes() == (whole / "config.json").read_bytes()


def test_weights_move_and_the_folder_is_a_policy(whole: Path) -> None:
    world, policy = load_policy(whole)
    start = RUN.start
    assert world == "cluster"
    assert any(not np.array_equal(policy.weights[name], start[name]) for name in start)


def test_a_search_begins_where_another_ended(whole: Path, tmp_path: Path) -> None:
    _, init = load_policy(whole)
    seen: list[Generation] = []
    run_es(replace(RUN, init=init, options=replace(OPTIONS, generations=1)), tmp_path / "next", watch=seen.append)
    moved = seen[0].state.weights["w2"] - init.weights["w2"]
    assert 0 < np.abs(moved).max() <= 0.031  # one step of Adam
    with pytest.raises(InputError, match="init has 4 hidden units, not 8"):
        replace(RUN, init=init, hidden=8)


@pytest.mark.parametrize(
    ("resume", "message"), [(False, "holds a finished run; choose another --out"), (True, "holds a finished run")]
)
def test_a_finished_run_is_left_alone(whole: Path, resume: bool, message: str) -> None:
    with pytest.raises(InputError, match=message):
        run_es(RUN, whole, resume)


def test_a_foreign_folder_is_left_alone(tmp_path: Path) -> None:
    (tmp_path / "thesis.tex").write_text("x")
    with pytest.raises(InputError, match="is not empty and holds no run of ours"):
        run_es(RUN, tmp_path)
    with pytest.raises(InputError, match="holds no run to go on with; leave out --resume"):
        run_es(RUN, tmp_path / "none", resume=True)
    assert [path.name for path in tmp_path.iterdir()] == ["thesis.tex"]


@pytest.mark.parametrize(
    "damage", [lambda data: data[:40], lambda data: b"", lambda data: data.replace(b"asked", b"axked")]
)
def test_a_damaged_state_is_refused_in_one_line(tmp_path: Path, damage) -> None:
    with pytest.raises(KeyboardInterrupt):
        run_es(RUN, tmp_path / "run", watch=interrupt_after(1))
    path = tmp_path / "run" / STATE
    path.write_bytes(damage(path.read_bytes()))
    with pytest.raises(InputError, match=STATE):
        run_es(RUN, tmp_path / "run", resume=True)


def test_a_clairvoyant_teacher_is_refused() -> None:
    with pytest.raises(InputError, match="clairvoyant"):
        replace(RUN, expert=varigym.find_policy("srsf+pal+backfill"))
