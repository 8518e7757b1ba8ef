"""Proximal policy optimisation with masks as a run in a folder, from nothing or from a clone of an expert.

What it adds to sb3-contrib's MaskablePPO: rewards in units of the expert's (see `against_expert`); a pull toward the
policy that it began with, whose weight falls to 0 (as in Vinyals et al. 2019); advantages that are scaled down to unit
spread but never blown up beyond `1 / floor`, because near a good policy all of them are close to 0 and hardly more
than noise. The run is a sequence of stages with lots of their own, so that one that is resumed ends as one that was
never interrupted; what is lost is the stage under way.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from time import perf_counter
from typing import Any

import numpy as np
import torch
from sb3_contrib import MaskablePPO
from stable_baselines3.common.logger import configure
from stable_baselines3.common.utils import set_random_seed
from torch import Tensor, nn

from ...scenarios.errors import InputError
from ...scenarios.seeds import TRAIN
from ..checkpoints.checkpoint import Checkpoint, Training
from ..checkpoints.policies import scorer_checkpoint
from ..checkpoints.torch_weights import load_weights, network_of
from ..networks.jax_networks import arrays_of
from ..runs.folder import RunFolder, Saved
from ..task import LearningTask
from ..vec_env import SchedulingVecEnv
from .actor_critic import ActorCritic, actor_kwargs, as_floats
from .expert_units import AgainstExpert
from .fitting import learned, relearn
from .options import PpoOptions
from .time_baseline import TimeBaseline

RECIPE = "ppo"
LAST_RATE = 0.1
"""Share of the learning rate that is left at the end."""
VALUE = 0.5
"""Weight of the critic's loss."""
STREAM = 10_000
"""Lots of a stage: seed x this + stage."""


@dataclass(frozen=True)
class Stage:
    """What a stage came to."""

    number: int
    """Stages so far."""
    reward: float
    """Mean reward per decision, in units of the expert's."""
    pull: float
    """Weight of the pull."""
    steps_per_s: float


class PulledPPO(MaskablePPO):
    """MaskablePPO with a pull toward `teacher`, and advantages that keep their size where all are small."""

    teacher: nn.Module | None = None
    options = PpoOptions()
    pull = 0.0

    @property
    def share(self) -> float:
        """Of the run that is done."""
        return self.num_timesteps / (self.options.stages * self.options.stage_steps)

    def train(self) -> None:
        """Update the policy from the rollout."""
        self.policy.set_training_mode(True)
        self.pull = self.options.pull * max(0.0, 1 - self.share / max(self.options.pull_share, 1e-9))
        self._update_learning_rate(self.policy.optimizer)
        whole: Any = next(self.rollout_buffer.get())  # all rows, shuffled
        rollout, wanted = whole._replace(action_masks=whole.observations["action_mask"]), self._wanted(whole)
        losses: dict[str, list[float]] = {"policy": [], "value": [], "entropy": [], "pull": []}
        for _ in range(self.n_epochs):
            for at in torch.randperm(len(rollout.returns)).split(self.batch_size):
                parts = self._losses(_rows(rollout, at), None if wanted is None else wanted[at])
                self._descend(parts)
                for name, value in parts.items():
                    losses[name].append(float(value.detach()))
        self._n_updates += self.n_epochs
        for name, values in losses.items():
            self.logger.record(f"ppo/{name}", float(np.mean(values)))
        self.logger.record("ppo/pull_weight", self.pull)
        self.logger.record("ppo/advantage_sd", float(np.std(self.rollout_buffer.advantages)))

    def _descend(self, parts: dict[str, Tensor]) -> None:
        """A gradient step."""
        loss = parts["policy"] + VALUE * parts["value"] - self.ent_coef * parts["entropy"] + self.pull * parts["pull"]
        self.policy.optimizer.zero_grad()
        loss.backward()
        nn.utils.clip_grad_norm_(self.policy.parameters(), self.max_grad_norm)
        self.policy.optimizer.step()

    def _losses(self, rows: Any, wanted: Tensor | None) -> dict[str, Tensor]:
        """Of a batch of decisions; `wanted` [B, A] are the teacher's probabilities."""
        assert isinstance(self.policy, ActorCritic)
        chances, values = self.policy.judge(rows.observations)
        held = chances.masked_fill(rows.action_masks == 0, 0.0)  # 0 x -inf is none of our losses
        ratio = torch.exp(chances.gather(1, rows.actions.long()).flatten() - rows.old_log_prob)
        advantage, clip = scaled(rows.advantages, self.options.floor), self.clip_range(1.0)  # type: ignore[operator]
        gain = torch.min(advantage * ratio, advantage * ratio.clamp(1 - clip, 1 + clip))
        return {
            "policy": -gain.mean(),
            "value": nn.functional.mse_loss(values, rows.returns),
            "entropy": -(chances.exp() * held).sum(dim=1).mean(),
            "pull": values.new_zeros(()) if wanted is None else -(wanted * held).sum(dim=1).mean(),
        }

    def _wanted(self, rows: Any) -> Tensor | None:
        """The teacher's probabilities [T, A], looked up once for all epochs; None where nothing pulls."""
        if self.teacher is None or self.pull == 0:
            return None
        parts = as_floats(rows.observations)
        with torch.no_grad():
            scores = [
                self.teacher({name: part[at] for name, part in parts.items()})
                for at in torch.arange(len(rows.returns)).split(self.batch_size)
            ]
            return torch.softmax(torch.cat(scores), dim=1)


def _rows(rollout: Any, at: Tensor) -> Any:
    """Some decisions of a rollout."""
    parts = {name: part[at] for name, part in rollout.observations.items()}
    return type(rollout)(parts, *(column[at] for column in rollout[1:]))


