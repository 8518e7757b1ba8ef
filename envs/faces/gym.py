"""The Gymnasium interface of one episode of any kind of world: `reset`, `step`, masks, rendering, snapshots."""

from __future__ import annotations

from functools import cached_property
from typing import Any, Generic, SupportsFloat, TypeVar

import gymnasium
import numpy as np
from gymnasium import spaces
from numpy.typing import NDArray

from ...scenarios.checks import as_whole
from ...scenarios.errors import InputError
from ..kind import Kind
from ..lanes.batch import Batch
from ..lanes.programs import EXTRA, ILLEGAL, OVERFLOW, REWARD, TERMINATED, TIME_S, TRUNCATED
from ..lanes.single import Lane
from ..lanes.snapshots import fingerprint, generator, refuse_foreign, refuse_unlike
from ..options import IllegalAction
from ..process import Column
from .spaces import (
    ILLEGAL_ACTIONS,
    Observation,
    as_action,
    as_seed,
    as_world,
    draw_world,
    observation_space,
    refuse_illegal,
    reported,
    reset_options,
    warn_of_illegal,
)

K = TypeVar("K", bound=Kind)


class RenderModeError(InputError, TypeError):
    """An unknown render mode. Also a `TypeError`: Stable-Baselines3 reacts to that by retrying without a mode."""


