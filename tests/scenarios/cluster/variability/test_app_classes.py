from __future__ import annotations

import pytest
from varigym.scenarios.cluster.traces.models import MODELS
from varigym.scenarios.cluster.variability.app_classes import ILLUSTRATIVE, classify
from varigym.scenarios.errors import InputError

OWN = {"dense": (95.0, 20.0), "conv": (90.0, 25.0), "mixed": (70.0, 50.0), "table": (30.0, 70.0), "graph": (5.0, 95.0)}


def test_the_illustrative_table_leads_to_the_classes_of_the_simulator() -> None:
    assert classify(ILLUSTRATIVE) == {name: model.app_class for name, model in MODELS.items()}


def test_own_measurements_are_grouped_with_the_most_compute_bound_first() -> None:
    assert classify(OWN) == {"dense": "A", "conv": "A", "mixed": "B", "table": "C", "graph": "D"}


def test_the_order_of_the_models_does_not_matter() -> None:
    assert classify(dict(reversed(OWN.items()))) == classify(OWN)


def test_fewer_classes_can_be_asked_for() -> None:
    assert classify(OWN, classes=2) == {"dense": "A", "conv": "A", "mixed": "A", "table": "B", "graph": "B"}


@pytest.mark.parametrize("point", [(-1.0, 50.0), (101.0, 50.0), (50.0, 100.5), (float("nan"), 50.0)])
def test_utilisation_outside_0_to_100_is_refused(point: tuple[float, float]) -> None:
    with pytest.raises(InputError, match=rf"model 'odd'.*{point[0]}.*{point[1]}.*legal: 0 to 100 %"):
        classify(OWN | {"odd": point})


def test_fewer_models_than_classes_are_refused() -> None:
    with pytest.raises(InputError, match="2 models cannot form 4 classes"):
        classify({"a": (90.0, 10.0), "b": (10.0, 90.0)})


def test_equal_measurements_cannot_form_classes() -> None:
    with pytest.raises(InputError, match="cannot form 4 classes"):
        classify(dict.fromkeys("abcdef", (50.0, 50.0)))
