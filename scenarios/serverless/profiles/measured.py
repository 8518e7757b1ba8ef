"""Functions whose GPU time was measured: image classifiers on slices of an A100 80GB, by ParvaGPU's authors."""

from __future__ import annotations

from dataclasses import dataclass, field

from ...checks import check_number, check_whole
from ...errors import InputError, unknown_name
from ..configs import ConfigGrid
from ..workflows import MOST_MB, MOST_MS, Function
from .law import MOST_EXPONENT
from .mig import MigTable, with_vcpus

SOURCE = "ParvaGPU profiles"
GPCS = (1, 2, 3, 4, 7)
BATCHES = (1, 2, 4, 8, 16, 32)
IMAGES_PER_S: dict[str, tuple[tuple[float, ...], ...]] = {
    # with one process; one row per slice of GPCS, one column per batch of BATCHES
    "inceptionv3": (
        (89.723, 217.913, 364.463, 451.663, 533.782, 559.988),
        (107.57, 227.861, 445.629, 818.456, 969.149, 1068.953),
        (113.643, 230.974, 443.04, 899.433, 1385.764, 1586.425),
        (111.045, 229.995, 435.824, 785.833, 1465.362, 1907.006),
        (115.139, 226.808, 430.897, 823.981, 1707.028, 2703.952),
    ),
    "resnet50": (
        (196.762, 274.088, 317.323, 358.277, 385.714, 412.097),
        (213.372, 429.018, 596.356, 687.254, 738.306, 789.006),
        (213.47, 423.43, 833.36, 1072.439, 1188.228, 1291.913),
        (214.771, 431.045, 842.399, 1292.662, 1405.838, 1491.663),
        (195.826, 425.561, 821.169, 1599.984, 2211.111, 2396.366),
    ),
    "resnet101": (
        (105.248, 171.175, 198.611, 232.625, 253.003, 266.749),
        (108.395, 221.057, 359.521, 449.705, 484.845, 516.1),
        (107.661, 213.718, 437.499, 683.145, 767.869, 832.965),
        (110.958, 216.694, 440.728, 834.492, 929.546, 990.762),
        (112.085, 230.874, 446.921, 885.569, 1468.274, 1594.5),
    ),
    "densenet121": (
        (86.896, 170.46, 266.913, 296.478, 322.621, 318.0),
        (81.782, 170.051, 325.528, 549.529, 612.551, 605.805),
        (83.791, 165.214, 333.541, 651.232, 952.006, 984.59),
        (82.315, 165.543, 325.886, 652.666, 1114.708, 1117.255),
        (83.858, 161.597, 334.189, 634.028, 1267.332, 1825.409),
    ),
    "vgg16": (
        (123.337, 172.249, 213.254, 239.471, 252.778, 261.971),
        (242.295, 329.743, 397.718, 459.002, 500.589, 516.431),
        (372.826, 509.739, 628.337, 730.861, 771.832, 819.931),
        (457.697, 641.468, 796.953, 893.92, 964.406, 991.383),
        (662.6, 946.822, 1202.425, 1456.545, 1611.763, 1677.453),
    ),
}
"""Throughput from `prof_data/` of github.com/MunQ-Lee/ParvaGPU_SC24 at 5f3de1e (MIT licence; Lee et al., SC 2024)."""

PARVAGPU: dict[str, MigTable] = {
    model: MigTable(
        model,
        SOURCE,
        {
            (batch, gpcs): 1000 * batch / per_s
            for gpcs, row in zip(GPCS, rows, strict=True)
            for batch, per_s in zip(BATCHES, row, strict=True)
        },
    )
    for model, rows in IMAGES_PER_S.items()
}


@dataclass(frozen=True)
class MeasuredProfiles:
    """Functions with GPU times from a table, and CPU times from the law (`mig.with_vcpus`).

    A request carries `images` images, because a single image leaves most of a slice idle. Cold start and input size
    were not measured, so those of ESG's classification are used, with its input size per image.
    """

    images: int = 8
    """Number of images per request."""
    gpu_share: float = 0.8
    """GPU's fraction of the latency at the minimum configuration; not measured."""
    vcpu_exponent: float = 0.6
    """Exponent by which CPU time decreases with vCPUs; not measured."""
    cold_start_ms: float = 18299.0
    """Recalled for ESG's classification."""
    image_mb: float = 0.147
    """Recalled for ESG's classification."""
    configs: ConfigGrid = field(default_factory=lambda: ConfigGrid(batches=(1, 2, 4)))
    """Larger batches of 8 images do not fit into the smallest slices."""
    tables: dict[str, MigTable] = field(default_factory=lambda: PARVAGPU, repr=False)

    def __post_init__(self) -> None:
        check_whole("images", self.images, 1, 1024)
        check_number("gpu_share", self.gpu_share, 0.01, 1)
        check_number("vcpu_exponent", self.vcpu_exponent, 0, MOST_EXPONENT)
        check_number("cold_start_ms", self.cold_start_ms, 0, MOST_MS)
        check_number("image_mb", self.image_mb, 0, MOST_MB / self.images)

    def function(self, name: str) -> Function:
        """Return the profile of a model. Raises `InputError` if there is none or it lacks a configuration."""
        if name not in self.tables:
            raise unknown_name("function", name, self.tables)
        try:
            latency_ms = with_vcpus(self.tables[name], self.configs, self.images, self.gpu_share, self.vcpu_exponent)
        except InputError as error:
            raise InputError(
                f"images = {self.images}, in batches of {self.configs.batches} requests: {error}"
            ) from None
        return Function(name, latency_ms, self.cold_start_ms, self.image_mb * self.images)
