"""Annotations by which users direct simulated nodes; the same in both vocabularies (reference SIM-10)."""

from __future__ import annotations

from typing import Final

from orchtw.values.quantity import canonical_quantity
from orchtw.wire.objects import Object

MANAGED: Final = "simulate.orch.io/managed"
"""`true` on a node that the simulation runs, whoever created it."""
REGISTERED: Final = "simulate.orch.io/registered"
"""`true` on a node that the simulation has created, and may delete."""
READY: Final = "simulate.orch.io/ready"
"""`false`: the node reports that it is not ready."""
GONE: Final = "simulate.orch.io/gone"
"""`true`: the machine has lost its power; nothing is heard of the node."""
CAPACITY: Final = "simulate.orch.io/capacity"
"""Amounts beside or in place of the usual ones, such as `cpu=64,memory=256Gi,example.com/gpu=8`."""
PRESSURE: Final = "simulate.orch.io/pressure"
"""Resources under pressure: any of `memory`, `disk` and `pid`, separated by commas."""

_TRUE, _FALSE = "true", "false"


def annotation(node: Object, name: str) -> str:
    """Return an annotation of a node, empty if it has none of that name."""
    return str((node["metadata"].get("annotations") or {}).get(name, ""))


def is_managed(node: Object) -> bool:
    """Report whether the simulation runs this node."""
    return annotation(node, MANAGED) == _TRUE


def is_registered(node: Object) -> bool:
    """Report whether the simulation has created this node."""
    return annotation(node, REGISTERED) == _TRUE


def is_gone(node: Object) -> bool:
    """Report whether the node's machine has lost its power."""
    return annotation(node, GONE) == _TRUE


def is_held_unready(node: Object) -> bool:
    """Report whether the node is to say that it is not ready."""
    return annotation(node, READY) == _FALSE


def pressures(node: Object) -> frozenset[str]:
    """Return the resources that are under pressure."""
    return frozenset(filter(None, (each.strip() for each in annotation(node, PRESSURE).split(","))))


def capacity(node: Object) -> dict[str, str]:
    """Return the amounts that the annotation gives; invalid quantities are left out."""
    found = {}
    for entry in annotation(node, CAPACITY).split(","):
        name, _, text = entry.partition("=")
        try:
            found[name.strip()] = canonical_quantity(text.strip())
        except ValueError:
            continue
    return found
