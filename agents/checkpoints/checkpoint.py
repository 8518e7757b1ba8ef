"""A checkpoint is a policy: a folder with `weights.safetensors` and `config.json`, which is read without running code.

config.json describes the weights (kind, base policy, sizes, inputs, options) and their origin. All of its fields are
required, and unknown fields are refused, because such a field could change what the policy does. Facts that do not
affect the policy are in `training`. The SHA-256 in config.json identifies the weights file.
"""

from __future__ import annotations

import platform
from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from functools import cached_property
from importlib import metadata
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ...scenarios.checks import check_whole
from ...scenarios.errors import InputError, legal_names, unknown_name
from .files import MOST_JSON, MOST_TENSORS, as_json, pack, parse, read_bytes, sha256, shown, unpack, write_bytes
from .network_kinds import MOST_SIZE, NETWORKS, NetworkKind

FORMAT, VERSION = "varigym-checkpoint", 1
WEIGHTS, CONFIG = "weights.safetensors", "config.json"
STATE = "train_state.safetensors"
"""State file of the training run that makes the checkpoint, in the same folder."""
PENDING = "config.json.new"
"""Holds the new facts while their weights replace the old ones."""
HEAD = ("format", "version", "weights_sha256")
MOST_TEXT = 300
PACKAGES = ("varigym", "numpy", "jax", "torch", "stable-baselines3", "sb3-contrib", "safetensors")


@dataclass(frozen=True)
class Training:
    """The origin of weights as texts, numbers and truth values; it is kept and shown, but never interpreted."""

    recipe: str
    """The recipe that made the weights, such as es, imitate or ppo."""
    recipe_options: Mapping[str, Any] = field(default_factory=dict)
    scenarios: tuple[str, ...] = ()
    """Scenarios of the training."""
    seeds: tuple[int, ...] = ()
    """Seeds of the learner."""
    teacher: str = ""
    """The policy that was copied or improved."""
    notes: Mapping[str, Any] = field(default_factory=dict)
    """Further facts, such as figures on validation worlds."""

    def __post_init__(self) -> None:
        _check_text("recipe", self.recipe)
        _check_text("teacher", self.teacher, least=0)
        for name in ("scenarios", "seeds"):
            if isinstance(given := getattr(self, name), str) or not isinstance(given, tuple | list):
                raise InputError(f"{name} = {shown(given)}; legal: a list")
            object.__setattr__(self, name, tuple(given))
        for scenario in self.scenarios:
            _check_text("scenarios", scenario)
        for seed in self.seeds:
            check_whole("seeds", seed, 0)
        for name in ("recipe_options", "notes"):
            _check_facts(name, getattr(self, name))


def _versions() -> dict[str, str]:
    """Return the versions of all packages that may affect the weights."""
    found = {"python": platform.python_version()}
    for name in PACKAGES:
        try:
            found[name] = metadata.version(name)
        except metadata.PackageNotFoundError:
            continue
    return found


class WeightsError(InputError):
    """Weights that do not fit the rest of a checkpoint."""


