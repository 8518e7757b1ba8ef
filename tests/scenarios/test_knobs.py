"""The grammar of variants, as scenarios and schedulers share it."""

from __future__ import annotations

from enum import StrEnum

import pytest
from varigym.policies.serverless.catalog import find_scheduler
from varigym.policies.serverless.catalog import knobs as scheduler_knobs
from varigym.scenarios.catalog import find_source, knobs
from varigym.scenarios.errors import InputError
from varigym.scenarios.knobs import SWITCH, base_name, read_knobs


class Way(StrEnum):
    RIGHT = "right"
    LEFT = "left"


PRESENT = {"count": 3, "share": 0.5, "on": True, "way": Way.LEFT, "name": "x", "table": 1.7}


def read(text: str) -> dict[str, object]:
    return read_knobs("thing", text, PRESENT, tables=("table",))


def test_values_get_the_types_of_what_is_there_in_any_order() -> None:
    expected = {"count": 4, "share": 2.0, "on": False, "way": Way.RIGHT, "name": "y", "table": "A=1/B=2"}
    settings = ["count=4", "share=2", "on=off", "way=right", "name=y", "table=A=1/B=2"]
    for words in (settings, settings[::-1]):
        given = read(":".join(["base", *words]))
        assert given == expected
        assert {key: type(value) for key, value in given.items()} == {key: type(v) for key, v in expected.items()}
    assert read("base") == {}
    assert read("base:table=2")["table"] == 2.0
    assert base_name("base:count=4") == base_name("base") == "base"


@pytest.mark.parametrize(
    ("setting", "message"),
    [
        ("count=4.5", "count = '4.5'; legal: a whole number"),
        ("count", "count = ''; legal: a whole number"),
        ("share=half", "share = 'half'; legal: a number"),
        ("on=perhaps", "on = 'perhaps'; legal: true, false, on, off, yes, no, 1, 0"),
        ("way=up", "way = 'up'; legal: right, left"),
        ("counts=4", "unknown knob of base 'counts'; did you mean count"),
        ("count=4:share=1:count=5", "thing 'base:count=4:share=1:count=5': count is given twice"),
        ("share=A=1", "share = 'A=1'; legal: a number"),
    ],
)
def test_what_cannot_be_read_is_refused(setting: str, message: str) -> None:
    with pytest.raises(InputError, match=message):
        read(f"base:{setting}")


@pytest.mark.parametrize("word", SWITCH)
def test_switches_of_scenarios_and_schedulers_take_the_same_words(word: str) -> None:
    scenario, scheduler = find_source(f"strict-heavy:locality={word}"), find_scheduler(f"esg:locality={word}")
    assert knobs(scenario)["locality"][1] is scheduler_knobs(scheduler)["locality"] is SWITCH[word]
