"""PPO in a folder: weights move, masks hold, seeds repeat, resumed runs end alike, a world of one job is learned."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
import varigym
from learning_tasks import task_of
from varigym.agents.checkpoints.checkpoint import load_checkpoint
from varigym.agents.checkpoints.policies import load_policy
from varigym.agents.checkpoints.torch_weights import network_of
from varigym.agents.cluster.task import ClusterTask
from varigym.agents.data.recording import record
from varigym.agents.recipes import ppo
from varigym.agents.recipes.dagger import run_imitation
from varigym.agents.recipes.expert_units import AgainstExpert
from varigym.agents.recipes.fitting import tensors
from varigym.agents.recipes.options import ImitateOptions, PpoOptions
from varigym.agents.recipes.ppo import Stage, complete_ppo, run_ppo, scaled
from varigym.agents.vec_env import SchedulingVecEnv
from varigym.bench.simulate import simulate
from varigym.envs.cluster.mdp.options import EnvOptions
from varigym.scenarios.errors import InputError
from worlds import SmallJob, small_scenario

SMALL = PpoOptions(steps=64, lanes=2, worlds=2, rollout=8, stage=2, batch=16, epochs=2, width=8)


def same(one: Path, other: Path) -> bool:
    first, second = (load_checkpoint(folder).weights for folder in (one, other))
    return all(np.array_equal(first[name], second[name]) for name in first)


@pytest.fixture(scope="module", params=[True, False], ids=["cluster", "serverless"])
def cluster(request: pytest.FixtureRequest) -> bool:
    return bool(request.param)


@pytest.fixture(scope="module")
def whole(cluster: bool, tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("whole") / "run"
    run_ppo(task_of(cluster), SMALL, folder)
    return folder


@pytest.fixture(scope="module")
def clone(cluster: bool, tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("clone") / "run"
    run_imitation(
        task_of(cluster), ImitateOptions(episodes=2, epochs=1, updates=0, width=8, validation_worlds=2), folder
    )
    return folder


def test_an_interrupted_run_ends_as_one_that_was_not(cluster: bool, whole: Path, tmp_path: Path) -> None:
    def interrupt(stage: Stage) -> None:
        raise KeyboardInterrupt

    folder = tmp_path / "run"
    with pytest.raises(KeyboardInterrupt):
        run_ppo(task_of(cluster), SMALL, folder, report=interrupt)
    assert load_checkpoint(folder).training.notes["stages_done"] == 1
    run_ppo(task_of(cluster), SMALL, folder, resume=True)
    assert same(folder, whole)
    with pytest.raises(InputError, match="holds a finished run"):
        run_ppo(task_of(cluster), SMALL, folder)


def test_a_run_of_a_grid_is_gone_on_with_and_left_alone_when_finished(
    cluster: bool, whole: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[bool] = []

    def run(*given: Any) -> Any:
        asked.append(given[3])
        return load_checkpoint(whole)

    monkeypatch.setattr(ppo, "run_ppo", run)
    finished = complete_ppo(task_of(cluster), SMALL, whole)
    assert finished.identity == load_checkpoint(whole).identity
    assert asked == []
    complete_ppo(task_of(cluster), SMALL, tmp_path / "new")
    assert asked == [False]
    with pytest.raises(InputError, match="with seed = 0, not 1"):
        complete_ppo(task_of(cluster), replace(SMALL, seed=1), whole)


def test_equal_seeds_give_equal_weights_and_others_do_not(cluster: bool, whole: Path, tmp_path: Path) -> None:
    run_ppo(task_of(cluster), SMALL, tmp_path / "again")
    run_ppo(task_of(cluster), replace(SMALL, seed=1), tmp_path / "other")
    assert same(tmp_path / "again", whole)
    assert not same(tmp_path / "other", whole)


def test_it_begins_as_the_clone_moves_and_can_be_held(cluster: bool, clone: Path, tmp_path: Path) -> None:
    init = load_checkpoint(clone)

    def distance(name: str, **options: Any) -> float:
        made = run_ppo(task_of(cluster), replace(SMALL, **options), tmp_path / name, init=init)
        return max(float(np.abs(made.weights[n] - init.weights[n]).max()) for n in init.weights)

    assert distance("still", learning_rate=1e-12) < 1e-6
    assert distance("free", pull=0.0) > 1e-4
    assert load_checkpoint(tmp_path / "free").training.recipe_options["init"] == "imitate"
    other = replace(init, base="las-2d+pal" if cluster else "esg")
    with pytest.raises(InputError, match=r"the checkpoint's base = .*; the environment's is"):
        run_ppo(task_of(cluster), SMALL, tmp_path / "other", init=other)
    assert not (tmp_path / "other").exists()


def test_a_strong_pull_keeps_it_near_the_clone(cluster: bool, clone: Path, tmp_path: Path) -> None:
    """In probabilities, on states of the teacher: the pull acts on what the network does, not on its weights."""
    lesson, init = task_of(cluster), load_checkpoint(clone)
    kind = lesson.kind([0, 1])
    data = record(lesson, [3, 4])
    parts = tensors(data.parts, np.arange(len(data)))
    begun = torch.softmax(network_of(init, kind)(parts), dim=1).detach()

    def moved(name: str, pull: float) -> float:
        options = replace(SMALL, steps=256, learning_rate=1e-2, pull=pull, pull_share=1.0)
        made = run_ppo(lesson, options, tmp_path / name, init=init)
        return float((torch.softmax(network_of(made, kind)(parts), dim=1) - begun).abs().sum(dim=1).mean().detach())

    assert moved("held", 30.0) < 0.5 * moved("free", 0.0)


def test_illegal_actions_are_never_chosen(cluster: bool, whole: Path) -> None:
    """Environments raise at an illegal action; whole episodes under a barely trained network end all the same."""
    lesson = task_of(cluster)
    bank = lesson.env([3, 4]).kind.bank
    _, policy = load_policy(whole)
    assert len(policy.episodes(bank, [3, 4])) == 2


def test_an_episode_of_the_teacher_sums_to_minus_one() -> None:
    """REST at every decision is the base policy, which is the teacher here: fifo never changes its mind."""
    lesson = task_of(True)
    kind = lesson.kind([0, 1])
    units = lesson.units(kind)
    records = [simulate(world, "fifo+pal", 0)[0] for world in kind.bank.scenarios]
    assert units.tolist() == pytest.approx([float(record.jobs.jct_s.sum()) for record in records])
    lanes = AgainstExpert(SchedulingVecEnv(kind, 2), units)
    lanes.seed(0)
    lanes.set_options([{"world": 0}, {"world": 1}])
    lanes.reset()
    rest = lanes.action_space.n - 2
    total, over = np.zeros(2), np.zeros(2, bool)
    while not over.all():
        _, reward, done, _ = lanes.step(np.array([rest, rest]))
        total += np.where(over, 0, reward)
        over |= done
    assert total.tolist() == pytest.approx([-1, -1], rel=1e-5)


def test_small_advantages_are_not_blown_up() -> None:
    large, small = torch.tensor([1.0, 3.0]), torch.tensor([1e-7, 3e-7])
    assert scaled(large, 1e-3).tolist() == pytest.approx([-1, 1])
    assert scaled(small, 1e-3).tolist() == pytest.approx([-1e-4, 1e-4])
    assert scaled(torch.zeros(3), 1e-3).tolist() == [0, 0, 0]


class OneJob:
    name = "one-job"

    def build(self, seed: int) -> Any:
        bins = np.tile(np.array([1.0] * 3 + [1.5] * 6), (2, 1))
        return small_scenario([SmallJob(0, 2, 300, 0)], pm_bin=bins, locality_penalty=(2.0, 2.0))

    def history(self) -> None:
        return None


def test_a_world_of_one_job_is_learned(tmp_path: Path) -> None:
    """One gang of two: fast GPUs in one node beat slow ones and two nodes; its JCT becomes the best there is."""
    expert = varigym.find_policy("fifo+pal")
    lesson = ClusterTask(OneJob(), expert, expert, EnvOptions(window=1, decide_every=0))
    options = PpoOptions(
        steps=4096, lanes=8, worlds=1, rollout=32, stage=4, batch=64, width=16, learning_rate=5e-3, entropy=0.001
    )
    made = run_ppo(lesson, options, tmp_path / "run")
    kind = lesson.kind([0])
    network, lanes = network_of(made, kind), SchedulingVecEnv(kind, options.lanes)
    seen, infos = lanes.reset(), [{}]
    while "metrics" not in infos[0]:
        parts = {name: torch.from_numpy(part).float() for name, part in seen.items()}
        seen, _, _, infos = lanes.step(network(parts).argmax(dim=1).numpy())
    assert infos[0]["metrics"]["mean_jct_s"] == 300.0


def test_a_stage_that_is_not_given_lasts_as_usual_for_the_kind_of_world() -> None:
    options = replace(SMALL, steps=1000, stage=0)
    assert [options.staged(task_of(c).stage).stage for c in (True, False)] == [16, 64]
    assert options.stages == options.staged(16).stages == 4  # of 2 lanes x 8 decisions x 16 updates
    assert SMALL.staged(64) == SMALL


@pytest.mark.parametrize("change", [{"steps": 0}, {"gamma": 1.5}, {"floor": 0.0}, {"pull": -1.0}])
def test_illegal_options_are_refused(change: dict[str, Any]) -> None:
    with pytest.raises(InputError, match=next(iter(change))):
        replace(SMALL, **change)
