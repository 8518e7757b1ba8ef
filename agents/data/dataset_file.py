"""Data sets as files: one `.npz` file each, without pickle.

parts/NAME      [T, size] float32   flat parts of the observations, including `action_mask`
action          [T] int64           the expert's action
score           [T, A] float32      the expert's score per action, -inf where it has none
return_to_go    [T] float64         undiscounted sum of the raw rewards from this step to the end of the episode
episode         [T] int32           index into the list of seeds
exact           [T] bool            whether the action does exactly what the expert planned
ends/NAME       [E, size] float32   observation after the last step of each of E whole episodes; optional
terminated      [E] bool            whether the episode terminated (else it was truncated)
facts           JSON: scenario, teacher, base, seeds, options of the environment, version
"""

from __future__ import annotations

import io
import json
import zipfile
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ...scenarios.errors import InputError
from ..checkpoints.files import MOST_JSON, parse, shown, write_bytes
from .dataset import COLUMNS, Dataset, Endings

FORMAT = "varigym-dataset-1"
MOST_BYTES = 1 << 33
"""Most bytes of all arrays of a file."""
PARTS, ENDS, FACTS, TERMINATED = "parts/", "ends/", "facts", "terminated"


def save_dataset(path: Path, data: Dataset) -> None:
    """Write one compressed file. Raises `InputError` if the file system refuses."""
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
    """Read the data of a file without running code. Raises `InputError`, which names the file and the problem."""
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
    except Exception as error:  # NumPy's header reader passes on all errors of Python's parser
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
    seeds, task, version = told.get("seeds"), told.get("classroom"), told.get("version")
    if not isinstance(seeds, list) or not isinstance(task, dict) or not isinstance(version, str):
        raise InputError("seeds, classroom or version are missing")
    parts, ends = ({n.removeprefix(p): a for n, a in arrays.items() if n.startswith(p)} for p in (PARTS, ENDS))
    columns = {name: array for name, array in arrays.items() if not name.startswith((PARTS, ENDS))}
    endings = Endings(ends, columns.pop(TERMINATED)) if TERMINATED in columns else None
    if set(columns) != set(COLUMNS):
        raise InputError(f"arrays {', '.join(columns)}; legal: {', '.join(COLUMNS)}")
    return Dataset(parts, **columns, seeds=tuple(seeds), facts=task, version=version, endings=endings)
