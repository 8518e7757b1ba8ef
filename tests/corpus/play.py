"""Episodes of the environments under random legal actions, drawn from the mask by a seeded generator."""

from __future__ import annotations

from typing import Any

import gymnasium
import numpy as np
from corpus.packing import Array, Arrays
from corpus.records import add_record
from corpus.trail import Trail, text

CLUSTER, SERVERLESS = "varigym/GpuCluster-v0", "varigym/ServerlessGpu-v0"


def draw(rng: np.random.Generator, mask: Array) -> int:
    """A legal action; 0 where there is none, which is after the end."""
    legal = np.flatnonzero(mask)
    return int(rng.choice(legal)) if len(legal) else 0


def single(name: str, steps: int, **keywords: Any) -> Arrays:
    """Steps of one environment, over as many episodes as they take: the first of world 1, then of worlds drawn."""
    env, trail, rng = gymnasium.make(name, **keywords), Trail(), np.random.default_rng(5)
    observation = _reset(env, trail, seed=11, options={"world": 1})
    for _ in range(steps):
        observation, over = _step(env, trail, draw(rng, observation["action_mask"]))
        if over:
            observation = _reset(env, trail)
    return trail.arrays()


def branches(name: str, steps: int, **keywords: Any) -> Arrays:
    """The same steps twice from one saved state, with the record up to there."""
    env, trail = gymnasium.make(name, **keywords), Trail()
    observation = _reset(env, trail, seed=3)
    observation, _ = _step(env, trail, draw(np.random.default_rng(0), observation["action_mask"]))
    state = env.unwrapped.get_state()
    for seed in (1, 2):
        env.unwrapped.set_state(state)
        rng, mask, over = np.random.default_rng(seed), observation["action_mask"], False
        for _ in range(steps):
            if not over:
                after, over = _step(env, trail, draw(rng, mask))
                mask = after["action_mask"]
        add_record(trail, "record", env.unwrapped.record())
    return trail.arrays()


def words(name: str, steps: int, **keywords: Any) -> Arrays:
    """What is legal in words, and pictures in characters."""
    env, rng, lines = gymnasium.make(name, render_mode="ansi", **keywords), np.random.default_rng(1), []
    observation, _ = env.reset(seed=2)
    for _ in range(steps):
        legal = np.flatnonzero(observation["action_mask"])
        lines += [env.render(), *map(env.unwrapped.describe, legal)]
        observation, _, terminated, truncated, _ = env.step(draw(rng, observation["action_mask"]))
        if terminated or truncated:
            observation, _ = env.reset()
    return {"words": text(lines)}


def batch(name: str, steps: int, lanes: int = 3, autoreset_mode: str = "NextStep", **keywords: Any) -> Arrays:
    """Steps of a native batch.

    That of the serverless platform ends with the first episode under `NextStep`.
    """
    first_only = name == SERVERLESS and autoreset_mode == "NextStep"
    envs = gymnasium.make_vec(name, num_envs=lanes, autoreset_mode=autoreset_mode, **keywords)
    trail, rng = Trail(), np.random.default_rng(7)
    observation, info = envs.reset(seed=4, options={"worlds": [0, None, 1]})
    _add(trail, observation, info)
    for _ in range(steps):
        action = np.array([draw(rng, mask) for mask in observation["action_mask"]])
        observation, reward, terminated, truncated, info = envs.step(action)
        trail.add("action", action)
        trail.add("reward_rounded", np.asarray(reward, np.float32))
        trail.add("terminated", terminated)
        trail.add("truncated", truncated)
        _add(trail, observation, info)
        over = terminated | truncated
        if over.any() and first_only:
            break
        if over.any() and autoreset_mode == "Disabled":
            observation, info = envs.reset(options={"reset_mask": over})
            _add(trail, observation, info)
    return trail.arrays()


def _add(trail: Trail, observation: Any, info: Any) -> None:
    trail.add("observation", observation)
    trail.add("info", info)


def _reset(env: Any, trail: Trail, **keywords: Any) -> Any:
    observation, info = env.reset(**keywords)
    _add(trail, observation, info)
    return observation


def _step(env: Any, trail: Trail, action: int) -> tuple[Any, bool]:
    observation, reward, terminated, truncated, info = env.step(action)
    trail.add("action", action)
    trail.add("reward", reward)
    trail.add("terminated", terminated)
    trail.add("truncated", truncated)
    _add(trail, observation, info)
    return observation, terminated or truncated
