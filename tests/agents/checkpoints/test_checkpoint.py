"""Checkpoints: what is saved comes back, what is not as it must be is refused in one line, and nothing is run."""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import varigym
from hypothesis import given
from hypothesis import strategies as st
from safetensors.numpy import save
from varigym.agents.checkpoints import checkpoint as module
from varigym.agents.checkpoints.checkpoint import (
    CONFIG,
    PENDING,
    STATE,
    WEIGHTS,
    Checkpoint,
    Training,
    load_checkpoint,
    save_checkpoint,
)
from varigym.agents.checkpoints.files import sha256
from varigym.agents.checkpoints.policies import index_checkpoint, load_policy
from varigym.policies.cluster.index_net import LearnedIndex, untrained
from varigym.scenarios.errors import InputError

EXPERT = "las-2d+pal+backfill"
TRAINING = Training("es", {"sigma": 0.1, "pairs": 16}, ("sia-64",), (0, 1), EXPERT, {"ratio": 0.93})


def index(seed: int = 0, hidden: int = 3, scale: float = 0.3) -> Checkpoint:
    lots = np.random.default_rng(seed)
    weights = {
        n: (w + scale * lots.standard_normal(w.shape)).astype(np.float32) for n, w in untrained(0, hidden).items()
    }
    return index_checkpoint(varigym.find_policy(EXPERT), weights, TRAINING)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return save_checkpoint(tmp_path / "run", index())


def facts_of(folder: Path) -> dict[str, Any]:
    return json.loads((folder / CONFIG).read_text())


def put(folder: Path, weights: bytes | None = None, **changes: Any) -> None:
    """Other facts, and the weights that they tell of."""
    facts = facts_of(folder) | changes
    if weights is not None:
        (folder / WEIGHTS).write_bytes(weights)
        facts["weights_sha256"] = sha256(weights)
    (folder / CONFIG).write_text(json.dumps(facts))


def test_what_is_saved_comes_back(folder: Path) -> None:
    found, made = load_checkpoint(folder), index()
    assert all(np.array_equal(found.weights[name], weight) for name, weight in made.weights.items())
    assert (found.kind, found.base, dict(found.sizes), dict(found.options)) == (
        "cluster-index",
        EXPERT,
        {"hidden": 3},
        {},
    )
    assert found.training == TRAINING
    assert found.identity == made.identity
    assert set(found.versions) >= {"varigym", "python", "numpy", "jax"}
    assert sorted(path.name for path in folder.iterdir()) == [CONFIG, WEIGHTS]


def test_a_checkpoint_is_a_policy_with_a_name_that_tells_weights_apart(folder: Path, tmp_path: Path) -> None:
    world, policy = load_policy(folder)
    assert world == "cluster"
    assert isinstance(policy, LearnedIndex)
    assert policy.name.startswith("run@")
    (direct,) = varigym.simulate("tiny", LearnedIndex(varigym.find_policy(EXPERT), index().weights), 0)
    (read,) = varigym.simulate("tiny", str(folder), 0)
    assert read.policy == policy.name
    assert read.jobs.jct_s.tolist() == direct.jobs.jct_s.tolist()
    save_checkpoint(folder, index(seed=1))
    assert load_policy(folder)[1].name != policy.name


def test_other_notes_are_the_same_policy(folder: Path) -> None:
    name = load_policy(folder)[1].name
    put(folder, training=facts_of(folder)["training"] | {"notes": {"who": "me"}})
    assert load_policy(folder)[1].name == name
    put(folder, base="fifo+pal")
    assert load_policy(folder)[1].name != name


WEIGHT_FILES = {
    "another type": ({"w1": np.zeros((26, 3), np.float64)}, "weight w1 is of float64; legal: float32"),
    "a type unknown here": ({"w1": np.zeros((26, 3), np.float16)}, "tensor 'w1' is F16; legal: F32"),
    "another shape": (
        {"w1": np.zeros((3, 26), np.float32)},
        r"weight w1 has shape \[3, 26\]; legal by the sizes: \[26, 3\]",
    ),
    "not a number": ({"w1": np.full((26, 3), np.nan, np.float32)}, "weight w1 is not finite"),
    "infinite": ({"b2": np.full(2, np.inf, np.float32)}, "weight b2 is not finite"),
    "one more": ({"../../evil": np.zeros(2, np.float32)}, r"weights has a field '../../evil'; legal: w1, b1, w2, b2"),
}


