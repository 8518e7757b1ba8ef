"""A pytree as two flat buffers, so that a compiled step takes and gives two arrays instead of sixty."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from math import prod
from typing import Any, Generic, TypeVar

import jax
import jax.numpy as jnp

T = TypeVar("T")
Packed = tuple[jax.Array, jax.Array]
"""(whole numbers [I] int32, real numbers [F])"""


@dataclass(frozen=True)
class Packer(Generic[T]):
    """Packs pytrees of one structure. Booleans and keys travel as whole numbers."""

    pack: Callable[[T], Packed]
    unpack: Callable[[Packed], T]


def packer_for(example: T) -> Packer[T]:
    """The packer of pytrees shaped like `example` (arrays or shape descriptions)."""
    leaves, structure = jax.tree.flatten(example)
    kinds = [jnp.dtype(leaf.dtype) for leaf in leaves]
    real = [jnp.issubdtype(kind, jnp.floating) for kind in kinds]

    def pack(tree: T) -> Packed:
        found = jax.tree.leaves(tree)
        whole = [_as_int(x).ravel() for x, r in zip(found, real, strict=True) if not r]
        reals = [x.ravel() for x, r in zip(found, real, strict=True) if r]
        return jnp.concatenate(whole), jnp.concatenate(reals)

    def unpack(packed: Packed) -> T:
        at = [0, 0]
        found: list[Any] = []
        for leaf, kind, r in zip(leaves, kinds, real, strict=True):
            size = prod(leaf.shape)
            piece = packed[r][at[r] : at[r] + size].reshape(leaf.shape)
            at[r] += size
            found.append(piece if r else _from_int(piece, kind))
        return jax.tree.unflatten(structure, found)

    return Packer(pack, unpack)


def _as_int(x: jax.Array) -> jax.Array:
    return jax.lax.bitcast_convert_type(x, jnp.int32) if x.dtype == jnp.uint32 else x.astype(jnp.int32)


def _from_int(x: jax.Array, kind: jnp.dtype[Any]) -> jax.Array:
    return jax.lax.bitcast_convert_type(x, jnp.uint32) if kind == jnp.uint32 else x.astype(kind)