class SchedulingEnv(gymnasium.Env[Observation, np.int64], Generic[K]):
    """One episode at a time; each reset draws a world from the bank.

    `info` holds `action_mask`, `reward_raw` (unscaled), `time_s`, `world` (index into the bank), `illegal`, the figures
    that the process reports for a step, and `reward_terms` if the process has any. At the end of an episode it also
    holds `metrics`, which include the number of `illegal_actions`.
    """

    metadata = {"render_modes": ["ansi"], "render_fps": 1}  # noqa: RUF012 (Gymnasium's name and form)

    def __init__(self, kind: K, render_mode: str | None = None) -> None:
        """Set up the environment on the worlds of `kind`."""
        if render_mode not in (None, "ansi"):
            raise RenderModeError(f"render_mode = {render_mode!r}; legal: 'ansi' or None")
        self.kind, self.render_mode = kind, render_mode
        self.lane = Lane(kind.process, kind.bank.worlds, kind.data)
        self.action_space = spaces.Discrete(kind.process.actions)
        self.observation_space = observation_space(kind.process)
        self.reward_scale = kind.reward_scale
        self._world, self._seed, self._over, self._begun = 0, 0, True, False
        self._illegal, self._warned = 0, kind.options.illegal_action is not IllegalAction.NOOP

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[Observation, dict[str, Any]]:
        """Start an episode. `options={"world": i}` selects a world of the bank instead of drawing one."""
        asked = as_world(reset_options(options, "world").get("world"), len(self.kind.bank))
        seed = as_seed(seed)
        super().reset(seed=seed)
        self._seed = self._seed if seed is None else seed
        self._world, key = draw_world(self.np_random, len(self.kind.bank), asked)
        batch = self.lane.reset(self._world, key)
        self._over, self._begun, self._illegal = False, True, 0
        observation, _, info = self._tell(batch)
        return observation, info

    def step(self, action: SupportsFloat) -> tuple[Observation, SupportsFloat, bool, bool, dict[str, Any]]:
        """Take an action. Raises `InputError` after an episode's end, or for an illegal action (by option)."""
        if self._over:
            raise InputError("step after the end of an episode; call reset first")
        number = as_action(action)
        if self.kind.options.illegal_action is IllegalAction.ERROR:
            refuse_illegal(self.kind, number, self.lane.mask)
        batch = self.lane.step(number)
        observation, reward, info = self._tell(batch)
        terminated, truncated = bool(batch.result[TERMINATED]), bool(batch.result[TRUNCATED])
        self._over = terminated or truncated
        if self._over:
            info["metrics"] = self.kind.metrics(self.record()) | {ILLEGAL_ACTIONS: float(self._illegal)}
        return observation, reward, terminated, truncated, info

    def action_masks(self) -> NDArray[np.bool_]:
        """Return the mask of legal actions [n], under the name that sb3-contrib expects."""
        return self.lane.mask.copy()

    def describe(self, action: int) -> str:
        """Describe an action in words."""
        return self.kind.describe(as_whole("action", action, 0, self.kind.process.actions - 1))

    def record(self) -> Any:
        """Return the results of the current episode so far."""
        if not self._begun:
            raise InputError("nothing to record yet; call reset first")
        return self.kind.record(self.lane.state(), self._world, self._seed)

    def render(self) -> str | None:  # pyright: ignore[reportIncompatibleMethodOverride]
        """Return the current state as text under `ansi`, else None."""
        if self.render_mode is None:
            return None
        if not self._begun:
            raise InputError("nothing to render yet; call reset first")
        return self.kind.render(self.lane.state(), self._world)

    def get_state(self) -> dict[str, Any]:
        """Return all that determines this episode's continuation and later resets, for `set_state` of an equal env."""
        return {
            "of": self._of,
            "lane": self.lane.snapshot(),
            "world": self._world,
            "over": self._over,
            "begun": self._begun,
            "seed": self._seed,
            "illegal": self._illegal,
            "random": self.np_random.bit_generator.state,
        }

    def set_state(self, state: dict[str, Any]) -> None:
        """Continue from a state of `get_state`. Raises `InputError`, and changes nothing, if its kind differs."""
        refuse_foreign(state, self._of)
        refuse_unlike(state, self.get_state())
        world, lots = as_whole("state['world']", state["world"], 0, len(self.kind.bank) - 1), generator(state["random"])
        self.lane.restore(state["lane"])
        self._world, self._seed, self._illegal = world, state["seed"], state["illegal"]
        self._begun, self._over = state["begun"], state["over"] or not state["begun"]
        self.np_random.bit_generator.state = lots.bit_generator.state

    def __getstate__(self) -> dict[str, Any]:
        held = {name: getattr(self, name) for name in ("spec", "action_space", "observation_space", "_np_random_seed")}
        return {"kind": self.kind, "render_mode": self.render_mode, "state": self.get_state(), "held": held}

    def __setstate__(self, stored: dict[str, Any]) -> None:
        SchedulingEnv.__init__(self, stored["kind"], stored["render_mode"])
        self.set_state(stored["state"])
        for name, value in stored["held"].items():
            setattr(self, name, value)

    @cached_property
    def _of(self) -> str:
        return fingerprint(self.kind)

    def _tell(self, batch: Batch) -> tuple[Observation, float, dict[str, Any]]:
        """Return (observation, reward, info). Raises `InputError` if the world ran out of room."""
        result: list[float] = batch.result.tolist()
        if result[OVERFLOW]:
            self._over = True
            raise InputError(self.kind.advice)
        mask = batch.mask.view(np.int8)
        info = {
            "action_mask": mask.copy(),
            "reward_raw": result[REWARD],
            "time_s": result[TIME_S],
            "world": self._world,
            "illegal": result[ILLEGAL] > 0,
            **reported(self.kind.process, map(_value, self.kind.process.columns, result[EXTRA:])),
        }
        reward = result[REWARD] / self.reward_scale
        if info["illegal"]:
            reward -= self._fine()
        return {**batch.parts, "action_mask": mask.copy()}, reward, info

    def _fine(self) -> float:
        """Count an illegal action and return its penalty."""
        self._illegal += 1
        if not self._warned:
            self._warned = True
            warn_of_illegal(self.kind)
        penalty = self.kind.options.illegal_action is IllegalAction.PENALTY
        return self.kind.options.illegal_penalty if penalty else 0.0


def _value(column: Column, value: float) -> float:
    return column.kind(value)