@dataclass(frozen=True, eq=False)
class Checkpoint:
    """Weights, and all that is needed to act with them. Raises `InputError` if the parts do not fit together."""

    kind: str
    """Kind of network, one of `network_kinds.NETWORKS`."""
    base: str
    """Name of the expert that an index changes, or that is the base policy of the environment."""
    sizes: Mapping[str, int]
    options: Mapping[str, Any]
    weights: Mapping[str, NDArray[np.float32]]
    training: Training
    inputs: tuple[str, ...] = ()
    """Names of the network's inputs; default: the inputs that this version shows."""
    versions: Mapping[str, str] = field(default_factory=_versions)

    def __post_init__(self) -> None:
        if not isinstance(self.kind, str) or self.kind not in NETWORKS:
            raise unknown_name("kind of network", shown(self.kind), NETWORKS)
        _check_text("base", self.base)
        _check_names("sizes", self.sizes, self.network.sizes)
        _check_names("options", self.options, self.network.options)
        for name, value in self.sizes.items():
            check_whole(f"sizes.{name}", value, 1, MOST_SIZE)
        self.network.check(self.options)
        if not isinstance(self.training, Training):
            raise InputError(f"training = {shown(self.training)}; legal: Training(...)")
        _check_facts("versions", self.versions)
        object.__setattr__(self, "inputs", _checked_inputs(self.inputs, self.network.inputs(self.options)))
        wanted = self.network.shapes(self.sizes, self.options)
        try:
            object.__setattr__(self, "weights", _checked_weights(self.weights, wanted))
        except InputError as error:
            raise WeightsError(str(error)) from None

    @property
    def network(self) -> NetworkKind:
        """The kind of the network."""
        return NETWORKS[self.kind]

    @cached_property
    def weights_bytes(self) -> bytes:
        """Contents of the weights file."""
        return pack(self.weights)

    @cached_property
    def identity(self) -> str:
        """Digest of all that determines the policy's actions; `training` is not part of it."""
        deciding = {name: _plain(getattr(self, name)) for name in ("kind", "base", "sizes", "options", "inputs")}
        ordered = dict(sorted(deciding.items())) | {"weights": sha256(self.weights_bytes)}
        return sha256(as_json(ordered))


def save_checkpoint(folder: Path | str, checkpoint: Checkpoint) -> Path:
    """Write a checkpoint, replacing an earlier one; an interrupted write leaves the old or the new one.

    Raises `InputError` if the file system refuses.
    """
    folder = Path(folder)
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise InputError(f"{folder}: cannot be made ({error.strerror})") from None
    stored = {f.name: _plain(getattr(checkpoint, f.name)) for f in fields(checkpoint) if f.name != "weights"}
    head = dict(zip(HEAD, (FORMAT, VERSION, sha256(checkpoint.weights_bytes)), strict=True))
    facts = as_json(head | stored)
    write_bytes(folder / PENDING, facts)
    write_bytes(folder / WEIGHTS, checkpoint.weights_bytes)
    (folder / PENDING).replace(folder / CONFIG)
    return folder


def load_checkpoint(folder: Path | str) -> Checkpoint:
    """Read the checkpoint of a folder. Raises `InputError`, which names the file and the illegal field."""
    folder = Path(folder)
    if not is_folder(folder):
        raise InputError(f"checkpoint {shown(str(folder))}: no such folder")
    path = folder / WEIGHTS
    if not path.exists() and not (folder / CONFIG).exists():
        begun = "a run that has learned nothing yet; go on with it" if (folder / STATE).exists() else "no checkpoint"
        raise InputError(f"{folder} holds {begun}; legal: a folder with {WEIGHTS} and {CONFIG}")
    data = read_bytes(path, MOST_TENSORS)
    config, stored = _config_of(folder, sha256(data))
    arrays = unpack(path, data)
    try:
        training = Training(**_exactly("training", stored.pop("training"), [f.name for f in fields(Training)]))
        return Checkpoint(**stored, weights=arrays, training=training)
    except InputError as error:
        raise InputError(f"{path if isinstance(error, WeightsError) else config}: {error}") from None


def is_folder(path: Path) -> bool:
    """Whether there is a folder of that name; False also for impossible names."""
    try:
        return path.is_dir()
    except (OSError, ValueError):
        return False


def _config_of(folder: Path, digest: str) -> tuple[Path, dict[str, Any]]:
    """Return (file, its fields without the head) with the facts of the weights with this digest."""
    path = folder / CONFIG
    pending = folder / PENDING
    if pending.is_file():  # an interrupted write; it counts if its weights were already in place
        waiting = _read_config(pending)
        if waiting["weights_sha256"] == digest:
            path = pending
    stored = _read_config(path)
    if stored["weights_sha256"] != digest:
        told = shown(stored["weights_sha256"])
        raise InputError(f"{folder / WEIGHTS}: SHA-256 is {digest}, {CONFIG} says {told}; the file was changed")
    return path, {name: value for name, value in stored.items() if name not in HEAD}


