from __future__ import annotations

import math

import numpy as np
import pytest
from varigym.scenarios.errors import InputError
from varigym.scenarios.serverless.configs import ConfigGrid
from varigym.scenarios.serverless.profiles.measured import PARVAGPU, MeasuredProfiles
from varigym.scenarios.serverless.profiles.mig import MigTable, with_vcpus

TABLE = MigTable("m", "here", {(1, 1): 8.0, (1, 3): 4.0, (1, 7): 1.0, (2, 1): 16.0, (2, 3): math.inf, (2, 7): 2.0})


def test_measured_slices_are_taken_as_they_are() -> None:
    assert [TABLE.gpu_ms(1, gpcs) for gpcs in (1, 3, 7)] == [8.0, 4.0, 1.0]


def test_a_slice_between_two_is_interpolated_in_logarithms() -> None:
    share = math.log(4 / 3) / math.log(7 / 3)
    assert TABLE.gpu_ms(1, 4) == pytest.approx(4.0 ** (1 - share))
    assert TABLE.gpu_ms(1, 2) == pytest.approx(8.0 * 0.5 ** (math.log(2) / math.log(3)))


@pytest.mark.parametrize(
    ("images", "gpcs", "message"),
    [
        (4, 1, "here: m, a batch of 4 on 1 GPCs, was not measured; legal: batches of 1, 2"),
        (1, 8, "here: m, a batch of 1 on 8 GPCs, was not measured; legal: 1 to 7 GPCs"),
        (2, 3, "did not fit into the slice's memory; use smaller batches"),
        (2, 4, "did not fit into the slice's memory"),
        (2, 2, "did not fit into the slice's memory"),
    ],
)
def test_what_was_not_measured_or_did_not_fit_is_refused(images: int, gpcs: int, message: str) -> None:
    with pytest.raises(InputError, match=message):
        TABLE.gpu_ms(images, gpcs)


def test_cpu_time_is_added_by_the_law() -> None:
    grid = ConfigGrid((1, 2), (1, 4), (1, 7))
    latency_ms = with_vcpus(TABLE, grid, images=1, gpu_share=0.8, vcpu_exponent=0.5)
    # CPU time at the minimum is 8 x 0.2 / 0.8 = 2 ms; 1.9 times that for a batch of 2, half of it with 4 vCPUs
    assert latency_ms == pytest.approx([10, 3, 9, 2, 19.8, 5.8, 17.9, 3.9])


def test_without_a_cpu_share_the_table_is_all() -> None:
    grid = ConfigGrid((1,), (1, 2), (1, 7))
    assert with_vcpus(TABLE, grid, 1, 1.0, 0.6).tolist() == [8.0, 1.0, 8.0, 1.0]


@pytest.mark.parametrize("model", PARVAGPU)
@pytest.mark.parametrize("images", [1, 2, 4, 8])
def test_built_in_models_cover_the_grid(model: str, images: int) -> None:
    profiles = MeasuredProfiles(images=images)
    function = profiles.function(model)
    assert len(function.latency_ms) == profiles.configs.size == 60
    assert function.latency_ms[0] == pytest.approx(PARVAGPU[model].gpu_ms(images, 1) / 0.8)
    assert function.input_mb == pytest.approx(0.147 * images)


def test_a_few_built_in_values() -> None:
    assert PARVAGPU["resnet50"].gpu_ms(8, 1) == pytest.approx(22.329, abs=1e-3)
    assert PARVAGPU["vgg16"].gpu_ms(32, 7) == pytest.approx(19.077, abs=1e-3)
    assert np.isfinite(list(PARVAGPU["densenet121"].latency_ms.values())).all()


def test_more_images_than_were_measured_are_refused() -> None:
    with pytest.raises(InputError, match="ParvaGPU profiles: resnet50, a batch of 64 on 1 GPCs, was not measured"):
        MeasuredProfiles(images=16).function("resnet50")


def test_unknown_models_and_bad_knobs_are_refused() -> None:
    with pytest.raises(InputError, match="unknown function 'resnet52'; did you mean"):
        MeasuredProfiles().function("resnet52")
    with pytest.raises(InputError, match=r"gpu_share = 0\.0; legal: a finite number >= 0\.01 and <= 1"):
        MeasuredProfiles(gpu_share=0.0)
    with pytest.raises(InputError, match="images = 0; legal: a whole number, 1 to"):
        MeasuredProfiles(images=0)
