"""The Gymnasium face of one episode of any kind of world: `reset`, `step`, masks, rendering, snapshots."""

from __future__ import annotations

from typing import Any, Generic, SupportsFloat, TypeVar

import gymnasium
import numpy as np
from gymnasium import spaces
from numpy.typing import NDArray

from ..scenarios.errors import InputError
from .face import (
    Observation,
    as_action,
    draw_world,
    ends,
    observation_space,
    observe,
    refuse_illegal,
    refuse_overflow,
    rewards,
    told,
)
from .kind import Kind
from .lanes import Batch, Lanes
from .options import IllegalAction
from .programs import OVERFLOW

K = TypeVar("K", bound=Kind)


class SchedulingEnv(gymnasium.Env[Observation, np.int64], Generic[K]):
    """One episode at a time; each reset draws a world of the bank.

    `info` holds `action_mask`, `reward_raw` (unscaled), `time_s`, `world` (index into the bank), `illegal`, what the
    process reports of a step, `reward_terms` if it has any, and at the end of an episode `metrics`.
    """

    metadata = {"render_modes": ["ansi"], "render_fps": 1}  # noqa: RUF012 (Gymnasium's name and form)

    def __init__(self, kind: K, render_mode: str | None = None) -> None:
        """Present the worlds of `kind`."""
        if render_mode not in (None, "ansi"):
            raise InputError(f"render_mode = {render_mode!r}; legal: 'ansi' or None")
        self.kind, self.render_mode = kind, render_mode
        self.lanes = Lanes(kind.process, kind.bank.worlds, kind.data, 1)
        self.action_space = spaces.Discrete(kind.process.actions)
        self.observation_space = observation_space(kind.process)
        self.reward_scale = kind.reward_scale
        self._mask = np.zeros(kind.process.actions, bool)
        self._world, self._seed, self._over, self._begun = 0, 0, True, False

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[Observation, dict[str, Any]]:
        """Start an episode. `options={"world": i}` asks for a world of the bank instead of a draw."""
        super().reset(seed=seed)
        self._seed = self._seed if seed is None else seed
        self._world, key = draw_world(self.np_random, len(self.kind.bank), options)
        batch = self.lanes.reset(np.ones(1, bool), np.array([self._world], np.int32), key[None])
        self._over, self._begun, self._mask = False, True, batch.mask[0]
        self._refuse_overflow(batch)
        return observe(batch, 0), self._info(batch)

    def step(self, action: SupportsFloat) -> tuple[Observation, SupportsFloat, bool, bool, dict[str, Any]]:
        """Take an action. Raises `InputError` for an illegal one (by option), or after the end of an episode."""
        if self._over:
            raise InputError("step after the end of an episode; call reset first")
        number = as_action(action)
        if self.kind.options.illegal_action is IllegalAction.ERROR:
            refuse_illegal(self.kind, number, self._mask)
        batch = self.lanes.step(np.array([number], np.int32), np.ones(1, bool))
        self._refuse_overflow(batch)
        self._mask = batch.mask[0]
        terminated, truncated = (bool(flag) for flag in ends(batch.result[0]))
        self._over = terminated or truncated
        info = self._info(batch)
        if self._over:
            info["metrics"] = self.kind.metrics(self.record())
        return observe(batch, 0), float(rewards(self.kind, batch.result[0])), terminated, truncated, info

    def action_masks(self) -> NDArray[np.bool_]:
        """Legal actions [n], as sb3-contrib asks for them."""
        return self._mask.copy()

    def describe(self, action: int) -> str:
        """An action in words."""
        return self.kind.describe(action)

    def record(self) -> Any:
        """Results of the present episode so far."""
        return self.kind.record(self.lanes.state(0), self._world, self._seed)

    def render(self) -> str | None:  # pyright: ignore[reportIncompatibleMethodOverride]
        """Under `ansi`, the present state in characters."""
        if self.render_mode is None:
            return None
        if not self._begun:
            raise InputError("nothing to render yet; call reset first")
        return self.kind.render(self.lanes.state(0), self._world)

    def get_state(self) -> dict[str, Any]:
        """Everything that decides how the episode and later resets go on; for `set_state` of an equal environment."""
        return {
            "lanes": self.lanes.snapshot(),
            "mask": self._mask.copy(),
            "world": self._world,
            "over": self._over,
            "begun": self._begun,
            "seed": self._seed,
            "random": self.np_random.bit_generator.state,
        }

    def set_state(self, state: dict[str, Any]) -> None:
        """Go on from what `get_state` gave."""
        self.lanes.restore(state["lanes"])
        self._mask, self._world, self._over = state["mask"].copy(), state["world"], state["over"]
        self._begun, self._seed = state["begun"], state["seed"]
        self.np_random.bit_generator.state = state["random"]

    def __getstate__(self) -> dict[str, Any]:
        held = {name: getattr(self, name) for name in ("spec", "action_space", "observation_space", "_np_random_seed")}
        return {"kind": self.kind, "render_mode": self.render_mode, "state": self.get_state(), "held": held}

    def __setstate__(self, stored: dict[str, Any]) -> None:
        SchedulingEnv.__init__(self, stored["kind"], stored["render_mode"])
        self.set_state(stored["state"])
        for name, value in stored["held"].items():
            setattr(self, name, value)

    def _refuse_overflow(self, batch: Batch) -> None:
        self._over |= bool((batch.result[:, OVERFLOW] > 0).any())
        refuse_overflow(self.kind, batch)

    def _info(self, batch: Batch) -> dict[str, Any]:
        figures, terms = told(self.kind.process, batch.result[0])
        info: dict[str, Any] = {"action_mask": batch.mask[0].astype(np.int8), "world": self._world}
        info |= {name: value.item() for name, value in figures.items()}
        if terms:
            info["reward_terms"] = {name: value.item() for name, value in terms.items()}
        return info
