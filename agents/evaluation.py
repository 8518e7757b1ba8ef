"""Evaluates a decision function on every world of a bank, one episode each, for comparison world by world."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..scenarios.errors import unknown_name
from .vec_env import SchedulingVecEnv

Decide = Callable[[dict[str, NDArray[Any]], NDArray[np.bool_]], NDArray[np.integer]]
"""(observation of B lanes, masks of legal actions [B, actions]) -> actions [B]."""


def metric_by_world(env: SchedulingVecEnv, metric: str, decide: Decide) -> NDArray[np.float64]:
    """Return `metric` of one episode in each world of `env`'s bank [M]. Raises `InputError` for an unknown metric."""
    worlds, found = len(env.batch.kind.bank), list[float]()
    for first in range(0, worlds, env.num_envs):
        seen, _ = env.batch.reset(seed=0, options={"worlds": [(first + i) % worlds for i in range(env.num_envs)]})
        ended: dict[int, float] = {}
        while len(ended) < env.num_envs:
            env.step_async(decide(seen, env.batch.action_masks()))
            seen, _, _, infos = env.step_wait()
            for lane, info in enumerate(infos):
                if "metrics" in info:  # later episodes of the lane do not count
                    ended.setdefault(lane, _read(info["metrics"], metric))
        found += [ended[lane] for lane in range(min(env.num_envs, worlds - first))]
    return np.array(found)


def _read(metrics: dict[str, float], name: str) -> float:
    if name not in metrics:
        raise unknown_name("metric", name, metrics)
    return metrics[name]
