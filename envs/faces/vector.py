"""Many episodes at once, natively batched, behind Gymnasium's vector interface: one device call per step.

Lane i behaves like a `SchedulingEnv` that was seeded with `seed + i`: it has the same worlds, observations and rewards.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import cached_property
from typing import Any, Generic

import gymnasium
import numpy as np
from gymnasium import spaces
from gymnasium.utils import seeding
from gymnasium.vector import AutoresetMode
from gymnasium.vector.utils import batch_space
from numpy.typing import NDArray

from ...scenarios.checks import as_member, as_whole, check_whole
from ...scenarios.errors import InputError
from ..lanes.batch import Batch
from ..lanes.parallel import Lanes
from ..lanes.programs import EXTRA, ILLEGAL, OVERFLOW, REWARD, TERMINATED, TIME_S, TRUNCATED
from ..lanes.snapshots import fingerprint, generator, refuse_foreign, refuse_unlike
from ..options import IllegalAction
from .gym import K
from .inputs import lane_actions, lane_seeds, lane_worlds, lanes_of
from .spaces import (
    ILLEGAL_ACTIONS,
    Observation,
    draw_world,
    observation_space,
    observe,
    refuse_illegal,
    reported,
    reset_options,
    warn_of_illegal,
)

MOST_LANES = 65_536


class SchedulingVectorEnv(gymnasium.vector.VectorEnv[Observation, NDArray[np.int64], NDArray[Any]], Generic[K]):
    """B episodes; `metadata["autoreset_mode"]` determines what happens when one ends.

    NEXT_STEP: the step after the end ignores the lane's action and resets it (reward 0). SAME_STEP: the lane is reset
    at once; the last observation and info are in `info["final_obs"]` and `info["final_info"]`. DISABLED: the caller
    resets lanes, with `options={"reset_mask": mask}`.
    """

    def __init__(
        self,
        kind: K,
        num_envs: int,
        autoreset_mode: AutoresetMode | str = AutoresetMode.NEXT_STEP,
        max_episode_steps: int | None = None,
    ) -> None:
        """Set up `num_envs` lanes on the worlds of `kind`; episodes are truncated after `max_episode_steps`."""
        num_envs = as_whole("num_envs", num_envs, 1, MOST_LANES)
        self.kind, self.num_envs = kind, num_envs
        self.autoreset_mode = as_member("autoreset_mode", autoreset_mode, AutoresetMode)
        self.metadata = {"autoreset_mode": self.autoreset_mode}
        self.max_episode_steps = max_episode_steps
        if max_episode_steps is not None:
            self.max_episode_steps = as_whole("max_episode_steps", max_episode_steps, 1)
        self._lanes = Lanes(kind.process, kind.bank.worlds, kind.data, num_envs)
        self.single_action_space = spaces.Discrete(kind.process.actions)
        self.single_observation_space = observation_space(kind.process)
        self.action_space = batch_space(self.single_action_space, num_envs)
        self.observation_space = batch_space(self.single_observation_space, num_envs)
        self.reward_scale = kind.reward_scale
        self._mask = np.zeros((num_envs, kind.process.actions), bool)
        self._world = np.zeros(num_envs, np.int32)
        self._over = np.ones(num_envs, bool)
        self._begun = np.zeros(num_envs, bool)
        self._steps, self._illegal = np.zeros(num_envs, np.int64), np.zeros(num_envs, np.int64)
        self._warned = kind.options.illegal_action is not IllegalAction.NOOP
        self._lots = [np.random.default_rng() for _ in range(num_envs)]

    def reset(
        self, *, seed: int | Sequence[int | None] | None = None, options: dict[str, Any] | None = None
    ) -> tuple[Observation, dict[str, Any]]:
        """Start episodes in all lanes, or in those of `options={"reset_mask": mask}`.

        `options={"worlds": [i, ...]}` selects a world of the bank per lane (None: a random draw), and `{"world": i}`
        selects one for all lanes.
        """
        given = reset_options(options, "world", "worlds", "reset_mask")
        which, seeds = lanes_of(given.get("reset_mask"), self.num_envs), lane_seeds(seed, self.num_envs)
        asked = lane_worlds(given, self.num_envs, len(self.kind.bank))
        for lane in np.flatnonzero(which).tolist():
            if seeds[lane] is not None:
                self._lots[lane] = seeding.np_random(seeds[lane])[0]
        batch = self._begin(which, asked)
        return self._observe(batch), self._info(batch, which)

    def step(
        self, actions: NDArray[Any]
    ) -> tuple[Observation, NDArray[Any], NDArray[np.bool_], NDArray[np.bool_], dict[str, Any]]:
        """Take one action per lane [B]. Raises `InputError` for an illegal action if `illegal_action` is `error`."""
        numbers = lane_actions(actions, self.num_envs)
        due = self._refuse_to_step()
        if self.kind.options.illegal_action is IllegalAction.ERROR:
            self._refuse_illegal(numbers, ~due)
        batch = self._lanes.step(np.where(due, 0, numbers), ~due)
        self._refuse_overflow(batch)
        self._mask = batch.mask
        terminated, truncated = batch.result[:, TERMINATED] > 0, self._is_out_of_time(batch, ~due)
        reward = batch.result[:, REWARD] / self.reward_scale - self._fines(batch)
        self._over = terminated | truncated
        ended = self._over.copy()
        last = {"metrics": self._metrics(ended), "_metrics": ended} if ended.any() else {}
        if due.any():
            batch = self._begin(due, before=batch)
        if ended.any() and self.autoreset_mode is AutoresetMode.SAME_STEP:
            last = self._final(batch, ended, last)
            batch = self._begin(ended, before=batch)
        info = self._info(batch) | last
        return self._observe(batch), reward, terminated, truncated, info

    def action_masks(self) -> NDArray[np.bool_]:
        """Return the mask of legal actions [B, n]."""
        return self._mask.copy()

    def describe(self, action: int) -> str:
        """Describe an action in words."""
        return self.kind.describe(as_whole("action", action, 0, self.kind.process.actions - 1))

    def get_state(self) -> dict[str, Any]:
        """Return all that determines how the episodes continue and later resets, for `set_state` of an equal batch."""
        return {
            "of": self._of,
            "lanes": self._lanes.snapshot(),
            "world": self._world.copy(),
            "over": self._over.copy(),
            "begun": self._begun.copy(),
            "steps": self._steps.copy(),
            "illegal": self._illegal.copy(),
            "random": [lots.bit_generator.state for lots in self._lots],
        }

    def set_state(self, state: dict[str, Any]) -> None:
        """Continue from a state of `get_state`. Raises `InputError`, and changes nothing, if its kind differs."""
        refuse_foreign(state, self._of)
        refuse_unlike(state, self.get_state())
        for lane, world in enumerate(state["world"]):
            check_whole(f"state['world'][{lane}]", world, 0, len(self.kind.bank) - 1)
        self._lots = [generator(lots, f"state['random'][{lane}]") for lane, lots in enumerate(state["random"])]
        self._lanes.restore(state["lanes"])
        self._mask, self._world = self._lanes.mask, state["world"].copy()
        self._steps, self._illegal = state["steps"].copy(), state["illegal"].copy()
        self._begun, self._over = state["begun"].copy(), state["over"] | ~state["begun"]

    def __getstate__(self) -> dict[str, Any]:
        held = {name: getattr(self, name) for name in ("spec", "action_space", "observation_space")}
        names = ("kind", "num_envs", "autoreset_mode", "max_episode_steps")
        made = {name: getattr(self, name) for name in names}
        return {"made": made, "state": self.get_state(), "held": held}

    def __setstate__(self, stored: dict[str, Any]) -> None:
        SchedulingVectorEnv.__init__(self, **stored["made"])
        self.set_state(stored["state"])
        for name, value in stored["held"].items():
            setattr(self, name, value)

    @cached_property
    def _of(self) -> str:
        return f"{self.num_envs} lanes of {fingerprint(self.kind)}"

    def _refuse_to_step(self) -> NDArray[np.bool_]:
        """Return the lanes [B] that the step resets. Raises `InputError` if the caller must reset a lane first."""
        if not self._begun.all():
            raise InputError(f"lane {int(np.argmin(self._begun))} has not begun an episode; call reset first")
        if self._over.any() and self.autoreset_mode is not AutoresetMode.NEXT_STEP:
            raise InputError(f"lane {int(np.argmax(self._over))} is at the end of its episode; reset it first")
        return self._over.copy()

    def _refuse_illegal(self, numbers: NDArray[np.int32], active: NDArray[np.bool_]) -> None:
        known = (numbers >= 0) & (numbers < self._mask.shape[1])
        legal = known & self._mask[np.arange(self.num_envs), np.where(known, numbers, 0)]
        if not (legal | ~active).all():
            lane = int(np.argmin(legal | ~active))
            refuse_illegal(self.kind, int(numbers[lane]), self._mask[lane], f"lane {lane}: ")

    def _is_out_of_time(self, batch: Batch, active: NDArray[np.bool_]) -> NDArray[np.bool_]:
        """Count a step of the active lanes; return the lanes [B] whose episode it truncates."""
        self._steps += active
        over = batch.result[:, TRUNCATED] > 0
        return over if self.max_episode_steps is None else over | (active & (self._steps >= self.max_episode_steps))

    def _fines(self, batch: Batch) -> NDArray[np.float64]:
        """Count illegal actions and return their penalties [B]."""
        illegal = batch.result[:, ILLEGAL] > 0
        self._illegal += illegal
        if illegal.any() and not self._warned:
            self._warned = True
            warn_of_illegal(self.kind, f"lane {int(np.argmax(illegal))}: ")
        penalty = self.kind.options.illegal_action is IllegalAction.PENALTY
        return np.where(illegal, self.kind.options.illegal_penalty if penalty else 0.0, 0.0)

    def _begin(self, which: NDArray[np.bool_], asked: Sequence[int | None] = (), before: Batch | None = None) -> Batch:
        """Reset the lanes `which`; the results of the other lanes are taken from `before`."""
        keys = np.zeros((self.num_envs, 2), np.uint32)
        for lane in np.flatnonzero(which).tolist():
            world = asked[lane] if asked else None
            self._world[lane], keys[lane] = draw_world(self._lots[lane], len(self.kind.bank), world)
        batch = self._lanes.reset(which, self._world, keys)
        self._refuse_overflow(batch)
        self._mask, self._over, self._begun = batch.mask, self._over & ~which, self._begun | which
        self._steps[which], self._illegal[which] = 0, 0
        if before is None:
            return batch
        return replace(batch, result=np.where(which[:, None], batch.result, before.result))

    def _final(self, batch: Batch, ended: NDArray[np.bool_], last: dict[str, Any]) -> dict[str, Any]:
        """Return the last observations (one per lane, None where the episode goes on) and infos of ended episodes."""
        observations = np.full(self.num_envs, None, dtype=object)
        for lane in np.flatnonzero(ended):
            observations[lane] = observe(batch, int(lane))
        info = self._info(batch, ended) | last
        return {"final_obs": observations, "_final_obs": ended, "final_info": info, "_final_info": ended}

    def _observe(self, batch: Batch) -> Observation:
        return {
            **{name: part.copy() for name, part in batch.parts.items()},
            "action_mask": batch.mask.astype(np.int8),
        }

    def _info(self, batch: Batch, which: NDArray[np.bool_] | None = None) -> dict[str, Any]:
        valid = np.ones(self.num_envs, bool) if which is None else which.copy()
        result, columns = batch.result, self.kind.process.columns
        own = [
            values.astype(np.int32 if column.kind is int else float)
            for column, values in zip(columns, result[:, EXTRA:].T, strict=True)
        ]
        info: dict[str, Any] = {
            "action_mask": batch.mask.astype(np.int8),
            "reward_raw": result[:, REWARD].copy(),
            "time_s": result[:, TIME_S].copy(),
            "world": self._world.copy(),
            "illegal": result[:, ILLEGAL] > 0,
            **reported(self.kind.process, own),
        }
        return info | {f"_{name}": valid for name in info}

    def _refuse_overflow(self, batch: Batch) -> None:
        full = batch.result[:, OVERFLOW] > 0
        self._over |= full
        self._begun &= ~full
        if full.any():
            raise InputError(f"lane {int(np.argmax(full))}: {self.kind.advice}")

    def _metrics(self, ended: NDArray[np.bool_]) -> dict[str, NDArray[np.float64]]:
        """Return the metrics of ended episodes as arrays [B]; other lanes hold 0 (Gymnasium's format)."""
        values: dict[str, NDArray[np.float64]] = {}
        for lane in np.flatnonzero(ended):
            record = self.kind.record(self._lanes.state(int(lane)), int(self._world[lane]), 0)
            own = self.kind.metrics(record) | {ILLEGAL_ACTIONS: float(self._illegal[lane])}
            for name, value in own.items():
                values.setdefault(name, np.zeros(self.num_envs))[lane] = value
        return values
