"""`simulate` and `compare` from Python: what they take, what they refuse, and plans that are none."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import jax.numpy as jnp
import numpy as np
import pytest
import varigym
from varigym.policies.cluster.catalog import PLACEMENTS
from varigym.policies.cluster.placements import Placement
from varigym.scenarios.errors import InputError


@pytest.fixture
def placements() -> Iterator[None]:
    before = dict(PLACEMENTS)
    yield
    PLACEMENTS.clear()
    PLACEMENTS.update(before)


@pytest.mark.parametrize("seeds", [3, np.int64(3), [3], (3,), np.array([3]), range(3, 4)])
def test_seeds_in_any_form_of_whole_numbers(seeds: Any) -> None:
    (record,) = varigym.simulate("tiny", "pal", seeds)
    assert record.seed == 3


@pytest.mark.parametrize("seeds", [1.5, "12", None, True, [], [1, "2"], [1.0], -1, 2**31])
def test_other_seeds_are_refused(seeds: Any) -> None:
    with pytest.raises(InputError, match="seed"):
        varigym.simulate("tiny", "pal", seeds)


@pytest.mark.parametrize(
    ("scenario", "policy"), [(None, "pal"), (5, "pal"), ("tiny", None), ("tiny", 5), ("tiny", "nothing")]
)
def test_what_is_no_scenario_or_policy_is_refused(scenario: Any, policy: Any) -> None:
    with pytest.raises(InputError, match=r"legal|did you mean|unknown"):
        varigym.simulate(scenario, policy)


def test_one_policy_may_be_named_without_a_list(tmp_path: Path) -> None:
    results = varigym.compare("tiny", "pal", seeds=1, out=str(tmp_path))
    assert {row.policy for row in results.rows} == {"fifo+pal"}
    with pytest.raises(InputError, match="seeds = range"):
        varigym.compare("tiny", "pal", seeds=range(3))  # type: ignore[arg-type]


def test_compat_may_be_a_string_and_must_be_a_mode() -> None:
    assert varigym.ClusterPlatform(compat="artifact").compat is varigym.Compat.ARTIFACT  # type: ignore[arg-type]
    with pytest.raises(InputError, match="compat = 'artefact'; did you mean artifact"):
        varigym.ClusterPlatform(compat="artefact")  # type: ignore[arg-type]


def test_a_trace_of_one_job(tmp_path: Path) -> None:
    path = tmp_path / "one.csv"
    path.write_text("job_id,num_gpus,submit_time,duration,model\n0,1,5,100,vgg19\n")
    (record,) = varigym.simulate(varigym.ClusterFiles(str(path)), "fifo+packed")  # type: ignore[arg-type]
    assert record.jobs.start_s.tolist() == [360.0]


WRONG_GANGS = {
    "one too few": lambda profile, c, free, n, key: PLACEMENTS["packed"].place(profile, c, free, n - 1, key),
    "none": lambda profile, c, free, n, key: free & False,
    "all that is free": lambda profile, c, free, n, key: free,
    "taken": lambda profile, c, free, n, key: PLACEMENTS["packed"].place(profile, c, jnp.ones_like(free), n, key),
}


@pytest.mark.parametrize("name", WRONG_GANGS)
def test_a_placement_that_gives_a_wrong_gang_is_found_out(name: str, placements: None) -> None:
    varigym.add_placement(Placement("wrong", WRONG_GANGS[name], "test"))
    with pytest.raises(InputError, match="a gang must have exactly as many GPUs as its job demands"):
        varigym.simulate("tiny", "fifo+wrong")


def _raises(*_: Any) -> Any:
    raise RuntimeError("boom")


@pytest.mark.parametrize(
    ("place", "said"),
    [
        (3, "TypeError"),
        (lambda profile, c, free, n, key: free.astype(int), "gives int64"),
        (lambda profile, c, free, n, key: free.ravel(), r"gives bool \(12,\)"),
        (lambda profile, c, free, n, key: None, "AttributeError"),
        (lambda free, n: free, "TypeError"),
        (lambda profile, c, free, n, key: free if n > 1 else ~free, "TracerBoolConversionError"),
        (_raises, "RuntimeError: boom"),
    ],
)
def test_a_function_that_is_no_placement_is_refused_when_it_is_added(place: Any, said: str, placements: None) -> None:
    with pytest.raises(InputError, match=f"placement 'bad'.*{said}"):
        varigym.add_placement(Placement("bad", place, "test"))
    assert "bad" not in PLACEMENTS


def test_the_baseline_is_the_usual_one_or_the_first() -> None:
    assert varigym.compare("tiny", ["pal", "fifo+packed+sticky"], seeds=1).grid.baseline == "fifo+packed+sticky"
    assert varigym.compare("tiny", ["pal", "tiresias"], seeds=1).grid.baseline == "fifo+pal"
    assert varigym.compare("tiny", ["pal", "tiresias"], seeds=1, baseline="tiresias").grid.baseline == "tiresias"


def test_example_prints_its_table(capsys: pytest.CaptureFixture[str]) -> None:
    varigym.show_results(varigym.compare("tiny", ["fifo+packed+sticky", "pal"], seeds=2))
    assert "1 (baseline)" in capsys.readouterr().out