def scaled(advantages: Tensor, floor: float) -> Tensor:
    """Advantages [B] around 0, over their standard deviation or `floor`, whichever is larger."""
    centred = advantages - advantages.mean()
    return centred / centred.square().mean().sqrt().clamp(min=floor)


def run_ppo(
    task: LearningTask,
    options: PpoOptions,
    out: Path,
    resume: bool = False,
    init: Checkpoint | None = None,
    report: Callable[[Stage], None] = lambda stage: None,
) -> Checkpoint:
    """Learn in folder `out`, which holds a policy at any time; with `resume` an interrupted run goes on.

    With `init` the actor begins as that checkpoint, in an environment of its options. Raises `InputError`.
    """
    options = options.staged(task.stage)
    folder = _folder(task, options, out, init)
    with folder.opened(resume) as saved:
        return _learn(task, options, folder, saved, init, report)


def _learn(
    task: LearningTask,
    options: PpoOptions,
    folder: RunFolder,
    saved: Saved | None,
    init: Checkpoint | None,
    report: Callable[[Stage], None],
) -> Checkpoint:
    """The stages that are left."""
    kind = task.kind(range(TRAIN.first, TRAIN.first + options.worlds))
    model = _model(task, kind, options)
    if init:
        _begin_as(model, kind, init)
    if saved:
        relearn(model.policy, model.policy.optimizer, saved.arrays)
        model.num_timesteps = saved.done * options.stage_steps
        _recall_pace(model, saved.facts)
    model.set_logger(configure(str(folder.logs), ["tensorboard"]))
    made: Checkpoint | None = None
    for number in range(saved.done if saved else 0, options.stages):
        stage = _run_stage(model, options, number)
        made = scorer_checkpoint(kind, arrays_of(_actor(model)), _training(task, options, init, stage))
        arrays = learned(model.policy, model.policy.optimizer)
        folder.save(Saved(stage.number, options.stages, arrays, _pace(model)), made)
        report(stage)
    if made is None:
        raise InputError(f"{folder.path}: no stage is left to run")
    return made


def complete_ppo(task: LearningTask, options: PpoOptions, out: Path, init: Checkpoint | None = None) -> Checkpoint:
    """`run_ppo`, or what it came to where it is finished already (`RunFolder.complete`)."""
    folder = _folder(task, options.staged(task.stage), out, init)
    return folder.complete(lambda resume: run_ppo(task, options, out, resume, init))


def _folder(task: LearningTask, options: PpoOptions, out: Path, init: Checkpoint | None) -> RunFolder:
    begun = {"init": init.identity if init else ""}
    return RunFolder(out, {"recipe": RECIPE, **task.facts, **begun, **asdict(options)})


def _model(task: LearningTask, kind: Any, options: PpoOptions) -> PulledPPO:
    torch.set_num_threads(1)
    lanes = AgainstExpert(SchedulingVecEnv(kind, options.lanes), task.units(kind))
    model = PulledPPO(
        ActorCritic,
        task.paced(lanes),
        learning_rate=options.learning_rate,
        n_steps=options.rollout,
        batch_size=min(options.batch, options.rollout * options.lanes),
        n_epochs=options.epochs,
        gamma=options.gamma,
        gae_lambda=options.gae_lambda,
        clip_range=options.clip,
        ent_coef=options.entropy,
        policy_kwargs=actor_kwargs(kind.process, options.width),
        seed=options.seed,
    )
    model.options = options
    model.lr_schedule = lambda _: options.learning_rate * (1 - (1 - LAST_RATE) * model.share)
    return model


def _pace(model: PulledPPO) -> dict[str, float]:
    """What `TimeBaseline` knows; nothing in a cluster, whose episodes do not last equally long."""
    lanes = model.get_env()
    return {"reward": lanes.reward, "seconds": lanes.seconds} if isinstance(lanes, TimeBaseline) else {}


def _recall_pace(model: PulledPPO, facts: Mapping[str, Any]) -> None:
    """Put back what `_pace` gave."""
    lanes = model.get_env()
    if isinstance(lanes, TimeBaseline):
        lanes.reward, lanes.seconds = float(facts["reward"]), float(facts["seconds"])


def _begin_as(model: PulledPPO, kind: Any, init: Checkpoint) -> None:
    """The actor is a copy of the checkpoint, which stays as the teacher. Raises `InputError` where it does not fit."""
    model.teacher = network_of(init, kind).eval()
    load_weights(_actor(model), init)


def _actor(model: PulledPPO) -> nn.Module:
    """The network that a checkpoint holds."""
    assert isinstance(model.policy, ActorCritic)
    return model.policy.scorer


def _run_stage(model: PulledPPO, options: PpoOptions, number: int) -> Stage:
    """New episodes, lots of its own, then updates as usual."""
    set_random_seed(options.seed * STREAM + number)
    lanes = model.get_env()
    assert lanes is not None
    lanes.seed((options.seed * STREAM + number) * options.lanes)
    model._last_obs = None
    clock = perf_counter()
    model.learn(options.stage_steps, reset_num_timesteps=False)
    spent = perf_counter() - clock
    reward = float(np.mean(model.rollout_buffer.rewards))
    return Stage(number + 1, reward, model.pull if model.teacher else 0.0, options.stage_steps / spent)


def _training(task: LearningTask, options: PpoOptions, init: Checkpoint | None, stage: Stage) -> Training:
    asked = {**asdict(options), "init": init.training.recipe if init else ""}
    notes = {"stages_done": stage.number, "steps": stage.number * options.stage_steps, "reward": stage.reward}
    return Training(RECIPE, asked, (task.source.name,), (options.seed,), task.teacher.name, notes)