def _read_config(path: Path) -> dict[str, Any]:
    stored = parse(path, read_bytes(path, MOST_JSON))
    if stored.get("format") != FORMAT:
        raise InputError(f"{path}: format = {shown(stored.get('format'))}; legal: '{FORMAT}'")
    version = stored.get("version")
    if isinstance(version, bool) or version != VERSION:
        raise InputError(f"{path}: version = {shown(version)}; this version of varigym reads {VERSION}")
    names = [*HEAD, *(f.name for f in fields(Checkpoint) if f.name != "weights")]
    try:
        return _exactly("config", stored, names)
    except InputError as error:
        raise InputError(f"{path}: {error}") from None


def _exactly(what: str, stored: Any, names: list[str]) -> dict[str, Any]:
    """Return a dictionary with exactly these names. Raises `InputError` if any is missing or unknown."""
    _check_names(what, stored, tuple(names))
    return dict(stored)


def _check_names(what: str, given: Any, names: tuple[str, ...]) -> None:
    if not isinstance(given, Mapping):
        raise InputError(f"{what} = {shown(given)}; legal: {', '.join(names) or 'an empty dictionary'}")
    for name in given:
        if name not in names:
            raise InputError(f"{what} has a field {shown(name)}; {legal_names(name, names)}")
    for name in names:
        if name not in given:
            raise InputError(f"{what} lacks the field '{name}'")


def _check_text(what: str, value: Any, least: int = 1) -> None:
    if not isinstance(value, str) or not least <= len(value) <= MOST_TEXT or not (value.isprintable()):
        raise InputError(f"{what} = {shown(value)}; legal: {least} to {MOST_TEXT} printable characters")


def _check_facts(what: str, given: Any) -> None:
    """Raise `InputError` unless these are names and plain values."""
    if not isinstance(given, Mapping):
        raise InputError(f"{what} = {shown(given)}; legal: names and values")
    for name, value in given.items():
        _check_text(f"a name in {what}", name)
        if not isinstance(value, str | int | float | bool | None) or (
            isinstance(value, float) and not np.isfinite(value)
        ):
            raise InputError(f"{what}.{shown(name)} = {shown(value)}; legal: a text, a finite number, a truth value")


def _checked_inputs(given: Any, wanted: tuple[str, ...]) -> tuple[str, ...]:
    if not isinstance(given, tuple | list):
        raise InputError(f"inputs = {shown(given)}; legal: a list of names")
    for mine, theirs in zip(wanted, given, strict=False):
        if mine != theirs:
            raise InputError(f"inputs: the network was trained on {shown(theirs)} where this version shows '{mine}'")
    if given and len(given) != len(wanted):
        raise InputError(f"inputs: the network was trained on {len(given)} of them, this version shows {len(wanted)}")
    return wanted


def _checked_weights(given: Any, wanted: Mapping[str, tuple[int, ...]]) -> dict[str, NDArray[np.float32]]:
    """Raise `InputError` unless the weights have exactly the wanted names and shapes, finite and in float32."""
    _check_names("weights", given, tuple(wanted))
    for name, shape in wanted.items():
        array = given[name]
        if not isinstance(array, np.ndarray) or array.dtype != np.float32:
            kind = array.dtype if isinstance(array, np.ndarray) else type(array).__name__
            raise InputError(f"weight {name} is of {kind}; legal: float32")
        if array.shape != shape:
            raise InputError(f"weight {name} has shape {list(array.shape)}; legal by the sizes: {list(shape)}")
        if not np.isfinite(array).all():
            raise InputError(f"weight {name} is not finite; legal: finite numbers")
    return {name: np.array(given[name]) for name in wanted}


def _plain(value: Any) -> Any:
    """Convert to a value that JSON can hold."""
    if isinstance(value, Training):
        return {f.name: _plain(getattr(value, f.name)) for f in fields(value)}
    if isinstance(value, Mapping):
        return {str(name): _plain(part) for name, part in value.items()}
    if isinstance(value, tuple):
        return [_plain(part) for part in value]
    return value.item() if isinstance(value, np.generic) else value
