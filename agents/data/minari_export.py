"""Exports data sets to Minari (an extra), a format for offline learning: whole episodes of an expert."""

from __future__ import annotations

import re
import shutil
import warnings
from importlib.util import find_spec
from typing import Any

import numpy as np
from gymnasium import spaces

from ...scenarios.errors import InputError
from ..checkpoints.files import shown
from .dataset import MASK, Dataset, Endings

NEEDED = ("minari", "h5py", "PIL")
INSTALL = "data sets of Minari need it; install it with: pip install 'varigym[offline]'"
LEGAL_ID = re.compile(r"([-\w]+/)*[-\w]+-v\d+")
MOST = float(np.finfo(np.float32).max)


def check_minari_id(dataset_id: str) -> None:
    """Raise `InputError` if Minari is missing, or if the name is illegal or taken."""
    if any(find_spec(name) is None for name in NEEDED):
        raise InputError(INSTALL)
    if not LEGAL_ID.fullmatch(dataset_id):
        raise InputError(f"Minari data set {shown(dataset_id)}; legal: NAMESPACE/NAME-v0, of letters, digits, - and _")
    from minari.storage import get_dataset_path

    if (path := get_dataset_path(dataset_id)).exists():
        raise InputError(f"{path} exists already; choose another name or version than {dataset_id}")


def episodes_of(data: Dataset) -> Endings:
    """Return the endings of the data's episodes. Raises `InputError` if the episodes are not whole."""
    if data.endings is None:
        raise InputError("the data hold no whole episodes of an expert; record them with every step kept (more --most)")
    return data.endings


def export_minari(data: Dataset, dataset_id: str) -> Any:
    """Write the episodes to disk for `minari.load_dataset(dataset_id)`; return Minari's data set.

    Observations are the flat parts, including the mask, one more than there are steps; rewards are raw. Minari chooses
    the folder (`MINARI_DATASETS_PATH`). Raises `InputError` if steps were left out, or the file system refuses.
    """
    check_minari_id(dataset_id)
    endings = episodes_of(data)
    import minari
    from minari.storage import get_dataset_path

    told = _told(data)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # about missing authors and links
            made = minari.create_dataset_from_buffers(
                dataset_id,
                [_episode(data, endings, number) for number in range(len(data.seeds))],
                algorithm_name=told["teacher"],
                description=f"{told['teacher']} on {told['scenario']}, recorded with varigym {data.version}",
                requirements=[f"varigym=={data.version}"],
                observation_space=_space(data),
                action_space=spaces.Discrete(data.score.shape[1]),
            )
            made.storage.update_metadata(told)
    except (OSError, ValueError) as error:
        shutil.rmtree(get_dataset_path(dataset_id), ignore_errors=True)
        raise InputError(f"Minari data set '{dataset_id}': cannot be written ({error})") from None
    return made


def _told(data: Dataset) -> dict[str, Any]:
    """Return the origin of the data, for the metadata."""
    facts = {name: value for name, value in data.facts.items() if value is not None}
    return {**facts, "seeds": list(data.seeds), "varigym_version": data.version}


def _space(data: Dataset) -> spaces.Dict:
    parts = {name: part.shape[1] for name, part in data.parts.items()}
    flat = {name: spaces.Box(-MOST, MOST, (size,), np.float32) for name, size in parts.items() if name != MASK}
    return spaces.Dict({**flat, MASK: spaces.Box(0, 1, (parts[MASK],), np.int8)})


def _episode(data: Dataset, endings: Endings, number: int) -> Any:
    """Return Minari's buffer of an episode."""
    from minari.data_collector import EpisodeBuffer

    at = np.flatnonzero(data.episode == number)
    to_go, last = data.return_to_go[at], np.arange(len(at)) == len(at) - 1
    terminated = bool(endings.terminated[number])
    parts = {name: np.concatenate([part[at], endings.parts[name][number, None]]) for name, part in data.parts.items()}
    return EpisodeBuffer(
        id=number,
        seed=data.seeds[number],
        observations={**parts, MASK: parts[MASK].astype(np.int8)},
        actions=data.action[at].tolist(),
        rewards=(to_go - np.append(to_go[1:], 0.0)).tolist(),
        terminations=(last & terminated).tolist(),
        truncations=(last & (not terminated)).tolist(),
    )