@pytest.mark.parametrize("case", WEIGHT_FILES)
def test_weights_that_do_not_fit_are_refused(folder: Path, case: str) -> None:
    changed, message = WEIGHT_FILES[case]
    put(folder, save(dict(index().weights) | changed))
    with pytest.raises(InputError, match=message) as error:
        load_checkpoint(folder)
    assert str(error.value).startswith(f"{folder / WEIGHTS}: ")


CONFIGS: dict[str, tuple[dict[str, Any], str]] = {
    "another format": ({"format": "other"}, "format = 'other'; legal: 'varigym-checkpoint'"),
    "a newer one": ({"version": 2}, "version = 2; this version of varigym reads 1"),
    "an unknown kind": ({"kind": "clutser-index"}, "unknown kind of network .*did you mean cluster-index"),
    "a kind that is a list": ({"kind": ["cluster-index"]}, "unknown kind of network"),
    "another kind": ({"kind": "serverless-scorer"}, "sizes has a field 'hidden'; legal: width, waves, vgpus"),
    "no base": ({"base": ""}, "base = ''; legal: 1 to 300 printable"),
    "control characters": ({"base": "\x1b[2J"}, r"base = '\\x1b\[2J'; legal"),
    "an unknown field": ({"code": "import os"}, "config has a field 'code'"),
    "a size that is none": ({"sizes": {"hidden": -1}}, "sizes.hidden = -1; legal: a whole number, 1 to 4,096"),
    "a huge size": ({"sizes": {"hidden": 10**30}}, "sizes.hidden = 1000"),
    "another size": ({"sizes": {"hidden": 4}}, r"weight w1 has shape \[26, 3\]; legal by the sizes: \[26, 4\]"),
    "no sizes": ({"sizes": {}}, "sizes lacks the field 'hidden'"),
    "an option": ({"options": {"slots": 3}}, "options has a field 'slots'; legal: none"),
    "other inputs": (
        {"inputs": ["age"]},
        "inputs: the network was trained on 'age' where this version shows 'attained",
    ),
    "inputs that are none": ({"inputs": 7}, "inputs = 7; legal: a list of names"),
    "another digest": ({"weights_sha256": "00"}, r"SHA-256 is [0-9a-f]{64}, config.json says '00'"),
    "a training that is none": ({"training": []}, r"training = \[\]; legal"),
    "versions that are none": ({"versions": {"numpy": [1]}}, r"versions.'numpy' = \[1\]; legal"),
}


@pytest.mark.parametrize("case", CONFIGS)
def test_facts_that_do_not_fit_are_refused(folder: Path, case: str) -> None:
    changes, message = CONFIGS[case]
    put(folder, **changes)
    with pytest.raises(InputError, match=message) as error:
        load_checkpoint(folder)
    assert str(folder) in str(error.value)
    assert "\x1b" not in str(error.value)


def test_a_base_that_there_is_not_or_that_sees_too_much_is_refused(folder: Path) -> None:
    put(folder, base="las-3d+pal")
    with pytest.raises(InputError, match=r"run.*las-3d"):
        load_policy(folder)
    put(folder, base="srtf+pal")
    with pytest.raises(InputError, match="clairvoyant"):
        load_policy(folder)


TEXTS = [
    "",
    "[]",
    "{",
    "[" * 100_000,
    '{"a": 1, "a": 2}',
    '{"a": NaN}',
    '{"a": ' + "1" * 5000 + "}",
    "\ufeff{}",
    "null",
]


@pytest.mark.parametrize("text", TEXTS)
def test_what_is_no_json_is_refused(folder: Path, text: str) -> None:
    (folder / CONFIG).write_text(text)
    with pytest.raises(InputError, match=r"config.json: (not JSON|a JSON|format = None)"):
        load_checkpoint(folder)


