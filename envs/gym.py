"""The Gymnasium face of one episode: `reset`, `step`, masks, rendering, snapshots."""

from __future__ import annotations

from typing import Any, SupportsFloat

import gymnasium
import numpy as np
from gymnasium import spaces
from numpy.typing import NDArray

from ..scenarios.errors import InputError
from .cluster.bank import Bank
from .cluster.base import Base
from .cluster.lanes import ILLEGAL, OVERFLOW, REWARD, ROUNDS, TERMINATED, TIME_S, TRUNCATED, Batch, Lanes
from .cluster.metrics import metrics_of
from .cluster.options import EnvOptions, IllegalAction
from .cluster.record import Record, make_record
from .cluster.render import gantt_line
from .cluster.reward import reward_scale

Observation = dict[str, Any]
"""Part name -> flat array."""
MOST = 50.0
"""Bound of observation features; scaled values stay well inside it."""


def observation_space(lanes: Lanes) -> spaces.Dict:
    """One flat Box per part, and the mask."""
    parts: dict[str, spaces.Space[Any]] = {
        name: spaces.Box(-MOST, MOST, (size,), np.float32) for name, size in lanes.process.layout.sizes.items() if size
    }
    parts["action_mask"] = spaces.Box(0, 1, (lanes.process.space.size,), np.int8)
    return spaces.Dict(parts)


def observe(batch: Batch, lane: int) -> Observation:
    """Observation of one lane (copies)."""
    parts: Observation = {name: part[lane].copy() for name, part in batch.parts.items()}
    parts["action_mask"] = batch.mask[lane].astype(np.int8)
    return parts


class GpuClusterEnv(gymnasium.Env[Observation, np.int64]):
    """One cluster episode at a time; each reset draws a world of the bank.

    `info` holds `action_mask`, `reward_raw` (unscaled), `time_s`, `world` (index into the bank), `rounds` that the step
    took, `illegal`, and at the end of an episode `metrics`.
    """

    metadata = {"render_modes": ["ansi"], "render_fps": 1}  # noqa: RUF012 (Gymnasium's name and form)

    def __init__(
        self, bank: Bank, base: Base, options: EnvOptions | None = None, render_mode: str | None = None
    ) -> None:
        """Present the worlds of `bank`; `base` orders the window and completes plans at REST."""
        if render_mode not in (None, "ansi"):
            raise InputError(f"render_mode = '{render_mode}'; legal: ansi, or none")
        self.options = options or EnvOptions()
        self.render_mode = render_mode
        self.bank, self._base = bank, base
        self.lanes = Lanes(self.options.process(bank, base), bank, base, 1)
        self.action_space = spaces.Discrete(self.lanes.process.space.size)
        self.observation_space = observation_space(self.lanes)
        self.reward_scale = self.options.reward_scale or reward_scale(self.options.reward, bank.scenarios[0])
        self._mask = np.zeros(self.action_space.n, bool)
        self._world, self._seed, self._over, self._begun = 0, 0, True, False

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[Observation, dict[str, Any]]:
        """Start an episode. `options={"world": i}` asks for a world of the bank instead of a draw."""
        super().reset(seed=seed)
        self._seed = self._seed if seed is None else seed
        self._world, key = draw_world(self.np_random, len(self.bank), options)
        batch = self.lanes.reset(np.ones(1, bool), np.array([self._world], np.int32), key[None])
        self._over, self._begun, self._mask = False, True, batch.mask[0]
        self._refuse_overflow(batch)
        return observe(batch, 0), self._info(batch)

    def step(self, action: SupportsFloat) -> tuple[Observation, SupportsFloat, bool, bool, dict[str, Any]]:
        """Take an action. Raises `InputError` for an illegal one (by option), or after the end of an episode."""
        if self._over:
            raise InputError("step after the end of an episode; call reset first")
        number = as_action(action)
        if self.options.illegal_action is IllegalAction.ERROR:
            refuse_illegal(number, self._mask, self.lanes)
        batch = self.lanes.step(np.array([number], np.int32), np.ones(1, bool))
        self._refuse_overflow(batch)
        result = batch.result[0]
        self._mask = batch.mask[0]
        terminated, truncated = bool(result[TERMINATED]), bool(result[TRUNCATED])
        self._over = terminated or truncated
        info = self._info(batch)
        if self._over:
            info["metrics"] = metrics_of(self.record())
        return observe(batch, 0), scaled_reward(result, self.options, self.reward_scale), terminated, truncated, info

    def action_masks(self) -> NDArray[np.bool_]:
        """Legal actions [n], as sb3-contrib asks for them."""
        return self._mask.copy()

    def describe(self, action: int) -> str:
        """An action in words."""
        return self.lanes.process.space.describe(action)

    def record(self) -> Record:
        """Results of the present episode so far; jobs that have not finished count up to now."""
        return make_record(self.bank.scenarios[self._world], "environment", self._seed, self.lanes.outcome(0))

    def render(self) -> str | None:  # pyright: ignore[reportIncompatibleMethodOverride]
        """Under `ansi`, one line per node: which job holds each GPU at the present round."""
        if self.render_mode is None:
            return None
        if not self._begun:
            raise InputError("nothing to render yet; call reset first")
        return gantt_line(self.lanes.state(0).cluster, self.bank.scenarios[self._world])

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
        made = {"bank": self.bank, "base": self._base, "options": self.options, "render_mode": self.render_mode}
        held = {name: getattr(self, name) for name in ("spec", "action_space", "observation_space", "_np_random_seed")}
        return {"made": made, "state": self.get_state(), "held": held}

    def __setstate__(self, stored: dict[str, Any]) -> None:
        self.__init__(**stored["made"])  # type: ignore[misc]
        self.set_state(stored["state"])
        for name, value in stored["held"].items():
            setattr(self, name, value)

    def _refuse_overflow(self, batch: Batch) -> None:
        self._over |= bool((batch.result[:, OVERFLOW] > 0).any())
        refuse_overflow(batch, self.lanes)

    def _info(self, batch: Batch) -> dict[str, Any]:
        result = batch.result[0]
        return {
            "action_mask": batch.mask[0].astype(np.int8),
            "reward_raw": float(result[REWARD]),
            "time_s": float(result[TIME_S]),
            "world": self._world,
            "rounds": int(result[ROUNDS]),
            "illegal": bool(result[ILLEGAL]),
        }


