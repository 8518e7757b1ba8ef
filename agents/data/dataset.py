"""Data sets: what experts saw, could do, did, preferred and still had to gain; one `.npz` file, without pickle.

parts/NAME      [T, size] float32   flat parts of the observations, `action_mask` among them
action          [T] int64           what the expert does
score           [T, A] float32      its preference, -inf where it has none
return_to_go    [T] float64         raw rewards from this step on to the end of the episode, undiscounted
episode         [T] int32           place in the list of seeds
exact           [T] bool            the action does precisely what the expert planned
ends/NAME       [E, size] float32   flat parts of what is seen after the last step of each of E whole episodes, or none
terminated      [E] bool            it was the end of the episode, not of its time
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

from ...scenarios.errors import InputError
from ..checkpoints.files import MOST_JSON, parse, shown, write_bytes
from ..cluster.demonstrations import Ending, Follow, MicroStep, obey
from ..task import Classroom
from .dataset_checks import COLUMNS, check_dataset

FORMAT = "varigym-dataset-1"
MOST_BYTES = 1 << 33
"""Bytes of all arrays of a file."""
PARTS, ENDS, FACTS, TERMINATED = "parts/", "ends/", "facts", "terminated"


@dataclass(frozen=True, eq=False)
class Endings:
    """How episodes end of which the data hold every step, the expert's own."""

    parts: Mapping[str, NDArray[np.float32]]
    terminated: NDArray[np.bool_]


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
    endings: Endings | None = None
    """None where steps were left out, or another than the expert acted."""

    def __post_init__(self) -> None:
        check_dataset(self)

    def __len__(self) -> int:
        return len(self.action)

    def rows(self, at: NDArray[Any]) -> Dataset:
        """Some of the steps."""
        columns = {name: getattr(self, name)[at] for name in COLUMNS}
        return replace(self, parts={name: part[at] for name, part in self.parts.items()}, endings=None, **columns)


def record(
    room: Classroom,
    seeds: Sequence[int],
    follow: Follow = obey,
    most: int | None = None,
    watch: Callable[[int], None] = lambda episodes: None,
    whole: bool = False,
) -> Dataset:
    """An episode per seed; the expert says what it would do, `follow` what is done.

    With `most`, that many steps of each episode are kept, drawn evenly by the world's seed; with `whole`, the first
    episode that has more is refused. Raises `InputError`.
    """
    env, shown_ones, endings = room.env(seeds), [], []
    for world, seed in enumerate(seeds):
        kept, rewards, ending = _episode(room.show(env, world, seed, follow), most, np.random.default_rng(seed))
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
        facts=room.facts,
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
    """(steps that are kept with their places, all rewards, the end): a reservoir, so that memory follows `most`."""
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


def joined(one: Dataset, other: Dataset) -> Dataset:
    """Both, the episodes of `other` after those of `one`. Raises `InputError` where they are of other classrooms."""
    refuse_unlike(other, one.facts)
    columns: dict[str, Any] = {n: np.concatenate([getattr(one, n), getattr(other, n)]) for n in COLUMNS}
    columns["episode"][len(one) :] += len(one.seeds)
    parts = {name: np.concatenate([part, other.parts[name]]) for name, part in one.parts.items()}
    endings = _joined_endings(one.endings, other.endings)
    return replace(one, parts=parts, seeds=(*one.seeds, *other.seeds), endings=endings, **columns)


def _joined_endings(one: Endings | None, other: Endings | None) -> Endings | None:
    if one is None or other is None:
        return None
    parts = {name: np.concatenate([part, other.parts[name]]) for name, part in one.parts.items()}
    return Endings(parts, np.concatenate([one.terminated, other.terminated]))


def refuse_unlike(data: Dataset, facts: Mapping[str, Any]) -> None:
    """Raises `InputError` where data were recorded in another classroom than that of `facts`."""
    for name in sorted({*data.facts, *facts}, key=lambda name: (name != "scenario", name)):
        theirs, ours = data.facts.get(name), facts.get(name)
        if theirs != ours:
            raise InputError(f"the data are of {name} = {shown(theirs)}, not {shown(ours)}")


def save_dataset(path: Path, data: Dataset) -> None:
    """Write one compressed file. Raises `InputError` where the system refuses."""
    facts = {"format": FORMAT, "version": data.version, "seeds": list(data.seeds), "classroom": dict(data.facts)}
    arrays: dict[str, NDArray[Any]] = {f"{PARTS}{name}": part for name, part in data.parts.items()}
    arrays |= {name: getattr(data, name) for name in COLUMNS}
    if data.endings:
        arrays |= {f"{ENDS}{name}": part for name, part in data.endings.parts.items()}
        arrays[TERMINATED] = data.endings.terminated
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
            return _read({name: stored[name] for name in stored.files})
    except FileNotFoundError:
        raise InputError(f"{path}: no such file") from None
    except InputError as error:
        raise InputError(f"{path}: {error}") from None
    except Exception as error:  # NumPy's reader of headers lets through whatever Python's parser raises
        raise InputError(f"{path}: not a data set ({shown(str(error))})") from None


def _read(arrays: dict[str, NDArray[Any]]) -> Dataset:
    if FACTS not in arrays:
        raise InputError(f"not a data set: no array '{FACTS}'; legal: what varigym imitate --data-out wrote")
    facts = arrays.pop(FACTS)
    if facts.dtype != np.uint8 or facts.ndim != 1 or facts.size > MOST_JSON:
        raise InputError("facts are no text")
    told = parse(Path(FACTS), facts.tobytes())
    if told.get("format") != FORMAT:
        raise InputError(f"format = {shown(told.get('format'))}; this version reads '{FORMAT}'")
    seeds, room, version = told.get("seeds"), told.get("classroom"), told.get("version")
    if not isinstance(seeds, list) or not isinstance(room, dict) or not isinstance(version, str):
        raise InputError("seeds, classroom or version are missing")
    parts, ends = ({n.removeprefix(p): a for n, a in arrays.items() if n.startswith(p)} for p in (PARTS, ENDS))
    columns = {name: array for name, array in arrays.items() if not name.startswith((PARTS, ENDS))}
    endings = Endings(ends, columns.pop(TERMINATED)) if TERMINATED in columns else None
    if set(columns) != set(COLUMNS):
        raise InputError(f"arrays {', '.join(columns)}; legal: {', '.join(COLUMNS)}")
    return Dataset(parts, **columns, seeds=tuple(seeds), facts=room, version=version, endings=endings)
