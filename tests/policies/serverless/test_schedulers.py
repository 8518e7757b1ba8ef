"""Contract of every serverless scheduler: a whole episode, legal and repeatable; and the grammar of their names."""

from __future__ import annotations

from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path

import pytest
from contracts import check_scheduler
from serverless_schedulers import decisions
from varigym.envs.serverless.state import State
from varigym.policies.serverless.catalog import SCHEDULERS, find_scheduler, knobs
from varigym.policies.serverless.planning.aquatope import MISSING
from varigym.policies.serverless.policy import Scheduler
from varigym.scenarios.catalog import find_source
from varigym.scenarios.errors import InputError
from varigym.scenarios.serverless.scenario import ServerlessScenario

QUICK = {"aquatope": "aquatope:plans=1:runs=1"}
"""Variants that say the same in less time."""


@pytest.fixture(scope="module")
def tiny() -> ServerlessScenario:
    return find_source("tiny-serverless").build(0)


@pytest.fixture(autouse=True, scope="module")
def own_cache(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """Plans are made anew, not found where other runs left them."""
    with pytest.MonkeyPatch.context() as patch:
        folder = tmp_path_factory.mktemp("plans")
        patch.setenv("VARIGYM_CACHE", str(folder))
        yield folder


def scheduler_of(name: str) -> Scheduler:
    if name == "aquatope" and find_spec("botorch") is None:
        pytest.skip(MISSING)
    return find_scheduler(QUICK.get(name, name))


def last(scheduler: Scheduler, scenario: ServerlessScenario, seed: int = 0) -> State:
    return list(decisions(scheduler, scenario, seed))[-1][0]


@pytest.mark.parametrize("name", SCHEDULERS)
def test_every_scheduler_keeps_its_contract(name: str, tiny: ServerlessScenario) -> None:
    record = check_scheduler(scheduler_of(name), tiny)
    if not name.startswith(("orion", "aquatope")):
        assert record.misses == 0


@pytest.mark.parametrize("name", SCHEDULERS)
def test_a_scheduler_bears_the_name_it_was_asked_by(name: str) -> None:
    assert find_scheduler(name).name == name
    knob = "margin=0.9" if "margin" in knobs(find_scheduler(name)) else "largest=off"
    varied = find_scheduler(f"{name}:{knob}")
    assert varied.name == f"{name}:{knob}"
    changed = {key for key, value in knobs(varied).items() if value != knobs(find_scheduler(name))[key]}
    assert changed <= {"margin", "largest"}


def test_knobs_are_read_by_the_kind_of_their_default() -> None:
    found = knobs(
        find_scheduler("esg:margin=0.5:k=3:group=2:later_batch=free:no_path=best_effort:replan=off:rescue=YES")
    )
    assert (found["margin"], found["k"], found["group"], found["replan"], found["rescue"]) == (0.5, 3, 2, False, True)
    assert (found["later_batch"], found["no_path"]) == ("free", "best_effort")
    assert find_scheduler("esg:margin=1").margin == 1.0  # type: ignore[attr-defined]


def test_esg_literal_is_esg_with_the_described_knobs() -> None:
    ours, literal = (knobs(find_scheduler(name)) for name in ("esg", "esg-literal"))
    assert {key: literal[key] for key in ours if ours[key] != literal[key]} == {
        "margin": 1.0,
        "candidates": "paths",
        "no_path": "best_effort",
        "retries": 3,
        "rescue": True,
    }


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("esgg", "unknown scheduler 'esgg'; did you mean esg"),
        ("fastgshare", "did you mean fast-gshare"),
        ("mni-config", "did you mean min-config"),
        ("", "unknown scheduler ''; legal: esg, "),
        ("ESG", "unknown scheduler 'ESG'"),
        (":margin=1", "unknown scheduler ''"),
        ("esg:margn=1", "unknown knob of esg 'margn'; did you mean margin"),
        ("esg:", "unknown knob of esg ''; legal: margin, "),
        ("esg:name=mine", "unknown knob of esg 'name'"),
        ("min-config:margin=1", "unknown knob of min-config 'margin'; "),
        ("esg:margin", "margin = ''; legal: a number"),
        ("esg:margin=much", "margin = 'much'; legal: a number"),
        ("esg:margin=0", "margin = 0"),
        ("esg:margin=nan", "margin = nan"),
        ("esg:margin=-1", "margin = -1"),
        ("esg:k=0", "k = 0; legal: a whole number, 1 to 64"),
        ("esg:k=1.5", "k = '1.5'; legal: a whole number"),
        ("esg:group=32", "group = 32"),
        ("esg:retries=-2", "retries = -2"),
        ("esg:replan=maybe", "replan = 'maybe'; legal: true, false, on, off, yes, no, 1, 0"),
        ("esg:no_path=giveup", "no_path = 'giveup'; did you mean give_up?"),
        ("esg:later_batch=any", "later_batch = 'any'; legal: le_first, free"),
        ("orion:search=dijkstra", "search = 'dijkstra'; legal: greedy, best-first"),
        ("orion:budget=-1", "budget = -1"),
        ("orion:noise_cv=-1", "noise_cv = -1"),
        ("aquatope:plans=0", "plans = 0; legal: a whole number, 1 to 100"),
        ("aquatope:noise_cv=x", "noise_cv = 'x'; legal: a number"),
        ("infless:half=2", "half = '2'"),
        ("fast-gshare:vcpus=0", "vcpus = 0"),
    ],
)
def test_what_is_not_legal_is_refused_in_one_clear_line(name: str, said: str) -> None:
    with pytest.raises(InputError) as refusal:
        find_scheduler(name)
    assert said in str(refusal.value)
    assert "\n" not in str(refusal.value)


def test_every_scheduler_says_what_it_is() -> None:
    for name, entry in SCHEDULERS.items():
        assert entry.about
        assert len(entry.about) < 100
        assert find_scheduler(name).program is find_scheduler(name).program