def draw_world(rng: np.random.Generator, worlds: int, options: dict[str, Any] | None) -> tuple[int, NDArray[np.uint32]]:
    """(index of a world, key [2]) of the next episode. Raises `InputError` for options that are not known."""
    given = dict(options or {})
    world = given.pop("world", None)
    if given:
        raise InputError(f"reset option '{next(iter(given))}'; legal: world")
    drawn, key = int(rng.integers(worlds)), rng.integers(2**32, size=2, dtype=np.uint32)
    if world is None:
        return drawn, key
    if not isinstance(world, int | np.integer) or not 0 <= world < worlds:
        raise InputError(f"world = {world}; legal: a whole number, 0 to {worlds - 1}")
    return int(world), key


def as_action(action: Any) -> int:
    """A whole number from whatever a learner hands over. Raises `InputError`."""
    try:
        number = int(action)
        exact = number == action
    except (TypeError, ValueError, OverflowError):
        exact = False
        number = 0
    if not exact or abs(number) >= 2**31:
        raise InputError(f"action = {action!r}; legal: a whole number")
    return number


def refuse_illegal(number: int, mask: NDArray[np.bool_], lanes: Lanes) -> None:
    """Raises `InputError` for an action that the mask does not allow."""
    space = lanes.process.space
    if not 0 <= number < space.size:
        raise InputError(f"action = {number}; legal: 0 to {space.size - 1}, where the mask is 1")
    if not mask[number]:
        raise InputError(f"action {number}, {space.describe(number)}, is not legal here; the mask says which are")


def scaled_reward(result: NDArray[Any], options: EnvOptions, scale: float) -> float:
    """The reward that a learner gets."""
    penalized = options.illegal_action is IllegalAction.PENALTY and result[ILLEGAL] > 0
    return float(result[REWARD]) / scale - (options.illegal_penalty if penalized else 0.0)


def refuse_overflow(batch: Batch, lanes: Lanes) -> None:
    """Raises `InputError` where a lane ran out of room for active jobs."""
    if (batch.result[:, OVERFLOW] > 0).any():
        slots = lanes.process.slots
        raise InputError(f"more than {slots} jobs are in the system at once; give the environment slots={2 * slots}")
