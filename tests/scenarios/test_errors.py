from __future__ import annotations

from collections.abc import Callable

import pytest
import varigym
from varigym.envs.faces.spaces import reset_options
from varigym.scenarios.checks import as_member
from varigym.scenarios.cluster.scenario import Compat
from varigym.scenarios.cluster.source import ClusterPlatform
from varigym.scenarios.errors import InputError, legal_names, unknown_name
from varigym.scenarios.serverless.source import ServerlessPlatform


def test_the_closest_names_come_first_and_all_of_them_where_none_is_close() -> None:
    assert str(unknown_name("fruit", "aple", ["apple", "kiwi"])) == "unknown fruit 'aple'; did you mean apple?"
    assert str(unknown_name("fruit", "kiwi", ["apple", "pear"])) == "unknown fruit 'kiwi'; legal: apple, pear"
    assert legal_names(7, ["apple", "pear"]) == "legal: apple, pear"
    assert legal_names("kiwi", []) == "legal: none"
    assert legal_names("kiwi", (f"name-{k}" for k in range(14))).endswith("name-11 and 2 more")


MISSPELT: dict[str, tuple[Callable[[], object], str]] = {
    "a member": (lambda: as_member("compat", "papr", Compat), "compat = 'papr'; did you mean paper?"),
    "compat": (lambda: ClusterPlatform(compat="artefact"), "compat = 'artefact'; did you mean artifact?"),
    "scan": (lambda: ServerlessPlatform(scan="slak"), "scan = 'slak'; did you mean slack?"),
    "a knob": (lambda: varigym.find_source("sia-64:compat=papr"), "compat = 'papr'; did you mean paper?"),
    "a machine": (
        lambda: varigym.find_source("sia-64:cluster=longhron").build(0),
        "cluster = 'longhron'; did you mean longh",
    ),
    "a search": (lambda: varigym.find_scheduler("orion:search=best-frist"), "search = 'best-frist'; did you mean best"),
    "an option of reset": (lambda: reset_options({"wrld": 1}, "world"), "reset option 'wrld'; did you mean world?"),
}


@pytest.mark.parametrize("case", MISSPELT)
def test_a_misspelt_name_is_answered_with_the_closest(case: str) -> None:
    call, message = MISSPELT[case]
    with pytest.raises(InputError) as error:
        call()
    assert str(error.value).startswith(message)
