"""Arrays and facts on disk, without pickle: safetensors and JSON, read within limits and written atomically.

Reading a file never runs code; it returns the contents or raises `InputError`, whatever the file holds.
"""

from __future__ import annotations

import hashlib
import json
import os
import stat
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ...scenarios.errors import InputError

Arrays = Mapping[str, NDArray[Any]]
MOST_JSON = 1 << 20
"""Most bytes of a JSON file."""
MOST_TENSORS = 1 << 28
"""Most bytes of a safetensors file."""
MOST_NAMES = 4096
"""Most tensors in a file."""
MOST_SHOWN = 120
"""Most characters of a value in an error."""
DTYPES = {"F32": np.float32, "F64": np.float64, "I32": np.int32, "I64": np.int64, "U8": np.uint8}
"""Legal types of a tensor, by their names in a file."""
INSTALL = "checkpoints need safetensors; install it with: pip install 'varigym[learn]'"


def sha256(data: bytes) -> str:
    """Return the hexadecimal SHA-256 digest."""
    return hashlib.sha256(data).hexdigest()


def read_bytes(path: Path, most: int) -> bytes:
    """Read a regular file of at most `most` bytes. Raises `InputError` if it is missing, unreadable or larger."""
    try:
        with open(path, "rb", opener=_without_waiting) as file:
            if not stat.S_ISREG(os.fstat(file.fileno()).st_mode):
                raise InputError(f"{path}: not a file")
            data = file.read(most + 1)
    except FileNotFoundError:
        raise InputError(f"{path}: no such file") from None
    except (OSError, ValueError) as error:  # ValueError: a path with a null character
        if isinstance(error, InputError):
            raise
        raise InputError(f"{path}: cannot be read ({getattr(error, 'strerror', None) or error})") from None
    if len(data) > most:
        raise InputError(f"{path}: larger than {most:,} bytes; legal: at most that")
    return data


def _without_waiting(path: str, flags: int) -> int:
    """Open a pipe without waiting for its writer."""
    return os.open(path, flags | getattr(os, "O_NONBLOCK", 0))


def write_bytes(path: Path, data: bytes) -> None:
    """Write a file atomically: it holds the old or the new bytes, whatever happens meanwhile.

    Raises `InputError` if the file system refuses.
    """
    part = path.with_name(f"{path.name}.{os.getpid()}.part")
    try:
        with part.open("wb") as file:
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
        part.replace(path)
    except OSError as error:
        part.unlink(missing_ok=True)
        raise InputError(f"{path}: cannot be written ({error.strerror})") from None


def pack(arrays: Arrays, facts: Mapping[str, str] | None = None) -> bytes:
    """Convert arrays and texts to the bytes of a safetensors file; equal contents give equal bytes."""
    try:
        from safetensors.numpy import save
    except ImportError:
        raise InputError(INSTALL) from None
    ordered = {name: np.ascontiguousarray(arrays[name]).reshape(np.shape(arrays[name])) for name in sorted(arrays)}
    for name, array in ordered.items():
        if array.dtype not in list(DTYPES.values()):
            legal = ", ".join(np.dtype(kind).name for kind in DTYPES.values())
            raise InputError(f"array '{name}' is of {array.dtype}; legal: {legal}")
    return save(ordered, dict(facts) if facts else None)


def unpack(path: Path, data: bytes) -> dict[str, NDArray[Any]]:
    """Return the arrays of a safetensors file that was read from `path`. Raises `InputError` for illegal contents."""
    try:
        from safetensors import SafetensorError, deserialize
    except ImportError:
        raise InputError(INSTALL) from None
    try:
        found = deserialize(data)
    except (SafetensorError, ValueError, OverflowError, MemoryError) as error:
        raise InputError(f"{path}: not a safetensors file ({shown(str(error))})") from None
    if len(found) > MOST_NAMES:
        raise InputError(f"{path}: {len(found)} tensors; legal: at most {MOST_NAMES}")
    arrays: dict[str, NDArray[Any]] = {}
    for name, view in found:
        if view["dtype"] not in DTYPES:
            raise InputError(f"{path}: tensor {shown(name)} is {view['dtype']}; legal: {', '.join(DTYPES)}")
        try:
            arrays[name] = np.frombuffer(view["data"], DTYPES[view["dtype"]]).reshape(view["shape"])
        except (ValueError, OverflowError):  # an axis of 0 together with a far too large one
            raise InputError(f"{path}: tensor {shown(name)} has shape {shown(view['shape'])}; not possible") from None
    return arrays


def texts_of(path: Path, data: bytes) -> dict[str, str]:
    """Return the texts of a file whose arrays `unpack` has read."""
    size = int.from_bytes(data[:8], "little")
    held = parse(path, data[8 : 8 + size]).get("__metadata__", {})
    return {name: text for name, text in held.items() if isinstance(text, str)} if isinstance(held, dict) else {}


def as_json(value: Mapping[str, Any]) -> bytes:
    """Write a JSON object. Raises `InputError` for NaN, infinity and values that JSON cannot hold."""
    try:
        text = json.dumps(value, indent=1, allow_nan=False)
    except (TypeError, ValueError) as error:
        raise InputError(f"a checkpoint holds texts, numbers, lists and dictionaries; {error}") from None
    return text.encode() + b"\n"


def parse(path: Path, data: bytes) -> dict[str, Any]:
    """Return the JSON object of a file that was read from `path`. Raises `InputError` for other contents."""
    try:
        value = json.loads(data.decode(), object_pairs_hook=_distinct, parse_constant=_refuse)
    except (ValueError, RecursionError) as error:  # from JSON, from UTF-8, or from the hooks below
        raise InputError(f"{path}: not JSON ({shown(str(error))})") from None
    if not isinstance(value, dict):
        raise InputError(f"{path}: a JSON {type(value).__name__}; legal: an object")
    return value


def shown(value: object) -> str:
    """Show a value from a file, short and without control characters for a terminal."""
    text = ascii(value)
    return text if len(text) <= MOST_SHOWN else f"{text[: MOST_SHOWN - 3]}..."


def _distinct(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) < len(pairs):
        twice = next(name for name, _ in pairs if [other for other, _ in pairs].count(name) > 1)
        raise ValueError(f"field {shown(twice)} is given twice")
    return found


def _refuse(word: str) -> None:
    raise ValueError(f"{word} is no number")
