"""Data sets: what is recorded, what is kept, what comes back from a file, and what is refused."""

from __future__ import annotations

import io
import json
import zipfile
from collections.abc import Callable
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from learning_tasks import task_of
from varigym.agents.data.dataset import COLUMNS, Dataset, joined
from varigym.agents.data.dataset_file import load_dataset, save_dataset
from varigym.agents.data.recording import record
from varigym.scenarios.errors import InputError


@pytest.fixture(scope="module")
def data() -> Dataset:
    return record(task_of(True), [3, 4])


@pytest.fixture(scope="module")
def file(data: Dataset, tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("data") / "set.npz"
    save_dataset(path, data)
    return path


@pytest.mark.parametrize("cluster", [True, False])
def test_what_is_recorded_is_the_expert_s_episode(cluster: bool) -> None:
    lesson = task_of(cluster)
    found, env = record(lesson, [3, 4]), lesson.env([3, 4])
    steps = [list(lesson.show(env, world, seed)) for world, seed in enumerate([3, 4])]
    flat = [step for episode in steps for step in episode]
    assert found.action.tolist() == [step.action for step in flat]
    assert found.episode.tolist() == [0] * len(steps[0]) + [1] * len(steps[1])
    np.testing.assert_array_equal(found.parts["action_mask"] > 0, np.stack([step.mask for step in flat]))
    np.testing.assert_array_equal(found.score, np.stack([step.score for step in flat]))
    second = found.return_to_go[found.episode == 1]
    assert second[0] == pytest.approx(sum(step.reward for step in steps[1]))
    assert second[-1] == pytest.approx(steps[1][-1].reward)
    assert found.facts["teacher"] == lesson.teacher.name
    assert found.seeds == (3, 4)


def test_a_few_steps_of_every_episode_keep_their_returns(data: Dataset) -> None:
    some = record(task_of(True), [3, 4], most=5)
    assert np.bincount(some.episode).tolist() == [5, 5]
    assert set(some.return_to_go[some.episode == 0]) <= set(data.return_to_go[data.episode == 0])
    assert record(task_of(True), [3, 4], most=5).action.tolist() == some.action.tolist()


def test_where_another_acts_the_expert_still_says_what_it_would_do() -> None:
    """The first legal action is not what the expert takes; its labels are legal all the same."""
    found = record(task_of(True), [3, 4], follow=lambda seen, _: int(np.argmax(seen["action_mask"])))
    mask = found.parts["action_mask"]
    assert (mask[np.arange(len(found)), found.action] == 1).all()
    assert (found.action != mask.argmax(axis=1)).any()


def test_what_is_saved_comes_back(data: Dataset, file: Path) -> None:
    back = load_dataset(file)
    assert all(np.array_equal(getattr(back, name), getattr(data, name)) for name in COLUMNS)
    assert all(np.array_equal(back.parts[name], part) for name, part in data.parts.items())
    assert (back.seeds, dict(back.facts), back.version) == (data.seeds, dict(data.facts), data.version)


def test_two_sets_are_one_after_the_other(data: Dataset) -> None:
    both = joined(data, data)
    assert len(both) == 2 * len(data)
    assert both.episode.max() == 3
    assert both.seeds == (3, 4, 3, 4)
    with pytest.raises(InputError, match="the data are of teacher = 'esg', not 'fifo\\+pal'"):
        joined(data, replace(data, facts={**data.facts, "teacher": "esg"}))


def change(name: str, by: Callable[[Any], Any]) -> Callable[[Dataset], Dataset]:
    return lambda data: replace(data, **{name: by(getattr(data, name))})


@pytest.mark.parametrize(
    ("damage", "message"),
    [
        (change("action", lambda a: a[:-1]), "score is float32 .*legal: float32, 2 axes"),
        (change("action", lambda a: a.astype(np.int32)), r"action is int32 .*legal: int64"),
        (change("action", lambda a: a - 10**6), "an action is not within 0 to"),
        (change("score", lambda s: s[:, :-1]), "scores of another number of actions"),
        (change("score", lambda s: s * np.float32(np.nan)), "score or return_to_go is not finite"),
        (change("return_to_go", lambda r: r + np.inf), "score or return_to_go is not finite"),
        (change("episode", lambda e: e + np.int32(7)), "an episode is not within 0 to 1"),
        (change("seeds", lambda s: ("x", 4)), "seeds = .*legal: whole numbers"),
        (change("parts", lambda p: {**p, "jobs": p["jobs"] * np.float32(np.inf)}), "part jobs is not finite"),
        (change("parts", lambda p: {**p, "action_mask": 1 - p["action_mask"]}), "not legal by its mask"),
        (change("parts", lambda p: {"jobs": p["jobs"]}), "steps without action_mask"),
    ],
)
def test_what_cannot_be_is_refused(data: Dataset, damage: Callable[[Dataset], Dataset], message: str) -> None:
    with np.errstate(invalid="ignore"), pytest.raises(InputError, match=message):
        damage(data)


def rewritten(file: Path, path: Path, **arrays: Any) -> Path:
    with np.load(file) as stored:
        np.savez(path, **{**stored, **arrays})
    return path


def facts(**told: Any) -> Any:
    return np.frombuffer(json.dumps(told).encode(), np.uint8)


@pytest.mark.parametrize(
    ("arrays", "message"),
    [
        ({"facts": facts(format="varigym-dataset-9")}, "format = 'varigym-dataset-9'; this version reads"),
        ({"facts": facts(format="varigym-dataset-1")}, "seeds, classroom or version are missing"),
        ({"facts": np.zeros(3)}, "facts are no text"),
        ({"facts": np.zeros(3, np.uint8)}, "facts: not JSON"),
        ({"facts": np.frombuffer(b"{", np.uint8)}, "not JSON"),
        ({"more": np.zeros(3)}, "legal: action, score, return_to_go"),
        ({"action": np.array([object()])}, "not a data set"),
    ],
)
def test_files_that_are_none_are_refused(file: Path, tmp_path: Path, arrays: dict[str, Any], message: str) -> None:
    with pytest.raises(InputError, match=message) as told:
        load_dataset(rewritten(file, tmp_path / "other.npz", **arrays))
    assert "other.npz" in str(told.value)


def test_a_file_that_claims_to_be_huge_is_not_unpacked(
    file: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("varigym.agents.data.dataset_file.MOST_BYTES", 1000)
    with pytest.raises(InputError, match="bytes of arrays; legal: at most 1,000"):
        load_dataset(file)


@given(where=st.floats(0, 1, exclude_max=True), value=st.integers(0, 255), cut=st.booleans())
def test_a_damaged_file_gives_the_same_data_or_one_error(file: Path, where: float, value: int, cut: bool) -> None:
    stored = bytearray(file.read_bytes())
    at = int(where * len(stored))
    other = file.with_name("damaged.npz")
    stored[at] = value
    other.write_bytes(stored[:at] if cut else stored)
    with suppress(InputError):
        load_dataset(other)


def test_nothing_is_run(tmp_path: Path) -> None:
    path = tmp_path / "evil.npz"
    evil = io.BytesIO()
    np.save(evil, np.array([object()]), allow_pickle=True)
    with zipfile.ZipFile(path, "w") as made:
        made.writestr("facts.npy", evil.getvalue())
    with pytest.raises(InputError, match="not a data set"):
        load_dataset(path)
    with pytest.raises(InputError, match="no such file"):
        load_dataset(tmp_path / "none.npz")
    np.savez(tmp_path / "other.npz", a=np.zeros(3))
    with pytest.raises(InputError, match=r"other.npz: not a data set: no array 'facts'"):
        load_dataset(tmp_path / "other.npz")
