"""Data sets for Minari: what it reads back is what was seen, done and rewarded; what it cannot hold is refused."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import minari
import numpy as np
import pytest
from learning_tasks import task_of
from varigym.agents.data.dataset import Dataset, joined
from varigym.agents.data.dataset_file import load_dataset, save_dataset
from varigym.agents.data.minari_export import export_minari
from varigym.agents.data.recording import record
from varigym.scenarios.errors import InputError

ID = "varigym/small-v0"
SEEDS = [3, 4]


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("MINARI_DATASETS_PATH", str(tmp_path))
    return tmp_path


@pytest.fixture(scope="module", params=[True, False], ids=["cluster", "serverless"])
def steps(request: pytest.FixtureRequest) -> tuple[Dataset, list[list[Any]]]:
    lesson = task_of(request.param)
    env = lesson.env(SEEDS)
    return record(lesson, SEEDS), [list(lesson.show(env, world, seed)) for world, seed in enumerate(SEEDS)]


def test_what_minari_reads_is_the_expert_s_episode(steps: tuple[Dataset, list[list[Any]]]) -> None:
    data, episodes = steps
    export_minari(data, ID)
    read = minari.load_dataset(ID)
    assert (read.total_episodes, read.total_steps) == (2, len(data))
    for found, episode, seed in zip(read, episodes, SEEDS, strict=True):
        assert found.actions.tolist() == [step.action for step in episode]
        np.testing.assert_allclose(found.rewards, [step.reward for step in episode], rtol=0, atol=1e-6)
        ending = episode[-1].ending
        for name, part in found.observations.items():
            seen = [*(step.observation[name] for step in episode), ending.observation[name]]
            np.testing.assert_array_equal(part, np.stack(seen))
        assert found.terminations.tolist() == [False] * (len(episode) - 1) + [ending.terminated]
        assert found.truncations.tolist() == [False] * (len(episode) - 1) + [not ending.terminated]
        assert next(iter(read.storage.get_episode_metadata([found.id])))["seed"] == seed
        assert all(read.observation_space.contains({n: p[t] for n, p in found.observations.items()}) for t in (0, -1))
        assert all(read.action_space.contains(action) for action in found.actions)


def test_where_it_comes_from_is_said(steps: tuple[Dataset, list[list[Any]]]) -> None:
    data, _ = steps
    export_minari(data, ID)
    told = minari.load_dataset(ID).storage.metadata
    assert (told["scenario"], told["teacher"]) == (data.facts["scenario"], data.facts["teacher"])
    assert (list(told["seeds"]), told["varigym_version"]) == (SEEDS, data.version)
    assert told["algorithm_name"] == data.facts["teacher"]


def test_a_file_and_a_union_keep_the_endings(steps: tuple[Dataset, list[list[Any]]], folder: Path) -> None:
    data, _ = steps
    save_dataset(folder / "set.npz", data)
    back = load_dataset(folder / "set.npz")
    both = joined(back, data)
    assert both.endings is not None
    assert data.endings is not None
    assert both.endings.terminated.tolist() == data.endings.terminated.tolist() * 2
    assert all((both.endings.parts[name][2:] == part).all() for name, part in data.endings.parts.items())
    assert export_minari(both, ID).total_episodes == 4


def test_episodes_that_are_not_whole_or_not_the_expert_s_are_refused() -> None:
    some = record(task_of(True), SEEDS, most=5)
    followed = record(task_of(True), SEEDS, follow=lambda seen, _: int(np.argmax(seen["action_mask"])))
    whole = record(task_of(True), SEEDS, most=10**6)
    for data in (some, followed, joined(whole, some), whole.rows(np.arange(3))):
        with pytest.raises(InputError, match="no whole episodes"):
            export_minari(data, ID)
    assert export_minari(whole, ID).total_episodes == 2


@pytest.mark.parametrize("name", ["small", "../small-v0", "/small-v0", "a b-v0", "small-v", ""])
def test_names_that_are_none_are_refused(steps: tuple[Dataset, list[list[Any]]], folder: Path, name: str) -> None:
    with pytest.raises(InputError, match="legal: NAMESPACE/NAME-v0"):
        export_minari(steps[0], name)
    assert not list(folder.iterdir())


def test_without_minari_it_is_said_how_to_get_it(
    steps: tuple[Dataset, list[list[Any]]], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("varigym.agents.data.minari_export.NEEDED", ("minari", "no_such_module"))
    with pytest.raises(InputError, match=r"pip install 'varigym\[offline\]'"):
        export_minari(steps[0], ID)


def test_what_is_there_is_left_alone(steps: tuple[Dataset, list[list[Any]]], folder: Path) -> None:
    export_minari(steps[0], ID)
    before = sorted((path, path.stat().st_mtime_ns) for path in folder.rglob("*"))
    with pytest.raises(InputError, match="exists already; choose another name or version"):
        export_minari(steps[0], ID)
    assert sorted((path, path.stat().st_mtime_ns) for path in folder.rglob("*")) == before


def test_what_cannot_be_written_leaves_nothing(
    steps: tuple[Dataset, list[list[Any]]], folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(*given: object) -> None:
        raise OSError("the disk is full")

    with monkeypatch.context() as patch:
        patch.setattr("minari.dataset.minari_storage.MinariStorage.update_metadata", refuse)
        with pytest.raises(InputError, match="cannot be written \\(the disk is full\\)"):
            export_minari(steps[0], ID)
    assert export_minari(steps[0], ID).total_episodes == 2


@pytest.mark.parametrize(
    ("damage", "message"),
    [
        (lambda e: replace(e, terminated=e.terminated[:1]), "terminated is bool"),
        (lambda e: replace(e, parts={}), "endings of other parts"),
        (lambda e: replace(e, parts={n: p[:, :-1] for n, p in e.parts.items()}), "of another size than part"),
        (lambda e: replace(e, parts={n: p * np.float32(np.nan) for n, p in e.parts.items()}), "is not finite"),
    ],
)
def test_endings_that_cannot_be_are_refused(steps: tuple[Dataset, list[list[Any]]], damage: Any, message: str) -> None:
    data, _ = steps
    with pytest.raises(InputError, match=message):
        replace(data, endings=damage(data.endings))
