"""Results on disk: short arrays whole, long ones as a hash, a sample and sums, all of one type in one pool."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

Array = NDArray[Any]
Arrays = dict[str, Array]
WHOLE = 64
"""Arrays up to this size are kept as they are."""
SAMPLE, SUMS = 48, 8
TOLERANCE = {"float64": 1e-12, "float32": 2e-6}
"""Relative to the value, or to the largest of its array, since differences of large numbers carry their errors."""
ROUNDED = "_rounded"
"""Ends the name of an array that is never compared to the last bit."""
INDEX = "index"


def digest(array: Array) -> Arrays:
    """What is kept of an array, by part."""
    flat = np.ascontiguousarray(array).ravel()
    if flat.size <= WHOLE:
        return {"": flat}
    sha = np.frombuffer(hashlib.sha256(flat.tobytes()).digest(), np.uint8)
    parts = {"sha256": sha, "size": np.array([flat.size])}
    if flat.dtype.kind != "f":
        return parts
    finite = np.abs(np.where(np.isfinite(flat), flat, 0).astype(np.float64))
    sums = np.array([part.sum() for part in np.array_split(finite, SUMS)])
    count = np.array([np.isfinite(flat).sum()])
    return parts | {"sample": flat[:: -(-flat.size // SAMPLE)], "sums": sums.astype(flat.dtype), "finite": count}


def digest_all(arrays: Arrays) -> Arrays:
    """`NAME|PART` -> what is kept, of all arrays of a case."""
    return {f"{name}|{part}": kept for name, array in arrays.items() for part, kept in digest(array).items()}


def difference(name: str, expected: Array, found: Array, exact: bool) -> str:
    """In words, how a part of an array differs from what was recorded; empty where it does not."""
    if expected.dtype != found.dtype or expected.shape != found.shape:
        return f"{name}: {found.dtype}{found.shape}, recorded {expected.dtype}{expected.shape}"
    floats, rounded = expected.dtype.kind == "f", name.rsplit("|", 1)[0].endswith(ROUNDED)
    if floats and (rounded or not exact):
        tolerance = TOLERANCE[expected.dtype.name]
        scale = np.max(np.abs(expected), initial=0.0, where=np.isfinite(expected))
        equal = np.allclose(found, expected, rtol=tolerance, atol=tolerance * scale, equal_nan=True)
    else:
        equal = expected.tobytes() == found.tobytes()
    return "" if equal else f"{name}: {found[:8]}, recorded {expected[:8]}"


def differences(expected: Arrays, found: Arrays, exact: bool) -> list[str]:
    """Every part of `expected` that `found` lacks or has otherwise; what is new in `found` is passed over."""
    floats = {name.rsplit("|", 1)[0] for name in expected if name.endswith("|sums")}
    said = []
    for name, array in expected.items():
        whole, part = name.rsplit("|", 1)
        if part == "sha256" and whole in floats and (not exact or whole.endswith(ROUNDED)):
            continue  # one last digit changes the hash of floats
        said.append(difference(name, array, found[name], exact) if name in found else f"{name}: missing")
    return [text for text in said if text]


def save(path: Path, cases: dict[str, Arrays]) -> None:
    """Write what is kept of all cases."""
    index: dict[str, list[Any]] = {}
    pools: dict[str, list[Array]] = {}
    for case, arrays in cases.items():
        index[case] = []
        for name, array in arrays.items():
            index[case].append([name, array.dtype.name, array.size])
            pools.setdefault(array.dtype.name, []).append(array)
    text = np.frombuffer(json.dumps(index).encode(), np.uint8)
    np.savez_compressed(path, **{INDEX: text}, **{name: np.concatenate(pool) for name, pool in pools.items()})


def load(path: Path) -> dict[str, Arrays]:
    """What `save` wrote."""
    with np.load(path, allow_pickle=False) as file:
        pools = {name: file[name] for name in file.files}
    index = json.loads(pools.pop(INDEX).tobytes())
    place = dict.fromkeys(pools, 0)
    cases: dict[str, Arrays] = {}
    for case, entries in index.items():
        cases[case] = {}
        for name, kind, size in entries:
            cases[case][name] = pools[kind][place[kind] : place[kind] + size]
            place[kind] += size
    return cases