@pytest.mark.parametrize("name", [CONFIG, WEIGHTS])
def test_missing_oversized_and_strange_files_are_refused(
    folder: Path, name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = folder / name
    for constant in ("MOST_JSON", "MOST_TENSORS"):
        monkeypatch.setattr(module, constant, 10)
    with pytest.raises(InputError, match=rf"{WEIGHTS}: larger than 10 bytes"):
        load_checkpoint(folder)
    monkeypatch.undo()
    path.unlink()
    with pytest.raises(InputError, match=rf"{name}: no such file"):
        load_checkpoint(folder)
    os.mkfifo(path)  # nobody writes to it
    with pytest.raises(InputError, match=rf"{name}: not a file"):
        load_checkpoint(folder)
    path.unlink()
    path.mkdir()
    with pytest.raises(InputError, match=rf"{name}: (not a file|cannot be read)"):
        load_checkpoint(folder)


def test_a_run_without_a_policy_as_yet_is_told_from_other_folders(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"holds no checkpoint; legal: a folder with weights.safetensors and config"):
        load_checkpoint(tmp_path)
    (tmp_path / STATE).write_bytes(b"")
    with pytest.raises(InputError, match="holds a run that has learned nothing yet; go on with it"):
        load_checkpoint(tmp_path)


@pytest.mark.parametrize("name", ["runs/nothing", "a\0/b", "x" * 5000 + "/y"])
def test_a_folder_that_there_is_not_is_refused(name: str) -> None:
    with pytest.raises(InputError, match="no such folder"):
        varigym.simulate("tiny", name)


def test_without_safetensors_it_says_what_to_install(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("safetensors", "safetensors.numpy"):
        monkeypatch.setitem(sys.modules, name, None)
    with pytest.raises(InputError, match=r"pip install 'varigym\[learn\]'"):
        load_checkpoint(folder)


class Killed(BaseException):
    pass


@pytest.mark.parametrize("written", range(4))
def test_an_interrupted_write_leaves_the_old_or_the_new(
    folder: Path, monkeypatch: pytest.MonkeyPatch, written: int
) -> None:
    """Killed before the n-th file is put in place."""
    replace, left = Path.replace, [written]

    def until_killed(path: Path, target: Path) -> Path:
        if not left[0]:
            raise Killed
        left[0] -= 1
        return replace(path, target)

    old, new = index(), index(seed=1)
    monkeypatch.setattr(Path, "replace", until_killed)
    if written < 3:
        with pytest.raises(Killed):
            save_checkpoint(folder, new)
    else:
        save_checkpoint(folder, new)
    monkeypatch.undo()
    assert load_checkpoint(folder).identity == (old if written < 2 else new).identity
    save_checkpoint(folder, new)
    assert load_checkpoint(folder).identity == new.identity
    assert not (folder / PENDING).exists()


def test_a_path_may_be_a_policy_everywhere(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    results = varigym.compare("tiny", ["pal", folder], seeds=1, baseline=str(folder))
    assert [policy.name[:4] for policy in results.grid.policies] == ["fifo", "run@"]
    assert results.grid.baseline == results.grid.policies[1].name
    monkeypatch.chdir(folder.parent)
    (record,) = varigym.simulate("tiny", "run", 0)  # a folder that no catalog knows
    assert record.policy.startswith("run@")
    save_checkpoint(folder.parent / "pal", index())
    (record,) = varigym.simulate("tiny", "pal", 0)  # a name of the catalog wins
    assert record.policy == "fifo+pal"
    with pytest.raises(InputError, match="policy 'run' is for a training cluster; legal for a serverless platform"):
        varigym.simulate("tiny-serverless", "run", 0)


SAVED = index()


@pytest.fixture(scope="module")
def shelf(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder whose files are written anew for every example."""
    return save_checkpoint(tmp_path_factory.mktemp("shelf") / "run", SAVED)


@pytest.fixture(scope="module")
def saved(shelf: Path) -> dict[str, bytes]:
    return {name: (shelf / name).read_bytes() for name in (CONFIG, WEIGHTS)}


def refused_or_equal(shelf: Path, files: dict[str, bytes]) -> None:
    for name, data in files.items():
        (shelf / name).write_bytes(data)
    try:
        found = load_checkpoint(shelf)
    except InputError:
        return
    assert found.identity == SAVED.identity


@given(st.sampled_from([CONFIG, WEIGHTS]), st.integers(0, 10**6), st.integers(1, 255))
def test_a_changed_byte_is_found_out(shelf: Path, saved: dict[str, bytes], name: str, at: int, change: int) -> None:
    data = bytearray(saved[name])
    data[at % len(data)] ^= change
    try:
        refused_or_equal(shelf, saved | {name: bytes(data)})
    except AssertionError:  # a digit of a fact that is legal, and another policy by name
        assert name == CONFIG
        assert load_checkpoint(shelf).identity != SAVED.identity


@given(st.sampled_from([CONFIG, WEIGHTS]), st.integers(0, 10**6))
def test_a_file_cut_short_is_found_out(shelf: Path, saved: dict[str, bytes], name: str, length: int) -> None:
    refused_or_equal(shelf, saved | {name: saved[name][: length % len(saved[name])]})


@given(st.binary(max_size=200) | st.binary(max_size=200).map(lambda data: len(data).to_bytes(8, "little") + data))
def test_any_bytes_are_no_weights(shelf: Path, saved: dict[str, bytes], data: bytes) -> None:
    """Even where the digest is that of these bytes."""
    config = json.loads(saved[CONFIG]) | {"weights_sha256": sha256(data)}
    refused_or_equal(shelf, {WEIGHTS: data, CONFIG: json.dumps(config).encode()})


HEADERS = st.fixed_dictionaries(
    {
        "dtype": st.sampled_from(["F32", "F64", "BF16", "F8_E4M3", "BOOL", "Q", ""]),
        "shape": st.lists(st.integers(-1, 3) | st.sampled_from([0, 26, 2**63, 2**64]), max_size=3),
        "data_offsets": st.lists(st.integers(0, 320) | st.sampled_from([2**64]), min_size=2, max_size=2),
    }
)


@given(st.dictionaries(st.sampled_from(["w1", "b1", "w2", "b2", "__metadata__"]), HEADERS, max_size=4))
def test_any_header_is_refused(shelf: Path, saved: dict[str, bytes], header: dict[str, Any]) -> None:
    text = json.dumps(header).encode()
    data = len(text).to_bytes(8, "little") + text + bytes(320)
    config = json.loads(saved[CONFIG]) | {"weights_sha256": sha256(data)}
    refused_or_equal(shelf, {WEIGHTS: data, CONFIG: json.dumps(config).encode()})


VALUES: Any = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=4), inner, max_size=3),
    max_leaves=4,
)
FIELDS = ["format", "version", "weights_sha256", "kind", "base", "sizes", "options", "training", "inputs", "versions"]
INNER = [
    ("training", "recipe"),
    ("training", "seeds"),
    ("training", "scenarios"),
    ("training", "notes"),
    ("sizes", "hidden"),
]


@given(st.sampled_from(FIELDS) | st.text(max_size=5), VALUES)
def test_any_value_of_any_field_is_refused_or_harmless(
    shelf: Path, saved: dict[str, bytes], name: str, value: Any
) -> None:
    config = json.loads(saved[CONFIG]) | {name: value}
    try:
        refused_or_equal(shelf, saved | {CONFIG: json.dumps(config).encode()})
    except AssertionError:
        assert name == "base"  # any text is one until it is looked up


@given(st.sampled_from(INNER), VALUES)
def test_any_value_inside_a_field_is_refused_or_harmless(
    shelf: Path, saved: dict[str, bytes], at: tuple[str, str], value: Any
) -> None:
    config = json.loads(saved[CONFIG])
    config[at[0]][at[1]] = value
    refused_or_equal(shelf, saved | {CONFIG: json.dumps(config).encode()})
