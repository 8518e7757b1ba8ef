"""The Stable-Baselines3 interface of a native batch: same-step autoreset, masks, episode statistics."""

from __future__ import annotations

import time
from collections.abc import Sequence
from typing import Any

import numpy as np
from gymnasium.vector import AutoresetMode
from numpy.typing import NDArray
from stable_baselines3.common.vec_env import VecEnv

from ..envs.cluster.bank import Bank
from ..envs.cluster.mdp.base import Base
from ..envs.cluster.mdp.kind import ClusterKind
from ..envs.cluster.mdp.options import EnvOptions
from ..envs.faces.spaces import as_seed, as_world, reset_options
from ..envs.faces.vector import SchedulingVectorEnv
from ..envs.kind import Kind
from ..envs.serverless.bank import Bank as ServerlessBank
from ..envs.serverless.mdp.base import Base as ServerlessBase
from ..envs.serverless.mdp.kind import ServerlessKind
from ..envs.serverless.mdp.options import ServerlessOptions
from ..scenarios.errors import InputError


class SchedulingVecEnv(VecEnv):
    """`num_envs` episodes of any kind of world for SB3 and sb3-contrib.

    At the end of an episode the lane starts the next one at once. `infos[i]` then holds `terminal_observation`,
    `TimeLimit.truncated`, `metrics`, and `episode` with return `r`, length `l` and seconds `t`, as with `VecMonitor`.
    """

    def __init__(self, kind: Kind, num_envs: int) -> None:
        """Set up `num_envs` lanes on the worlds of `kind`."""
        self.batch = SchedulingVectorEnv(kind, num_envs, AutoresetMode.SAME_STEP)
        self._action: NDArray[Any] = np.zeros(num_envs, np.int64)
        self._return, self._length = np.zeros(num_envs), np.zeros(num_envs, int)
        self._begun = time.time()
        self.render_mode = None
        super().__init__(num_envs, self.batch.single_observation_space, self.batch.single_action_space)

    def seed(self, seed: int | None = None) -> Sequence[int | None]:
        """Set the seeds of the next reset: lane i gets `seed + i`. Raises `InputError` for an illegal seed."""
        return super().seed(as_seed(seed))

    def set_options(self, options: list[dict[str, Any]] | dict[str, Any] | None = None) -> None:
        """Set `{"world": i}` for the next reset, for all lanes or per lane. Raises `InputError` for other options."""
        per_lane = options if isinstance(options, list) else [options] * self.num_envs
        if len(per_lane) != self.num_envs:
            raise InputError(f"{len(per_lane)} reset options; legal: one dictionary, or one for each lane")
        for lane, own in enumerate(per_lane):
            given = reset_options(own, "world")
            as_world(given.get("world"), len(self.batch.kind.bank), f"world of lane {lane}")
        super().set_options(options)

    def reset(self) -> dict[str, NDArray[Any]]:
        """Start an episode in every lane, with the seeds set by `seed` (lane i: seed + i)."""
        worlds = [options.get("world") for options in self._options]
        observation, info = self.batch.reset(seed=list(self._seeds), options={"worlds": worlds})
        self._reset_seeds()
        self._reset_options()
        self._return[:], self._length[:] = 0.0, 0
        self.reset_infos = [_lane(info, lane) for lane in range(self.num_envs)]
        return observation

    def step_async(self, actions: NDArray[Any]) -> None:
        """Store the actions of the next step."""
        self._action = np.asarray(actions)

    def step_wait(self) -> tuple[dict[str, NDArray[Any]], NDArray[Any], NDArray[np.bool_], list[dict[str, Any]]]:
        """Take the stored actions."""
        observation, reward, terminated, truncated, info = self.batch.step(self._action)
        done = terminated | truncated
        self._return += reward
        self._length += 1
        infos = [_lane(info, lane) for lane in range(self.num_envs)]
        for lane in np.flatnonzero(done):
            infos[lane] |= _lane(info["final_info"], int(lane)) | {
                "terminal_observation": info["final_obs"][lane],
                "TimeLimit.truncated": bool(truncated[lane] and not terminated[lane]),
                "episode": {
                    "r": float(self._return[lane]),
                    "l": int(self._length[lane]),
                    "t": round(time.time() - self._begun, 6),
                },
            }
            self._return[lane], self._length[lane] = 0.0, 0
        return observation, reward.astype(np.float32), done, infos

    def close(self) -> None:
        """Do nothing: there is nothing to close."""

    def get_attr(self, attr_name: str, indices: Any = None) -> list[Any]:
        """Return an attribute of the batch, once per lane."""
        return [getattr(self.batch, attr_name)] * len(list(self._get_indices(indices)))

    def set_attr(self, attr_name: str, value: Any, indices: Any = None) -> None:
        """Raise `AttributeError`: lanes share their attributes, which are fixed when the batch is made."""
        raise AttributeError(f"'{attr_name}' cannot be set on a batch; make another one")

    def env_method(self, method_name: str, *args: Any, indices: Any = None, **kwargs: Any) -> list[Any]:
        """Return `action_masks` per lane, the only method that MaskablePPO calls."""
        if method_name != "action_masks":
            raise AttributeError(f"a batch has no method '{method_name}' per lane; legal: action_masks")
        masks = self.batch.action_masks()
        return [masks[lane] for lane in self._get_indices(indices)]

    def has_attr(self, attr_name: str) -> bool:
        """Whether the batch has an attribute (sb3-contrib looks for `action_masks`)."""
        return hasattr(self.batch, attr_name)

    def env_is_wrapped(self, wrapper_class: type[Any], indices: Any = None) -> list[bool]:
        """Return False for all lanes, because a native batch has no wrappers per lane."""
        return [False] * len(list(self._get_indices(indices)))


class GpuClusterVecEnv(SchedulingVecEnv):
    """A batch of cluster episodes for SB3 and sb3-contrib."""

    def __init__(self, bank: Bank, base: Base, num_envs: int, options: EnvOptions | None = None) -> None:
        """Set up `num_envs` lanes on the worlds of `bank`; `base` completes plans at REST."""
        super().__init__(ClusterKind(bank, base, options or EnvOptions()), num_envs)


class ServerlessGpuVecEnv(SchedulingVecEnv):
    """A batch of serverless episodes for SB3 and sb3-contrib."""

    def __init__(
        self, bank: ServerlessBank, base: ServerlessBase, num_envs: int, options: ServerlessOptions | None = None
    ) -> None:
        """Set up `num_envs` lanes on the worlds of `bank`; the observation shows what `base` would do."""
        super().__init__(ServerlessKind(bank, base, options or ServerlessOptions()), num_envs)


def _lane(info: dict[str, Any], lane: int) -> dict[str, Any]:
    """Return one lane's part of a batch's info."""
    told: dict[str, Any] = {}
    for name, value in info.items():
        if name.startswith(("_", "final_")):
            continue
        if isinstance(value, dict):  # metrics, reward terms
            told[name] = {key: part[lane].item() for key, part in value.items()}
        else:
            told[name] = value[lane] if value.ndim > 1 else value[lane].item()
    return told
