"""Many episodes at once, natively batched: one device call per step, Gymnasium's vector interface.

Lane i behaves as a `SchedulingEnv` that was seeded with `seed + i`: the same worlds, observations and rewards.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any, Generic

import gymnasium
import numpy as np
from gymnasium import spaces
from gymnasium.utils import seeding
from gymnasium.vector import AutoresetMode
from gymnasium.vector.utils import batch_space
from numpy.typing import NDArray

from ..scenarios.errors import InputError
from .face import (
    Observation,
    draw_world,
    ends,
    observation_space,
    observe,
    refuse_illegal,
    refuse_overflow,
    rewards,
    told,
)
from .gym import K
from .lanes import Batch, Lanes
from .options import IllegalAction, member
from .programs import OVERFLOW


class SchedulingVectorEnv(gymnasium.vector.VectorEnv[Observation, NDArray[np.int64], NDArray[Any]], Generic[K]):
    """B episodes; `metadata["autoreset_mode"]` says what happens at the end of one.

    NEXT_STEP: the step after the end ignores the lane's action and resets it (reward 0). SAME_STEP: the lane is reset
    at once, and the last observation and info stand in `info["final_obs"]` and `info["final_info"]`. DISABLED: reset
    lanes yourself, with `options={"reset_mask": mask}`.
    """

    def __init__(self, kind: K, num_envs: int, autoreset_mode: AutoresetMode | str = AutoresetMode.NEXT_STEP) -> None:
        """Present `num_envs` lanes over the worlds of `kind`."""
        if num_envs < 1:
            raise InputError(f"num_envs = {num_envs}; legal: at least 1")
        self.kind, self.num_envs = kind, num_envs
        self.autoreset_mode = member("autoreset_mode", autoreset_mode, AutoresetMode)
        self.metadata = {"autoreset_mode": self.autoreset_mode}
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
        self._lots = [np.random.default_rng() for _ in range(num_envs)]

    def reset(
        self, *, seed: int | Sequence[int | None] | None = None, options: dict[str, Any] | None = None
    ) -> tuple[Observation, dict[str, Any]]:
        """Start episodes: in all lanes, or in those of `options={"reset_mask": mask}`.

        `options={"worlds": [i, ...]}` asks for a world of the bank per lane instead of draws.
        """
        given = dict(options or {})
        which = np.asarray(given.pop("reset_mask", np.ones(self.num_envs, bool)), bool)
        if which.shape != (self.num_envs,) or not which.any():
            raise InputError(f"reset_mask has shape {which.shape}; legal: ({self.num_envs},) with at least one lane")
        if isinstance(seed, int | np.integer):
            seeds: list[int | None] = [int(seed) + i for i in range(self.num_envs)]
        else:
            seeds = [None] * self.num_envs if seed is None else list(seed)
        if len(seeds) != self.num_envs:
            raise InputError(f"{len(seeds)} seeds; legal: one number, or one for each of the {self.num_envs} lanes")
        for lane, own in enumerate(seeds):
            if which[lane] and own is not None:
                self._lots[lane] = seeding.np_random(own)[0]
        batch = self._begin(which, given)
        return self._observe(batch), self._info(batch, which)

    def step(
        self, actions: NDArray[Any]
    ) -> tuple[Observation, NDArray[Any], NDArray[np.bool_], NDArray[np.bool_], dict[str, Any]]:
        """One action per lane [B]. Raises `InputError` for an illegal one (by option)."""
        numbers = np.asarray(actions)
        if numbers.shape != (self.num_envs,) or not np.issubdtype(numbers.dtype, np.integer):
            raise InputError(
                f"actions have shape {numbers.shape} and type {numbers.dtype}; legal: {self.num_envs} integers"
            )
        if not self._begun.all():
            raise InputError(f"lane {int(np.argmin(self._begun))} has not begun an episode; call reset first")
        due = self._over.copy()
        if due.any() and self.autoreset_mode is not AutoresetMode.NEXT_STEP:
            raise InputError(f"lane {int(np.argmax(due))} is at the end of its episode; reset it first")
        if self.kind.options.illegal_action is IllegalAction.ERROR:
            for lane in np.flatnonzero(~due):
                if not (0 <= numbers[lane] < self._mask.shape[1] and self._mask[lane, numbers[lane]]):
                    refuse_illegal(self.kind, int(numbers[lane]), self._mask[lane])
        batch = self._lanes.step(np.where(due, 0, np.clip(numbers, -1, 2**31 - 1)).astype(np.int32), ~due)
        self._refuse_overflow(batch)
        self._mask = batch.mask
        reward, (terminated, truncated) = rewards(self.kind, batch.result), ends(batch.result)
        self._over = terminated | truncated
        ended = self._over.copy()
        last = {"metrics": self._metrics(ended), "_metrics": ended} if ended.any() else {}
        if due.any():
            batch = self._begin(due, {}, batch)
        if ended.any() and self.autoreset_mode is AutoresetMode.SAME_STEP:
            last = self._final(batch, ended, last)
            batch = self._begin(ended, {}, batch)
        info = self._info(batch) | last
        return self._observe(batch), reward, terminated, truncated, info

    def action_masks(self) -> NDArray[np.bool_]:
        """Legal actions [B, n]."""
        return self._mask.copy()

    def _begin(self, which: NDArray[np.bool_], given: dict[str, Any], before: Batch | None = None) -> Batch:
        """Reset the lanes `which`; what the others did last stays as `before` has it."""
        keys = np.zeros((self.num_envs, 2), np.uint32)
        asked = given.pop("worlds", None)
        if asked is not None and len(asked) != self.num_envs:
            raise InputError(f"worlds names {len(asked)} worlds; legal: one for each of the {self.num_envs} lanes")
        for lane in np.flatnonzero(which):
            own = given if asked is None else given | {"world": asked[lane]}
            self._world[lane], keys[lane] = draw_world(self._lots[lane], len(self.kind.bank), own)
        batch = self._lanes.reset(which, self._world, keys)
        self._refuse_overflow(batch)
        self._mask, self._over, self._begun = batch.mask, self._over & ~which, self._begun | which
        if before is None:
            return batch
        return replace(batch, result=np.where(which[:, None], batch.result, before.result))

    def _final(self, batch: Batch, ended: NDArray[np.bool_], last: dict[str, Any]) -> dict[str, Any]:
        """Last observations (one per lane, None where the episode goes on) and infos of ended episodes."""
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
        figures, terms = told(self.kind.process, batch.result)
        info: dict[str, Any] = {"action_mask": batch.mask.astype(np.int8), "world": self._world.copy(), **figures}
        if terms:
            info["reward_terms"] = terms
        return info | {f"_{name}": valid for name in info}

    def _refuse_overflow(self, batch: Batch) -> None:
        full = batch.result[:, OVERFLOW] > 0
        self._over |= full
        self._begun &= ~full
        refuse_overflow(self.kind, batch)

    def _metrics(self, ended: NDArray[np.bool_]) -> dict[str, NDArray[np.float64]]:
        """Metrics of the episodes that ended, as arrays [B]; 0 elsewhere (Gymnasium's form)."""
        values: dict[str, NDArray[np.float64]] = {}
        for lane in np.flatnonzero(ended):
            record = self.kind.record(self._lanes.state(int(lane)), int(self._world[lane]), 0)
            for name, value in self.kind.metrics(record).items():
                values.setdefault(name, np.zeros(self.num_envs))[lane] = value
        return values
