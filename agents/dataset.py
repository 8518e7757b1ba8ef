"""Data sets: what experts saw, could do, did, preferred and still had to gain; one `.npz` file, without pickle.

parts/NAME      [T, size] float32   flat parts of the observations, `action_mask` among them
action          [T] int64           what the expert does
score           [T, A] float32      its preference, -inf where it has none
return_to_go    [T] float64         raw rewards from this step on to the end of the episode, undiscounted
episode         [T] int32           place in the list of seeds
exact           [T] bool            the action does precisely what the expert planned
facts           JSON: scenario, teacher, base, seeds, options of the environment, version
"""

from __future__ import annotations

import io
import json
import zipfile
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from importlib import metadata
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..scenarios.errors import InputError
from .checkpoint_files import MOST_JSON, parse, shown, write_bytes
from .classroom import Classroom
from .demonstrations import Follow, MicroStep, obey

FORMAT = "varigym-dataset-1"
MOST_BYTES = 1 << 33
"""Bytes of all arrays of a file."""
PARTS, MASK, FACTS = "parts/", "action_mask", "facts"
COLUMNS: Mapping[str, tuple[type[np.generic], int]] = {
    "action": (np.int64, 1),
    "score": (np.float32, 2),
    "return_to_go": (np.float64, 1),
    "episode": (np.int32, 1),
    "exact": (np.bool_, 1),
}
"""Name -> type, axes."""


@dataclass(frozen=True, eq=False)
class Dataset:
    """Steps of episodes; see above. Raises `InputError` for what does not fit together."""

    parts: Mapping[str, NDArray[np.float32]]
    action: NDArray[np.int64]
    score: NDArray[np.float32]
    return_to_go: NDArray[np.float64]
    episode: NDArray[np.int32]
    exact: NDArray[np.bool_]
    seeds: tuple[int, ...]
    """Of the worlds, an episode each."""
    facts: Mapping[str, Any]
    """Of the classroom."""
    version: str = metadata.version("varigym")

    def __post_init__(self) -> None:
        _check(self)

    def __len__(self) -> int:
        return len(self.action)

    def rows(self, at: NDArray[Any]) -> Dataset:
        """Some of the steps."""
        columns = {name: getattr(self, name)[at] for name in COLUMNS}
        return replace(self, parts={name: part[at] for name, part in self.parts.items()}, **columns)


def record(
    room: Classroom,
    seeds: Sequence[int],
    follow: Follow = obey,
    most: int | None = None,
    watch: Callable[[int], None] = lambda episodes: None,
) -> Dataset:
    """An episode per seed; the expert says what it would do, `follow` what is done.

    With `most`, that many steps of each episode are kept, drawn evenly by the world's seed. Raises `InputError`.
    """
    env, shown_ones = room.env(seeds), []
    for world, seed in enumerate(seeds):
        kept, rewards = _episode(room.show(env, world, seed, follow), most, np.random.default_rng(seed))
        to_go = np.cumsum(np.asarray(rewards, np.float64)[::-1])[::-1]
        shown_ones.append([(step, to_go[at], world) for at, step in kept])
        watch(world + 1)
    flat = [row for rows in shown_ones for row in rows]
    steps = [step for step, _, _ in flat]
    return Dataset(
        parts={
            name: np.stack([s.observation[name] for s in steps]).astype(np.float32) for name in steps[0].observation
        },
        action=np.array([s.action for s in steps], np.int64),
        score=np.stack([s.score for s in steps]).astype(np.float32),
        return_to_go=np.array([value for _, value, _ in flat], np.float64),
        episode=np.array([world for _, _, world in flat], np.int32),
        exact=np.array([s.exact for s in steps], np.bool_),
        seeds=tuple(int(seed) for seed in seeds),
        facts=room.facts,
    )


def _episode(
    steps: Iterable[MicroStep], most: int | None, lots: np.random.Generator
) -> tuple[list[tuple[int, MicroStep]], list[float]]:
    """(steps that are kept with their places, all rewards): a reservoir, so that memory follows `most`."""
    kept: list[tuple[int, MicroStep]] = []
    rewards: list[float] = []
    for at, step in enumerate(steps):
        rewards.append(step.reward)
        if most is None or at < most:
            kept.append((at, step))
        elif (place := int(lots.integers(at + 1))) < most:
            kept[place] = (at, step)
    return sorted(kept, key=lambda pair: pair[0]), rewards


def joined(one: Dataset, other: Dataset) -> Dataset:
    """Both, the episodes of `other` after those of `one`. Raises `InputError` where they are of other classrooms."""
    refuse_unlike(other, one.facts)
    columns: dict[str, Any] = {n: np.concatenate([getattr(one, n), getattr(other, n)]) for n in COLUMNS}
    columns["episode"][len(one) :] += len(one.seeds)
    parts = {name: np.concatenate([part, other.parts[name]]) for name, part in one.parts.items()}
    return replace(one, parts=parts, seeds=(*one.seeds, *other.seeds), **columns)


