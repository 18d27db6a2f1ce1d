"""Expressions that select devices: their variable, result and highest cost (reference KIND-94)."""

from __future__ import annotations

from functools import cache, lru_cache
from typing import Final

import attrs

from orchtw.schema.cel.compiler import compiled
from orchtw.schema.cel.cost import Estimator
from orchtw.schema.cel.environment import Release, environment, object_type
from orchtw.schema.cel.faults import Fault
from orchtw.schema.cel.types import BOOL, DYN, STRING, Type, map_of

MOST_COST: Final = 1_000_000
"""The highest cost of a selector, for a device with attributes as many and as large as there may be."""

_MOST_VALUES: Final = 32  # attributes and capacities of a device
_LONGEST_DOMAIN: Final = 63
_LONGEST_NAME: Final = 32
_LONGEST_VALUE: Final = 64  # bytes of an attribute


def selector_problem(source: str, release: Release | None, *, shared: bool) -> tuple[str, bool]:
    """Return why an expression cannot select devices, or "", and whether it may cost too much.

    `release`: the emulated one; None: the expression is stored already. `shared`: devices tell if they can be
    allocated several times.
    """
    return _problem(source, release, shared) if len(source) <= _LONGEST_KEPT else _found(source, release, shared)


_LONGEST_KEPT: Final = 512  # characters: 1,000 of the answers take less than 1 MiB


def _found(source: str, release: Release | None, shared: bool) -> tuple[str, bool]:
    kind = _device(shared)
    try:
        found = compiled(source, {"device": kind}, environment(release).binding(), Estimator(kind, _LONGEST_VALUE))
    except Fault as fault:
        return f"compilation failed: {fault.shown(source)}", False
    if found.code.type not in (BOOL, DYN):
        return f"must evaluate to bool or the unknown type, not {found.code.type}", False
    return "", found.code.estimate.cost > MOST_COST


_problem = lru_cache(maxsize=1000)(_found)


@cache
def _device(shared: bool) -> Type:
    domain, name = attrs.evolve(STRING, most=_LONGEST_DOMAIN), attrs.evolve(STRING, most=_LONGEST_NAME)

    def by_name(value: Type) -> Type:
        values = attrs.evolve(map_of(name, value), most=_MOST_VALUES)
        return attrs.evolve(map_of(domain, values), most=_MOST_VALUES)

    members = {"driver": domain, "attributes": by_name(DYN), "capacity": by_name(Type("quantity"))}
    return object_type("DRADevice", {**members, "allowMultipleAllocations": BOOL} if shared else members)
