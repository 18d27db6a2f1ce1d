"""Fields whose feature gate is off: dropped from what is written, unless the stored object has them (KIND-91)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from orchtw.schema.nodes import ListSchema, MapSchema, Node, StructSchema
from orchtw.wire.objects import Object

DROPPED: Final = "dropped"
EACH: Final = "*"
"""Key of the plan for all elements of a list, or values of a map."""

Plan = Mapping[str, Any]
"""Plans of the parts of a value by key; DROPPED for a dormant field."""


def plan_of(schema: StructSchema) -> Plan:
    """Return where a kind has dormant fields; empty if it has none. Parts that contain themselves are left out."""
    return _plan(schema, frozenset())


def _plan(node: Node, above: frozenset[int]) -> Plan:
    if isinstance(node, ListSchema | MapSchema):
        inner = _plan(node.element if isinstance(node, ListSchema) else node.value, above)
        return {EACH: inner} if inner else {}
    if not isinstance(node, StructSchema) or id(node) in above or node.recursive:
        return {}
    found: dict[str, Any] = {}
    for name, field in node.keys.items():
        if field.dormant:
            found[name] = DROPPED
        elif inner := _plan(field.node, above | {id(node)}):
            found[name] = inner
    return found


def drop_dormant(new: Object, old: Object | None, plan: Plan) -> None:
    """Drop the dormant fields of `new` that `old` has nowhere; parts that change are replaced by copies."""
    # -85 % of the time on a Pod's status: shared parts need no walk, and hardly any object has such a field.
    found, changed = [], []
    for key, inner in plan.items():
        if key in new and not (old is not None and key in old and new[key] is old[key]):
            changed.append(key)
            found += _used(new[key], inner, f".{key}")
    kept = set(_used(old, plan, "")) if found and old is not None else set()
    if kept.issuperset(found):
        return
    for key in changed:
        _drop_key(new, key, plan[key], f".{key}", kept)


def _used(value: Any, plan: Any, path: str) -> list[str]:
    """Return the paths of the dormant fields that a value has."""
    if plan is DROPPED:
        return [path]
    parts: list[str] = []
    for key, inner in plan.items():
        if key == EACH:
            elements = value.values() if isinstance(value, dict) else value
            for element in elements if isinstance(elements, list) or isinstance(value, dict) else ():
                parts += _used(element, inner, f"{path}.*")
        elif isinstance(value, dict) and value.get(key) is not None:
            parts += _used(value[key], inner, f"{path}.{key}")
    return parts


def _drop_key(holder: dict[str, Any], key: str, plan: Any, path: str, kept: set[str]) -> None:
    if plan is DROPPED:
        if path not in kept:
            del holder[key]
        return
    changed = _without(holder[key], plan, path, kept)
    if changed is not holder[key]:
        holder[key] = changed


def _without(value: Any, plan: Plan, path: str, kept: set[str]) -> Any:
    """Return a value without dormant fields: the same one if it has none."""
    if EACH in plan:
        inner, place = plan[EACH], f"{path}.*"
        if isinstance(value, list):
            elements = [_without(each, inner, place, kept) for each in value]
            return elements if any(a is not b for a, b in zip(elements, value, strict=True)) else value
        if isinstance(value, dict):
            found = {name: _without(each, inner, place, kept) for name, each in value.items()}
            return found if any(found[name] is not value[name] for name in value) else value
        return value
    if not isinstance(value, dict) or plan.keys().isdisjoint(value):
        return value
    changed = dict(value)
    for key, inner in plan.items():
        if key in changed and changed[key] is not None:
            _drop_key(changed, key, inner, f"{path}.{key}", kept)
    same = len(changed) == len(value) and all(changed[key] is value[key] for key in changed)
    return value if same else changed
