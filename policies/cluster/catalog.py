"""Scheduling policies by name: `ORDER+PLACEMENT[+sticky][+backfill]`, and aliases."""

from __future__ import annotations

from ...scenarios.errors import InputError, unknown_name
from ...scenarios.registry import Registry
from ..information import Information
from . import orders as order
from . import placements as placement
from .list_policy import ListPolicy
from .orders import Order, check_order
from .placements import Placement, check_placement

STICKY, BACKFILL = "sticky", "backfill"
_OPEN, _ORACLE = Information.NON_CLAIRVOYANT, Information.CLAIRVOYANT

ORDERS: Registry[Order] = Registry.of(
    "order",
    Order("fifo", order.fifo, _OPEN, "arrival order", fixed=True),
    Order("las", order.las, _OPEN, "least attained seconds; PAL's simulator"),
    Order("las-2d", order.las_2d, _OPEN, "least attained GPU-seconds; Tiresias (Gu et al., NSDI 2019)"),
    Order("gittins", order.gittins, _OPEN, "highest Gittins index of attained GPU-seconds; Tiresias"),
    Order("srtf", order.srtf, _ORACLE, "shortest remaining time"),
    Order("srsf", order.srsf, _ORACLE, "shortest remaining GPU-seconds"),
    Order("sqrt", order.sqrt, _ORACLE, "shortest remaining time x sqrt(demand)"),
)
PLACEMENTS: Registry[Placement] = Registry.of(
    "placement",
    Placement("random", placement.random, "uniform sample; PAL's simulator", random=True),
    Placement("packed", placement.packed, "as few nodes as possible; PAL's simulator"),
    Placement("pm-first", placement.pm_first, "fastest bins first; PAL (Jain et al., SC 2024)", class_first=True),
    Placement("pal", placement.pal, "locality x variability matrix; PAL (Jain et al., SC 2024)", class_first=True),
)
ALIASES: dict[str, str] = {
    "pal": "fifo+pal",
    "tiresias": "las+packed+sticky",
    "gandiva": "fifo+packed",
}
"""Names of the literature; Tiresias and Gandiva as PAL's evaluation configures them."""


def find_policy(name: str) -> ListPolicy:
    """The policy of a name or alias. Raises `InputError` with the closest names."""
    parts = ALIASES.get(name, name).split("+")
    if len(parts) < 2:
        raise unknown_name("policy", name, [*ALIASES, *policy_names()])
    order_name, placement_name, *habits = parts
    try:
        order, placement = ORDERS.find(order_name), PLACEMENTS.find(placement_name)
    except InputError as error:
        raise InputError(f"policy '{name}': {error}") from None
    for habit in habits:
        if habit not in (STICKY, BACKFILL) or habits.count(habit) > 1:
            raise InputError(f"policy '{name}': '{habit}' where +sticky and +backfill are legal, each once")
    return ListPolicy(
        order=order,
        placement=placement,
        sticky=STICKY in habits,
        backfill=BACKFILL in habits,
        orders=tuple(ORDERS.values()),
        placements=tuple(PLACEMENTS.values()),
    )


def policy_names() -> list[str]:
    """Every canonical name."""
    habits = ("", f"+{STICKY}", f"+{BACKFILL}", f"+{STICKY}+{BACKFILL}")
    return [f"{o}+{p}{h}" for o in ORDERS for p in PLACEMENTS for h in habits]


def add_order(entry: Order) -> None:
    """Add an order to the catalog, so that `NAME+PLACEMENT` works everywhere. Raises `InputError`."""
    ORDERS.check_new(entry.name)
    check_order(entry)
    ORDERS.add(entry.name, entry)


def add_placement(entry: Placement) -> None:
    """Add a placement to the catalog, so that `ORDER+NAME` works everywhere.

    Raises `InputError` for a taken name or a function that is no placement.
    """
    if entry.name in (STICKY, BACKFILL):
        raise InputError(f"placement '{entry.name}' is the name of a habit; legal: a new name")
    PLACEMENTS.check_new(entry.name)
    check_placement(entry)
    PLACEMENTS.add(entry.name, entry)
