from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from varigym.scenarios.cluster.traces.models import MODELS, Model, read_models
from varigym.scenarios.errors import InputError

WriteFile = Callable[[str | bytes], Path]

MEASURED = "model,iter_s,fu_pct,dram_pct\ndense,1,95,20\nmixed,1,60,60\ntable,1,30,70\ngraph,1,5,95\n"


def test_own_models_are_added_and_win(write: WriteFile) -> None:
    models = read_models(write("model,iter_s,app_class\nllama,2.5,A\nBERT,0.5,D\n"))
    assert models == MODELS | {"llama": Model(2.5, "A"), "BERT": Model(0.5, "D")}


def test_classes_may_come_from_utilisation(write: WriteFile) -> None:
    models = read_models(write(MEASURED))
    assert [models[name].app_class for name in ("dense", "mixed", "table", "graph")] == ["A", "B", "C", "D"]


def test_a_given_class_wins_over_utilisation(write: WriteFile) -> None:
    models = read_models(write("model,iter_s,app_class,fu_pct,dram_pct\nown,1,D,99,1\n"))
    assert models["own"].app_class == "D"


@pytest.mark.parametrize(
    "content",
    [b"\xef\xbb\xbfmodel,iter_s,app_class\nown,1,B\n", b"model,iter_s,app_class,note\r\nown,1,B,hello\r\n"],
    ids=["bom", "crlf-and-extra-column"],
)
def test_harmless_variants_read_the_same(write: WriteFile, content: bytes) -> None:
    assert read_models(write(content))["own"] == Model(1.0, "B")


@pytest.mark.parametrize(
    ("content", "parts"),
    [
        ("", ["the file is empty"]),
        ("model,iter_s,app_class\n", ["no rows"]),
        ("model,app_class\na,A\n", ["line 1", "no column iter_s"]),
        ("model,iter_s\na,1\n", ["line 1", "app_class", "fu_pct", "dram_pct"]),
        ("model,iter_s,fu_pct\na,1,1\n", ["line 1", "app_class", "dram_pct"]),
        ("model,iter_s,app_class\na,0,A\n", ["line 2", "iter_s = '0'", "a finite number > 0"]),
        ("model,iter_s,app_class\na,-1,A\n", ["line 2", "iter_s = '-1'", "a finite number > 0"]),
        ("model,iter_s,app_class\na,nan,A\n", ["line 2", "iter_s = 'nan'", "a finite number > 0"]),
        ("model,iter_s,app_class\na,fast,A\n", ["line 2", "iter_s = 'fast'", "a finite number > 0"]),
        ("model,iter_s,app_class\na,1,E\n", ["line 2", "app_class = 'E'", "A, B, C, D"]),
        ("model,iter_s,app_class\na,1,\n", ["line 2", "app_class = ''"]),
        ("model,iter_s,app_class\n,1,A\n", ["line 2", "model = ''", "a name"]),
        ("model,iter_s,app_class\na,1,A\na,2,B\n", ["line 3", "model = 'a'", "line 2 has the same"]),
        (f"{MEASURED}odd,1,-1,50\n", ["line 6", "fu_pct = '-1'"]),
        (f"{MEASURED}odd,1,101,50\n", ["line 6", "fu_pct = '101'", "100"]),
        (f"{MEASURED}odd,1,50,100.5\n", ["line 6", "dram_pct = '100.5'", "100"]),
        ("model,iter_s,fu_pct,dram_pct\na,1,90,10\nb,1,10,90\n", ["2 models cannot form 4 classes"]),
        (b"\x00", ["not a text file"]),
        ("model,iter_s,app_class\ncaf\xe9,1,A\n".encode("latin-1"), ["not UTF-8"]),
    ],
    ids=lambda value: value[-1] if isinstance(value, list) else "",
)
def test_a_bad_file_is_refused_by_file_line_value_and_rule(
    write: WriteFile, content: str | bytes, parts: list[str]
) -> None:
    path = write(content)
    with pytest.raises(InputError) as refusal:
        read_models(path)
    for part in [str(path), *parts]:
        assert part in str(refusal.value)


@pytest.mark.parametrize("name", ["", "none.csv"])
def test_a_path_that_cannot_be_read_is_refused(tmp_path: Path, name: str) -> None:
    with pytest.raises(InputError, match=rf"{tmp_path / name}: cannot be read"):
        read_models(tmp_path / name)
