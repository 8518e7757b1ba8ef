"""The networks of `torch_networks` as pure functions, so that whole episodes under them are one XLA program.

Weights have torch's names and shapes, which do not depend on the number of candidates. Matrix products are loops over
blocks of inputs, because XLA does not compile its own products into the single machine function of an episode.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax
from numpy.typing import NDArray

from ...envs.cluster.mdp.observation import SLOT_FEATURES
from ...envs.serverless.mdp.observation import CONFIG_FEATURES, QUEUE_FEATURES
from ...envs.serverless.mdp.platform_features import INVOKER_FEATURES, OTHER_FEATURES

Parts = Mapping[str, jax.Array]
Prepared = dict[str, jax.Array]
BLOCK = 8
"""Inputs that one iteration of a loop adds up."""
ROWS = range(8, 25)
"""Configurations scored at once; a chunk is skipped if the queue can fill none of its batches."""
PRESENT = SLOT_FEATURES.index("present")
ENOUGH = CONFIG_FEATURES.index("the queue holds its batch")
LEFT = CONFIG_FEATURES.index("slack less it and the fastest later stages over SLO")
SLACK = QUEUE_FEATURES.index("slack over SLO")
CELL_FEATURES = 4
"""Log slowdown, within one node, bin / V, KEEP."""
FAR_BELOW = -1e8
"""Score of configurations that cannot be chosen, as in `torch_networks`."""


@dataclass(frozen=True)
class Network:
    """A kind of network. Kinds are compared by identity, so that all weights of one shape share one program."""

    prepare: Callable[[Mapping[str, Any]], Prepared]
    """Weights -> the arrays that `logits` takes; computed once per episode."""
    logits: Callable[[Prepared, Parts, jax.Array], jax.Array]
    """(prepared, parts of one observation, mask [actions] bool) -> logits [actions], -inf where the mask is False."""


def arrays_of(network: Any) -> dict[str, NDArray[np.float32]]:
    """Return the parameters of a torch network, without its constants."""
    return {name: value.detach().cpu().numpy().astype(np.float32) for name, value in network.named_parameters()}


def best_legal(logits: jax.Array) -> jax.Array:
    """Return the action [] int32 of the highest logit, ties by number; an illegal action if all logits are NaN."""
    number = jnp.arange(logits.shape[0], dtype=jnp.int32)
    return jnp.min(jnp.where(logits == jnp.max(logits), number, logits.shape[0]))


def dense(x: jax.Array, weight: jax.Array, bias: jax.Array) -> jax.Array:
    """Compute `x @ weight + bias` [N, O] of x [N, K] and weight [K, O], one block of inputs after the other."""
    inputs = x.shape[1]
    whole = inputs - inputs % BLOCK
    total = jnp.broadcast_to(bias[None], (x.shape[0], weight.shape[1]))

    def add(block: jax.Array, total: jax.Array) -> jax.Array:
        at = block * BLOCK
        zero = jnp.zeros_like(at)
        some = lax.dynamic_slice(x, (zero, at), (x.shape[0], BLOCK))
        rows = lax.dynamic_slice(weight, (at, zero), (BLOCK, weight.shape[1]))
        return _add_products(total, some, rows)

    if whole:
        total = lax.fori_loop(jnp.int32(0), jnp.int32(whole // BLOCK), add, total)
    return _add_products(total, x[:, whole:], weight[whole:])


def _add_products(total: jax.Array, x: jax.Array, weight: jax.Array) -> jax.Array:
    for k in range(x.shape[1]):
        total = total + x[:, k, None] * weight[k][None]
    return total


def _most(x: jax.Array) -> jax.Array:
    """Return the maximum over the rows [O] of x [N, O] by halving: XLA would reduce a large array by a call."""
    while (rows := x.shape[0]) > 1:
        half = rows // 2
        x, odd = jnp.maximum(x[:half], x[half : 2 * half]), x[2 * half :]
        x = jnp.concatenate([x, odd]) if odd.shape[0] else x
    return x[0]


def _relu(x: jax.Array) -> jax.Array:
    return jnp.maximum(x, 0.0)


def _layer(prepared: Prepared, name: str, x: jax.Array) -> jax.Array:
    return dense(x, prepared[f"{name}.weight"], prepared[f"{name}.bias"])


def _score_pairs(rows: jax.Array, columns: jax.Array, weight: jax.Array) -> jax.Array:
    """Compute sum_h relu(rows [H, N] + columns [H, M]) weight [H] as [N, M], one hidden unit after the other."""
    blank = jnp.zeros((rows.shape[1], columns.shape[1]), rows.dtype)

    def add(h: jax.Array, total: jax.Array) -> jax.Array:
        row, column = (lax.dynamic_index_in_dim(x, h, keepdims=False) for x in (rows, columns))
        return total + _relu(row[:, None] + column[None]) * lax.dynamic_index_in_dim(weight, h, keepdims=False)

    return lax.fori_loop(jnp.int32(0), jnp.int32(rows.shape[0]), add, blank)


def _turned(weights: Mapping[str, Any]) -> Prepared:
    """Transpose weights to [inputs, outputs]; torch stores [outputs, inputs]."""
    arrays = {name: jnp.asarray(value, jnp.float32) for name, value in weights.items()}
    return {name: array.T if array.ndim == 2 else array for name, array in arrays.items()}


def _slot_logits(prepared: Prepared, parts: Parts, mask: jax.Array) -> jax.Array:
    """Compute the logits of `torch_networks.SlotScorer`."""
    first, cluster = prepared["encode.0.weight"], parts["cluster"]
    features = first.shape[0] - cluster.shape[0] - 1
    rows = parts["jobs"].reshape(-1, features)
    window = rows.shape[0]
    # Inputs that all slots share are multiplied only once, and so is the pool; the result acts as a bias.
    around = dense(cluster[None], first[features:-1], prepared["encode.0.bias"])
    place = jnp.arange(window, dtype=jnp.float32) / window
    hidden = _relu(dense(rows, first[:features], around[0]) + place[:, None] * first[-1][None])
    hidden = jnp.where(rows[:, PRESENT, None] > 0, _relu(_layer(prepared, "encode.2", hidden)), 0.0)
    pooled = _most(hidden)
    width, turn = hidden.shape[1], prepared["next_job.weight"]
    shared = dense(pooled[None], turn[width:], prepared["next_job.bias"])
    next_job = dense(hidden, turn[:width], shared[0])
    slots = next_job + _cell_scores(prepared, parts["cells"].reshape(window, -1))
    logits = jnp.concatenate([slots.ravel(), _layer(prepared, "finish", pooled[None])[0]])
    return jnp.where(mask, logits, -jnp.inf)


def _cell_scores(prepared: Prepared, slowdown: jax.Array) -> jax.Array:
    """Score every cell [W, 2V + 1] by itself; `slowdown` is [W, 2V], and 0 is used for KEEP."""
    bins = slowdown.shape[1] // 2
    level = jnp.arange(bins, dtype=jnp.float32) / bins
    one, none = jnp.ones(bins, jnp.float32), jnp.zeros(bins, jnp.float32)
    within, across = jnp.stack([one, level, none], axis=1), jnp.stack([none, level, none], axis=1)
    marks = jnp.concatenate([within, across, jnp.array([[0, 0, 1]], jnp.float32)])  # [2V + 1, 3]
    weight, last = prepared["cell.0.weight"], prepared["cell.2.weight"][:, 0]
    shift = dense(marks, weight[1:], prepared["cell.0.bias"]).T  # [H, 2V + 1]
    given = jnp.pad(slowdown, ((0, 0), (0, 1)))

    def add(h: jax.Array, total: jax.Array) -> jax.Array:
        by, moved, worth = (lax.dynamic_index_in_dim(x, h, keepdims=False) for x in (weight[0], shift, last))
        return total + _relu(given * by + moved[None]) * worth

    blank = jnp.zeros_like(given) + prepared["cell.2.bias"][None]
    return lax.fori_loop(jnp.int32(0), jnp.int32(last.shape[0]), add, blank)


def _config_logits(prepared: Prepared, parts: Parts, mask: jax.Array) -> jax.Array:
    """Compute the logits of `torch_networks.ConfigScorer`."""
    rows = parts["configs"].reshape(-1, len(CONFIG_FEATURES))
    context = _context(prepared, parts)
    places = _places(prepared, parts)
    scores, pooled = _scored(prepared, rows, context, places)
    seen = jnp.concatenate([context, pooled])[None]
    finish = _layer(prepared, "finish.2", _relu(_layer(prepared, "finish.0", seen)))[0]
    return jnp.where(mask, jnp.concatenate([scores.ravel(), finish]), -jnp.inf)


def _context(prepared: Prepared, parts: Parts) -> jax.Array:
    """Encode everything but the candidates [width]."""
    queue, others = parts["queue"], parts["others"].reshape(-1, len(OTHER_FEATURES))
    waves = _waves(prepared, queue[SLACK][None])[0]
    other = _most(_relu(_layer(prepared, "other.0", others)))
    around = jnp.concatenate([queue, parts["platform"], waves, other])[None]
    return _layer(prepared, "context.2", _relu(_layer(prepared, "context.0", around)))[0]


def _places(prepared: Prepared, parts: Parts) -> jax.Array | None:
    """Encode every invoker [I, width], if actions choose one."""
    if "invoker.weight" not in prepared:
        return None
    return _layer(prepared, "invoker", parts["invokers"].reshape(-1, len(INVOKER_FEATURES)))


def _scored(
    prepared: Prepared, rows: jax.Array, context: jax.Array, places: jax.Array | None
) -> tuple[jax.Array, jax.Array]:
    """Return (scores [X, I or 1], `FAR_BELOW` if the queue does not fill the batch; each hidden unit's maximum)."""
    configs, targets = rows.shape[0], 1 if places is None else places.shape[0]
    size = max((size for size in ROWS if configs % size == 0), default=min(ROWS[-1], configs))
    chunks = -(-configs // size)
    rows = jnp.pad(rows, ((0, chunks * size - configs), (0, 0)))  # padding rows hold no batch

    def score(some: jax.Array) -> tuple[jax.Array, jax.Array]:
        hidden = _encode(prepared, some, context)
        enough = some[:, ENOUGH, None] > 0
        worth = jnp.where(enough, _worth(prepared, hidden, places), FAR_BELOW)
        return worth, _most(jnp.where(enough, hidden, 0.0))

    def skip(some: jax.Array) -> tuple[jax.Array, jax.Array]:
        return jnp.full((size, targets), FAR_BELOW, rows.dtype), jnp.zeros_like(context)

    def step(chunk: jax.Array, held: tuple[jax.Array, jax.Array]) -> tuple[jax.Array, jax.Array]:
        at = chunk * size
        zero = jnp.zeros_like(at)
        some = lax.dynamic_slice(rows, (at, zero), (size, rows.shape[1]))
        worth, most = lax.cond(jnp.any(some[:, ENOUGH] > 0), score, skip, some)
        return lax.dynamic_update_slice(held[0], worth, (at, zero)), jnp.maximum(held[1], most)

    blank = jnp.full((chunks * size, targets), FAR_BELOW, rows.dtype)
    scores, pooled = lax.fori_loop(jnp.int32(0), jnp.int32(chunks), step, (blank, jnp.zeros_like(context)))
    return scores[:configs], pooled


def _encode(prepared: Prepared, rows: jax.Array, context: jax.Array) -> jax.Array:
    """Encode configurations in their context to hidden units [N, width]."""
    weight = prepared["config.weight"]
    features = rows.shape[1]
    hidden = dense(rows, weight[:features], prepared["config.bias"] + context)
    hidden = _relu(dense(_waves(prepared, rows[:, LEFT]), weight[features:], jnp.zeros_like(context)) + hidden)
    return _relu(_layer(prepared, "encode.3", _relu(_layer(prepared, "encode.1", hidden))))


def _worth(prepared: Prepared, hidden: jax.Array, places: jax.Array | None) -> jax.Array:
    """Return the scores [N, I or 1]."""
    if places is None:
        return _layer(prepared, "score", hidden)
    pair = _layer(prepared, "pair", hidden)
    return _score_pairs(pair.T, places.T, prepared["score.weight"][:, 0]) + prepared["score.bias"][None]


def _waves(prepared: Prepared, share: jax.Array) -> jax.Array:
    """Return sines and cosines [N, 2 waves] of a share of the SLO [N]; the weights' shape gives their number."""
    waves = (prepared["config.weight"].shape[0] - len(CONFIG_FEATURES)) // 2
    angle = share[:, None] * (jnp.pi * 2.0 ** jnp.arange(waves, dtype=jnp.float32))[None]
    return jnp.concatenate([jnp.sin(angle), jnp.cos(angle)], axis=1)


SLOTS = Network(_turned, _slot_logits)
CONFIGS = Network(_turned, _config_logits)