def refuse_unlike(data: Dataset, facts: Mapping[str, Any]) -> None:
    """Raises `InputError` where data were recorded in another classroom than that of `facts`."""
    for name in sorted({*data.facts, *facts}):
        theirs, ours = data.facts.get(name), facts.get(name)
        if theirs != ours:
            raise InputError(f"the data are of {name} = {shown(theirs)}, not {shown(ours)}")


def save_dataset(path: Path, data: Dataset) -> None:
    """Write one compressed file. Raises `InputError` where the system refuses."""
    facts = {"format": FORMAT, "version": data.version, "seeds": list(data.seeds), "classroom": dict(data.facts)}
    arrays = {f"{PARTS}{name}": part for name, part in data.parts.items()}
    arrays |= {name: getattr(data, name) for name in COLUMNS}
    text = np.frombuffer(json.dumps(facts, allow_nan=False).encode(), np.uint8)
    file = io.BytesIO()
    np.savez_compressed(file, allow_pickle=False, **arrays, **{FACTS: text})
    write_bytes(path, file.getvalue())


def load_dataset(path: Path) -> Dataset:
    """The data of a file; nothing in it is run. Raises `InputError`, which names the file and what is wrong."""
    try:
        with zipfile.ZipFile(path) as file:
            size = sum(entry.file_size for entry in file.infolist())
        if size > MOST_BYTES:
            raise InputError(f"{size:,} bytes of arrays; legal: at most {MOST_BYTES:,}")
        with np.load(path, allow_pickle=False) as stored:
            return _read(path, {name: stored[name] for name in stored.files})
    except FileNotFoundError:
        raise InputError(f"{path}: no such file") from None
    except InputError as error:
        raise InputError(f"{path}: {error}") from None
    except Exception as error:  # NumPy's reader of headers lets through whatever Python's parser raises
        raise InputError(f"{path}: not a data set ({shown(str(error))})") from None


def _read(path: Path, arrays: dict[str, NDArray[Any]]) -> Dataset:
    facts = arrays.pop(FACTS, np.zeros(0, np.uint8))
    if facts.dtype != np.uint8 or facts.ndim != 1 or facts.size > MOST_JSON:
        raise InputError("facts are no text")
    told = parse(path, facts.tobytes())
    if told.get("format") != FORMAT:
        raise InputError(f"format = {shown(told.get('format'))}; this version reads '{FORMAT}'")
    seeds, room, version = told.get("seeds"), told.get("classroom"), told.get("version")
    if not isinstance(seeds, list) or not isinstance(room, dict) or not isinstance(version, str):
        raise InputError("seeds, classroom or version are missing")
    parts = {name.removeprefix(PARTS): a for name, a in arrays.items() if name.startswith(PARTS)}
    columns = {name: array for name, array in arrays.items() if not name.startswith(PARTS)}
    if set(columns) != set(COLUMNS):
        raise InputError(f"arrays {', '.join(columns)}; legal: {', '.join(COLUMNS)}")
    return Dataset(parts, **columns, seeds=tuple(seeds), facts=room, version=version)


def _check(data: Dataset) -> None:
    """Raises `InputError` for shapes, types and values that cannot be."""
    for name, (kind, axes) in COLUMNS.items():
        _check_array(name, getattr(data, name), np.dtype(kind), axes, len(data.action))
    for name, part in data.parts.items():
        _check_array(f"part {name}", part, np.dtype(np.float32), 2, len(data.action))
        if not np.isfinite(part).all():
            raise InputError(f"part {name} is not finite; legal: finite numbers")
    mask = data.parts.get(MASK)
    if not len(data) or mask is None or data.score.shape != mask.shape:
        raise InputError(f"steps without {MASK}, or scores of another number of actions; legal: at least one step")
    if ((data.action < 0) | (data.action >= mask.shape[1])).any():
        raise InputError(f"an action is not within 0 to {mask.shape[1] - 1}")
    if not (np.isin(mask, (0, 1)).all() and mask[np.arange(len(data)), data.action].all()):
        raise InputError("an action that the expert took is not legal by its mask")
    if np.isnan(data.score).any() or np.isposinf(data.score).any() or not np.isfinite(data.return_to_go).all():
        raise InputError("score or return_to_go is not finite; legal: finite numbers, -inf for no score")
    if any(not isinstance(seed, int) or isinstance(seed, bool) or seed < 0 for seed in data.seeds):
        raise InputError(f"seeds = {shown(data.seeds)}; legal: whole numbers")
    if ((data.episode < 0) | (data.episode >= len(data.seeds))).any():
        raise InputError(f"an episode is not within 0 to {len(data.seeds) - 1}")


def _check_array(name: str, array: NDArray[Any], kind: np.dtype[Any], axes: int, steps: int) -> None:
    if array.dtype != kind or array.ndim != axes or len(array) != steps:
        raise InputError(f"{name} is {array.dtype} {list(array.shape)}; legal: {kind}, {axes} axes, {steps} steps")
