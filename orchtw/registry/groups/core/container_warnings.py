"""What clients are told of containers that are valid, but hardly meant (reference ERR-50)."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from orchtw.objects import Object
from orchtw.registry.groups.core.pod_containers import placed_containers
from orchtw.rules.causes import go_quote
from orchtw.schema.quantity import quantity

_IN_BYTES: Final = ("memory", "ephemeral-storage")
_MAX_WARNINGS: Final = 100
"""Of one object: more than headers have room for."""


def container_warnings(spec: Object, place: str) -> list[str]:
    """Of the containers of the pod spec at `place`."""
    texts: list[str] = []
    for inner, container in placed_containers(spec):
        if (variables := container.get("env")) and len(variables) > 1:
            texts += _repeated(variables, f"{place}.{inner}.env")
        if resources := container.get("resources"):
            texts += _fractions(resources, f"{place}.{inner}.resources")
        if len(texts) > _MAX_WARNINGS:
            break
    return texts[:_MAX_WARNINGS]


def _repeated(variables: list[Object], place: str) -> Iterator[str]:
    seen = set()
    for index, variable in enumerate(variables):
        name = variable.get("name", "")
        if name in seen:
            yield f"{place}[{index}].name: duplicate name {go_quote(name)}"
        seen.add(name)


def _fractions(resources: Object, place: str) -> Iterator[str]:
    for name in _IN_BYTES:
        for key in ("limits", "requests"):
            amount = (resources.get(key) or {}).get(name)
            if amount is not None and not quantity(amount).whole:
                yield f"{place}.{key}[{name}]: fractional byte value {go_quote(amount)} is invalid, must be an integer"
