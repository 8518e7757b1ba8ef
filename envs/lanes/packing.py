"""Packs a pytree into a few flat buffers, so that a compiled step takes and returns two arrays instead of sixty."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from math import prod
from typing import Any, Generic, TypeVar

import jax
import jax.numpy as jnp

T = TypeVar("T")
Packed = tuple[jax.Array, ...]
"""Flat buffers: one for whole numbers (int32) and one per float type that occurs."""


@dataclass(frozen=True)
class Packer(Generic[T]):
    """Packs pytrees of one structure. Booleans, keys and short integers are stored as int32."""

    pack: Callable[[T], Packed]
    unpack: Callable[[Packed], T]


def packer_for(example: T) -> Packer[T]:
    """Return the packer of pytrees shaped like `example` (arrays or shape descriptions)."""
    leaves, structure = jax.tree.flatten(example)
    kinds = [jnp.dtype(leaf.dtype) for leaf in leaves]
    carriers = [kind if jnp.issubdtype(kind, jnp.floating) else jnp.dtype(jnp.int32) for kind in kinds]
    buffers = sorted(set(carriers), key=str)

    def pack(tree: T) -> Packed:
        found = jax.tree.leaves(tree)
        return tuple(
            jnp.concatenate([_carried(x).ravel() for x, c in zip(found, carriers, strict=True) if c == buffer])
            for buffer in buffers
        )

    def unpack(packed: Packed) -> T:
        at = dict.fromkeys(buffers, 0)
        found: list[Any] = []
        for leaf, kind, carrier in zip(leaves, kinds, carriers, strict=True):
            size = prod(leaf.shape)
            start = at[carrier]
            piece = packed[buffers.index(carrier)][start : start + size].reshape(leaf.shape)
            at[carrier] = start + size
            found.append(_restored(piece, kind))
        return jax.tree.unflatten(structure, found)

    return Packer(pack, unpack)


def _carried(x: jax.Array) -> jax.Array:
    if jnp.issubdtype(x.dtype, jnp.floating):
        return x
    return jax.lax.bitcast_convert_type(x, jnp.int32) if x.dtype == jnp.uint32 else x.astype(jnp.int32)


def _restored(x: jax.Array, kind: jnp.dtype[Any]) -> jax.Array:
    return jax.lax.bitcast_convert_type(x, jnp.uint32) if kind == jnp.uint32 else x.astype(kind)
