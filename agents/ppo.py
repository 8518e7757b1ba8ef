"""Proximal policy optimisation with masks as a run in a folder, from nothing or from a clone of an expert.

What it adds to sb3-contrib's MaskablePPO: rewards in units of the expert's (see `against_expert`); a pull toward the
policy that it began with, whose weight falls to 0 (as in Vinyals et al. 2019); advantages that are scaled down to unit
spread but never blown up beyond `1 / floor`, because near a good policy all of them are close to 0 and hardly more
than noise. The run is a sequence of stages with lots of their own, so that one that is resumed ends as one that was
never interrupted; what is lost is the stage under way.
"""

from __future__ import annotations

from collections.abc import Callable
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

from ..scenarios.catalog import TRAIN
from ..scenarios.errors import InputError
from .actor_critic import ActorCritic, actor_kwargs
from .against_expert import AgainstExpert, units_of
from .checkpoint import Checkpoint, Training
from .classroom import Classroom
from .fitting import learned, relearn
from .jax_networks import arrays_of
from .recipes import PpoOptions
from .run_folder import RunFolder, Saved
from .torch_weights import load_weights, network_of
from .trained import scorer_checkpoint
from .vec_env import SchedulingVecEnv

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
    pull = 0.0
    floor = 1e-3

    def train(self) -> None:
        """Update the policy from the rollout."""
        self.policy.set_training_mode(True)
        self._update_learning_rate(self.policy.optimizer)
        losses: dict[str, list[float]] = {"policy": [], "value": [], "entropy": [], "pull": []}
        for _ in range(self.n_epochs):
            for rows in self.rollout_buffer.get(self.batch_size):
                parts = self._losses(rows)
                loss = parts["policy"] + VALUE * parts["value"] - self.ent_coef * parts["entropy"]
                loss = loss + self.pull * parts["pull"]
                self.policy.optimizer.zero_grad()
                loss.backward()
                nn.utils.clip_grad_norm_(self.policy.parameters(), self.max_grad_norm)
                self.policy.optimizer.step()
                for name, value in parts.items():
                    losses[name].append(float(value.detach()))
        self._n_updates += self.n_epochs
        for name, values in losses.items():
            self.logger.record(f"ppo/{name}", float(np.mean(values)))
        self.logger.record("ppo/pull_weight", self.pull)
        self.logger.record("ppo/advantage_sd", float(np.std(self.rollout_buffer.advantages)))

    def _losses(self, rows: Any) -> dict[str, Tensor]:
        """Of a batch of decisions."""
        masks, policy = rows.action_masks.bool(), self.policy
        latent, seen = policy.mlp_extractor(policy.extract_features(rows.observations))
        actions: Any = policy._get_action_dist_from_latent(latent)
        actions.apply_masking(masks)
        ratio = torch.exp(actions.log_prob(rows.actions.long().flatten()) - rows.old_log_prob)
        advantage, clip = scaled(rows.advantages, self.floor), self.clip_range(1.0)  # type: ignore[operator]
        gain = torch.min(advantage * ratio, advantage * ratio.clamp(1 - clip, 1 + clip))
        return {
            "policy": -gain.mean(),
            "value": nn.functional.mse_loss(policy.value_net(seen).flatten(), rows.returns),
            "entropy": actions.entropy().mean(),
            "pull": self._distance(rows.observations, actions.distribution.logits, masks),
        }

    def _distance(self, parts: dict[str, Tensor], logits: Tensor, masks: Tensor) -> Tensor:
        """Cross-entropy of the policy to the teacher's probabilities."""
        if self.teacher is None or self.pull == 0:
            return logits.new_zeros(())
        with torch.no_grad():
            wanted = torch.softmax(self.teacher(parts), dim=1)
        return -(wanted * logits.masked_fill(~masks, 0.0)).sum(dim=1).mean()


def scaled(advantages: Tensor, floor: float) -> Tensor:
    """Advantages [B] around 0, over their standard deviation or `floor`, whichever is larger."""
    centred = advantages - advantages.mean()
    return centred / centred.square().mean().sqrt().clamp(min=floor)


def run_ppo(
    room: Classroom,
    options: PpoOptions,
    out: Path,
    resume: bool = False,
    init: Checkpoint | None = None,
    report: Callable[[Stage], None] = lambda stage: None,
) -> Checkpoint:
    """Learn in folder `out`, which holds a policy at any time; with `resume` an interrupted run goes on.

    With `init` the actor begins as that checkpoint, in an environment of its options. Raises `InputError`.
    """
    begun = {"init": init.identity if init else ""}
    folder = RunFolder(out, {"recipe": RECIPE, **room.facts, **begun, **asdict(options)})
    saved = folder.open(resume)
    kind = room.kind(range(TRAIN.first, TRAIN.first + options.worlds))
    model = _model(room, kind, options)
    if init:
        _begin_as(model, kind, init)
    if saved:
        relearn(model.policy, model.policy.optimizer, saved.arrays)
        model.num_timesteps = saved.done * options.stage_steps
    model.set_logger(configure(str(folder.logs), ["tensorboard"]))
    made: Checkpoint | None = None
    for number in range(saved.done if saved else 0, options.stages):
        stage = _run_stage(model, options, number)
        made = scorer_checkpoint(kind, arrays_of(_actor(model)), _training(room, options, stage))
        arrays = learned(model.policy, model.policy.optimizer)
        folder.save(Saved(stage.number, options.stages, arrays, {}), made)
        report(stage)
    if made is None:
        raise InputError(f"{out}: no stage is left to run")
    return made


def _model(room: Classroom, kind: Any, options: PpoOptions) -> PulledPPO:
    torch.set_num_threads(1)
    lanes = AgainstExpert(SchedulingVecEnv(kind, options.lanes), units_of(room, kind))
    return PulledPPO(
        ActorCritic,
        lanes,
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
    share = number / options.stages
    set_random_seed(options.seed * STREAM + number)
    lanes = model.get_env()
    assert lanes is not None
    lanes.seed((options.seed * STREAM + number) * options.lanes)
    model._last_obs = None
    rate = options.learning_rate * (1 - (1 - LAST_RATE) * share)
    model.lr_schedule = lambda _: rate
    model.floor, model.pull = options.floor, options.pull * max(0.0, 1 - share / max(options.pull_share, 1e-9))
    clock = perf_counter()
    model.learn(options.stage_steps, reset_num_timesteps=False)
    spent = perf_counter() - clock
    reward = float(np.mean(model.rollout_buffer.rewards))
    return Stage(number + 1, reward, model.pull if model.teacher else 0.0, options.stage_steps / spent)


def _training(room: Classroom, options: PpoOptions, stage: Stage) -> Training:
    notes = {"stages_done": stage.number, "steps": stage.number * options.stage_steps, "reward": stage.reward}
    return Training(RECIPE, asdict(options), (room.source.name,), (options.seed,), room.teacher.name, notes)
