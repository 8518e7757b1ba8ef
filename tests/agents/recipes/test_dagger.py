"""Imitation in a folder: it learns, obeys masks, and an interrupted run ends as one that was not; DAgger by hand."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from learning_tasks import task_of
from varigym.agents.checkpoints.checkpoint import load_checkpoint
from varigym.agents.checkpoints.policies import load_policy
from varigym.agents.data.dataset_file import load_dataset
from varigym.agents.data.recording import record
from varigym.agents.recipes import dagger
from varigym.agents.recipes.dagger import DATA, Epoch, complete_imitation, run_imitation
from varigym.agents.recipes.fitting import loss_of, soft_targets
from varigym.agents.recipes.options import ImitateOptions
from varigym.scenarios.errors import InputError

SMALL = ImitateOptions(episodes=2, epochs=2, updates=0, dagger=1, batch=32, width=8, validation_worlds=2)


def same(one: Path, other: Path) -> bool:
    first, second = (load_checkpoint(folder).weights for folder in (one, other))
    return all(np.array_equal(first[name], second[name]) for name in first)


@pytest.fixture(scope="module", params=[True, False], ids=["cluster", "serverless"])
def cluster(request: pytest.FixtureRequest) -> bool:
    return bool(request.param)


@pytest.fixture(scope="module")
def whole(cluster: bool, tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("whole") / "run"
    run_imitation(task_of(cluster), SMALL, folder)
    return folder


@pytest.mark.parametrize("stop", [1, 2, 3])
def test_an_interrupted_run_ends_as_one_that_was_not(cluster: bool, whole: Path, tmp_path: Path, stop: int) -> None:
    def interrupt(epoch: Epoch) -> None:
        if epoch.number == stop:
            raise KeyboardInterrupt

    folder = tmp_path / "run"
    with pytest.raises(KeyboardInterrupt):
        run_imitation(task_of(cluster), SMALL, folder, report=interrupt)
    assert load_checkpoint(folder).training.notes["epochs_done"] == stop
    with pytest.raises(InputError, match=f"{stop} of 4 steps done; go on with --resume"):
        run_imitation(task_of(cluster), SMALL, folder)
    complete_imitation(task_of(cluster), SMALL, folder)
    assert same(folder, whole)
    assert complete_imitation(task_of(cluster), SMALL, folder).identity == load_checkpoint(whole).identity
    assert (folder / "config.json").read_bytes() == (whole / "config.json").read_bytes()


def test_an_interrupt_while_recording_loses_nothing(
    cluster: bool, whole: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    calls: list[int] = []

    def stopped(*given: Any, **more: Any) -> Any:
        calls.append(1)
        if len(calls) == 3:  # the teacher's episodes, the validation worlds, then the first round of DAgger
            raise KeyboardInterrupt
        return record(*given, **more)

    with monkeypatch.context() as patch:
        patch.setattr(dagger, "record", stopped)
        with pytest.raises(KeyboardInterrupt):
            run_imitation(task_of(cluster), SMALL, tmp_path / "run")
    run_imitation(task_of(cluster), SMALL, tmp_path / "run", resume=True)
    assert same(tmp_path / "run", whole)


def test_the_folder_is_a_policy_and_holds_its_data(cluster: bool, whole: Path) -> None:
    world, policy = load_policy(whole)
    assert world == ("cluster" if cluster else "serverless")
    data = load_dataset(whole / DATA)
    assert len(data.seeds) == 4
    lesson = task_of(cluster)
    first = policy.episodes(lesson.env([3, 4]).kind.bank, [3, 4])
    assert len(first) == 2
    with pytest.raises(InputError, match="holds a finished run"):
        run_imitation(lesson, SMALL, whole, resume=True)


def test_the_learner_s_own_states_are_labelled_in_later_rounds(cluster: bool, whole: Path) -> None:
    """The second half of the data is of episodes in which the learner acted, on other seeds."""
    data = load_dataset(whole / DATA)
    lots = [np.random.default_rng([SMALL.seed, number]) for number in (0, 1)]
    assert data.seeds == tuple(int(s) for each in lots for s in each.integers(0, 99_999, 2, endpoint=True))
    assert set(data.episode.tolist()) == {0, 1, 2, 3}


def test_data_that_are_given_take_the_place_of_the_first_episodes(cluster: bool, tmp_path: Path) -> None:
    options = replace(SMALL, dagger=0, epochs=1)
    data = record(task_of(cluster), [1, 2])
    run_imitation(task_of(cluster), options, tmp_path / "run", data=data)
    assert load_dataset(tmp_path / "run" / DATA).seeds == (1, 2)
    with pytest.raises(InputError, match=r"the data are of base = .*, not"):
        run_imitation(task_of(not cluster), options, tmp_path / "other", data=data)
    assert not (tmp_path / "other").exists()  # so that the same command with the right data works


def test_whole_episodes_that_most_would_cut_are_refused_before_anything_is_learned(
    cluster: bool, tmp_path: Path
) -> None:
    short, folder = replace(SMALL, dagger=0, epochs=1, most=3), tmp_path / "run"
    with pytest.raises(InputError, match=r"has \d+ steps, of which 3 are kept \(--most\); legal .*: \d+ or more"):
        run_imitation(task_of(cluster), short, folder, whole=True)
    assert not folder.exists()
    run_imitation(task_of(cluster), replace(short, most=5000), folder, whole=True)
    assert load_dataset(folder / DATA).endings is not None


def test_whole_episodes_are_asked_of_a_run_that_goes_on(tmp_path: Path) -> None:
    short, folder = replace(SMALL, dagger=0, most=3), tmp_path / "run"

    def interrupt(epoch: Epoch) -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        run_imitation(task_of(True), short, folder, report=interrupt)
    with pytest.raises(InputError, match="the data hold no whole episodes"):
        run_imitation(task_of(True), short, folder, resume=True, whole=True)
    assert load_checkpoint(folder).training.notes["epochs_done"] == 1  # left as it was


def test_a_clone_of_many_epochs_takes_its_teacher_s_actions(tmp_path: Path) -> None:
    seen: list[Epoch] = []
    options = replace(SMALL, epochs=60, dagger=0, width=32, batch=16)
    data = record(task_of(True), [0, 1])  # the two validation worlds have the same jobs
    run_imitation(task_of(True), options, tmp_path / "hard", data=data, report=seen.append)
    assert seen[-1].agreement > 0.9 > seen[0].agreement
    assert seen[-1].entropy < seen[0].entropy
    run_imitation(task_of(True), replace(options, soft=0.05), tmp_path / "soft", data=data, report=seen.append)
    assert seen[-1].agreement > 0.75


@pytest.mark.parametrize(("steps", "batch"), [(10_000, 32), (800, 16), (100, 8)])
def test_few_data_are_learned_from_in_smaller_batches(steps: int, batch: int) -> None:
    """100 gradient steps in 2 epochs are 50 batches of the data each; of 8 states at least, of 32 at most."""
    assert dagger._fit_options(replace(SMALL, updates=100), 1, steps).batch == batch


def test_soft_targets_by_hand() -> None:
    score = np.array([[0.0, np.log(3.0), -np.inf, 9.0], [0.0, 1.0, -np.inf, 2.0]], np.float32)
    legal = np.array([[True, True, True, False], [True, True, True, True]])
    found = soft_targets(score, np.array([1, 2]), legal, 1.0)
    assert found[0].tolist() == pytest.approx([0.25, 0.75, 0.0, 0.0])
    assert found[1].tolist() == [0, 0, 1, 0]  # it took what it had no score for
    sharper = soft_targets(score, np.array([0, 0]), legal, 0.5)
    assert sharper[0].tolist() == pytest.approx([0.5, 0.5, 0.0, 0.0])  # what it took is among the best


def test_probabilities_of_one_action_cost_what_the_action_costs() -> None:
    logits = torch.tensor([[1.0, 2.0, -torch.inf], [0.5, 0.0, 3.0]])
    action = torch.tensor([1, 2])
    target = torch.nn.functional.one_hot(action, 3).float()
    assert float(loss_of(logits, target)) == pytest.approx(float(loss_of(logits, action)))


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"episodes": 0}, "episodes"),
        ({"soft": -1.0}, "soft"),
        ({"dagger": -1}, "dagger"),
        ({"updates": -1}, "updates"),
        ({"width": 1}, "width"),
    ],
)
def test_illegal_options_are_refused(change: dict[str, Any], message: str) -> None:
    with pytest.raises(InputError, match=message):
        replace(SMALL, **change)
