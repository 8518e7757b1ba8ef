"""The learning examples, in small."""

from __future__ import annotations

import importlib.util
from dataclasses import replace
from pathlib import Path
from types import ModuleType

import pytest
from varigym.agents.checkpoints.checkpoint import load_checkpoint
from varigym.scenarios.errors import InputError

EXAMPLES = Path(__file__).resolve().parents[1] / "examples"


def load(name: str) -> ModuleType:
    spec = importlib.util.spec_from_file_location(name, EXAMPLES / f"{name}.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_cloning_pal_in_small(capsys: pytest.CaptureFixture[str]) -> None:
    example = load("clone_pal")
    # As many worlds to learn from as held out, so that both environments share their programs.
    small = example.Args(scenario="sia-64:nodes=4:jobs=20:span_h=1", episodes=3, held_out=3, epochs=30)
    agreed, ratio = example.main(small)
    assert 0.2 < agreed <= 1
    assert 0.3 < ratio < 3
    assert "held-out states with a choice" in capsys.readouterr().out


def test_ppo_in_small(tmp_path: Path) -> None:
    example = load("train_ppo")
    small = example.Args(scenario="sia-64:nodes=2:jobs=12:span_h=1", steps=2048, lanes=4, worlds=4, logs=tmp_path)
    means = example.main(small)
    assert set(means) == {"random", "base", "learned"}
    assert all(mean > 0 for mean in means.values())
    assert list(tmp_path.glob("*/events.out.tfevents.*"))


def test_cloning_esg_in_small(capsys: pytest.CaptureFixture[str]) -> None:
    example = load("clone_esg")
    small = "strict-heavy:invokers=2:load=0.1"
    args = example.Args("min-config", small, "min-config", window_s=3.0, episodes=2, held_out=2, epochs=40)
    [(agreed, hits, cost)] = example.main(args)
    assert 0.2 < agreed <= 1
    assert -1 <= hits <= 1
    assert cost > 0
    assert "held-out states" in capsys.readouterr().out


def test_serverless_ppo_in_small(tmp_path: Path) -> None:
    example = load("train_serverless")
    args = example.Args(
        scenario="overload:invokers=2:load=0.2", steps=1024, lanes=4, worlds=4, window_s=0.5, logs=tmp_path
    )
    rates = example.main(args)
    assert set(rates) == {"random", "min-config", "esg", "learned"}
    assert all(0 <= rate <= 1 for rate in rates.values())
    assert list(tmp_path.glob("*/events.out.tfevents.*"))


def test_what_a_learned_index_does_differently(capsys: pytest.CaptureFixture[str]) -> None:
    """In each state the fates of both plans are those of the same jobs; only who ran can stay, move or stop."""
    example = load("what_differs")
    seen = example.main(example.Args(EXAMPLES.parent / "runs" / "reference" / "cluster", worlds=1))
    assert len(seen) > 50
    for shown in seen:
        for plan in (shown.learned, shown.expert):
            fates = shown.fates(plan)
            running = [bool(runs) for runs in shown.view.running[: shown.number]]
            assert [fate in ("stays", "moves", "stops") for fate in fates] == running
    assert any((shown.learned != shown.expert).any() for shown in seen)
    assert "GPUs left free" in capsys.readouterr().out


def test_an_ablation_goes_on_where_it_was(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("varigym.agents.cluster.objective.TAIL_SLOTS", ())  # less to compile
    example = load("ablation")
    world = "sia-64:jobs=12:nodes=4:span_h=1:restart_s=90"
    small = example.Args(tmp_path, world, "las-2d+pal+backfill", ("full", "keep-only"), 1, 2, 2, 1, 3, 1)
    first = example.main(small)
    states = {path: path.stat().st_mtime_ns for path in tmp_path.glob("*/train_state.safetensors")}
    assert sorted(path.parent.name for path in states) == ["full-0", "keep-only-0"]
    capsys.readouterr()
    found = example.main(replace(small, seeds=2))
    assert all(path.stat().st_mtime_ns == before for path, before in states.items())
    assert {variant: [ratios[0]] for variant, ratios in found.items()} == {n: r.tolist() for n, r in first.items()}
    assert all(ratios.shape == (2,) and (ratios > 0).all() for ratios in found.values())
    said = capsys.readouterr().out
    assert "2 training seeds, 3 held-out worlds" in " ".join(said.split())
    assert "keep-only-1: " in said
    with pytest.raises(InputError, match="with generations = 2, not 3"):
        example.main(replace(small, generations=3))


@pytest.mark.slow
def test_recipes_one_after_the_other_go_on_where_they_were(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """PPO begins from the clone of its seed; what is finished is not run again, and everyone meets the same worlds."""
    example = load("recipes")
    world = "sia-64:jobs=12:nodes=4:span_h=1:restart_s=90"
    small = example.Args(
        tmp_path, world, "las-2d+pal+backfill", ("bc+ppo", "bc"), 1, episodes=1, stage=1, steps=1, worlds_held_out=2
    )
    example.main(small)
    states = {path: path.stat().st_mtime_ns for path in tmp_path.glob("*/train_state.safetensors")}
    assert sorted(path.parent.name for path in states) == ["bc+ppo-0", "bc-0"]
    assert load_checkpoint(tmp_path / "bc+ppo-0").training.recipe_options["init"] == "imitate"
    capsys.readouterr()
    judged = example.main(replace(small, seeds=2, recipes=("bc",)))
    assert all(path.stat().st_mtime_ns == before for path, before in states.items())
    assert [len(members) for _, members in judged.groups] == [2]
    assert "bc, mean of 2 training seeds" in " ".join(capsys.readouterr().out.split())
