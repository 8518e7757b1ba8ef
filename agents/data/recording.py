"""Records data sets: an expert demonstrates on the worlds of given seeds."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ...scenarios.errors import InputError
from ..steps import Ending, Follow, MicroStep, obey
from ..task import LearningTask
from .dataset import Dataset, Endings


def record(
    task: LearningTask,
    seeds: Sequence[int],
    follow: Follow = obey,
    most: int | None = None,
    watch: Callable[[int], None] = lambda episodes: None,
    whole: bool = False,
) -> Dataset:
    """Record one episode per seed; the expert says what it would do, and `follow` chooses the action taken.

    With `most`, at most that many steps of each episode are kept, drawn uniformly by the world's seed. With `whole`,
    `InputError` is raised at the first episode that has more steps.
    """
    env, shown_ones, endings = task.env(seeds), [], []
    for world, seed in enumerate(seeds):
        kept, rewards, ending = _episode(task.show(env, world, seed, follow), most, np.random.default_rng(seed))
        if whole and len(kept) < len(rewards):
            told = f"the episode of seed {seed} has {len(rewards)} steps, of which {most} are kept (--most)"
            raise InputError(f"{told}; legal for whole episodes: {len(rewards)} or more")
        to_go = np.cumsum(np.asarray(rewards, np.float64)[::-1])[::-1]
        shown_ones.append([(step, to_go[at], world) for at, step in kept])
        endings.append(ending if len(kept) == len(rewards) and follow is obey else None)
        watch(world + 1)
    flat = [row for rows in shown_ones for row in rows]
    steps = [step for step, _, _ in flat]
    return Dataset(
        parts=_stacked([s.observation for s in steps]),
        action=np.array([s.action for s in steps], np.int64),
        score=np.stack([s.score for s in steps]).astype(np.float32),
        return_to_go=np.array([value for _, value, _ in flat], np.float64),
        episode=np.array([world for _, _, world in flat], np.int32),
        exact=np.array([s.exact for s in steps], np.bool_),
        seeds=tuple(int(seed) for seed in seeds),
        facts=task.facts,
        endings=_endings(endings),
    )


def _stacked(seen: Sequence[Mapping[str, NDArray[Any]]]) -> dict[str, NDArray[np.float32]]:
    return {name: np.stack([parts[name] for parts in seen]).astype(np.float32) for name in seen[0]}


def _endings(found: Sequence[Ending | None]) -> Endings | None:
    whole = [ending for ending in found if ending is not None]
    if len(whole) < len(found):
        return None
    return Endings(_stacked([e.observation for e in whole]), np.array([e.terminated for e in whole], np.bool_))


def _episode(
    steps: Iterable[MicroStep], most: int | None, lots: np.random.Generator
) -> tuple[list[tuple[int, MicroStep]], list[float], Ending | None]:
    """Return (kept steps with their positions, all rewards, the ending); a reservoir bounds memory by `most`."""
    kept: list[tuple[int, MicroStep]] = []
    rewards: list[float] = []
    ending: Ending | None = None
    for at, step in enumerate(steps):
        rewards.append(step.reward)
        ending = step.ending
        if most is None or at < most:
            kept.append((at, step))
        elif (place := int(lots.integers(at + 1))) < most:
            kept[place] = (at, step)
    return sorted(kept, key=lambda pair: pair[0]), rewards, ending
