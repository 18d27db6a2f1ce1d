"""Operations on values by their merge types: claimed fields, comparison, merge, removal, extraction.

All containers are treated as immutable: results share common parts with the arguments. A value that does not match
its type, such as a stored one whose schema has changed, is a leaf.
"""

from __future__ import annotations

from typing import Any, Final

import orjson

from orchtw.apply.field_tree import LEAF, Tree, as_member, is_member
from orchtw.apply.merge_type import (
    LEAF_SHAPE,
    LIST_SHAPE,
    MAP_SHAPE,
    UNTYPED,
    UNTYPED_SHAPE,
    KeylessItem,
    ListType,
    MapType,
    Type,
    of_value,
)
from orchtw.apply.outlines import outline
from orchtw.apply.path_element import SELF, order
from orchtw.schema.values import in_order

_ABSENT: Final = object()
_CONTAINERS: Final[dict[int, type]] = {MAP_SHAPE: dict, LIST_SHAPE: list}


def same(kind: Type, left: Any, right: Any) -> bool:
    """Report whether two values of a type are equal as JSON."""
    if left is right:
        return True
    if left != right:
        return False
    return not kind.loose or orjson.dumps(left) == orjson.dumps(right) or _sorted(left) == _sorted(right)


def _sorted(value: Any) -> bytes:
    return orjson.dumps(value, option=orjson.OPT_SORT_KEYS)


def items(kind: ListType, values: list[Any]) -> list[tuple[str, Any]]:
    """Return the items with their steps; an item without valid key is identified by its index."""
    step = kind.step
    try:
        return [(step(item), item) for item in values]
    except KeylessItem:
        return [(_step_or_place(kind, index, item), item) for index, item in enumerate(values)]


def _step_or_place(kind: ListType, index: int, item: Any) -> str:
    try:
        return kind.step(item)
    except KeylessItem:
        return f"i:{index}"


def claimed(kind: MapType, value: dict[str, Any]) -> Tree:
    """Return the fields of an applied object: its leaves, list items, map keys, and structs that are empty or null.

    A struct with fields is not a member itself: it exists as long as they do.
    """
    out = {}
    fields, element = kind.fields, kind.element
    for key, part in value.items():
        field = fields.get(key)
        if field is not None:
            step, inner = field
            tree = LEAF if inner.shape == LEAF_SHAPE else _claimed(inner, part)
            if tree is None and not part and type(part) is not list:
                tree = LEAF
        elif element is not None:
            step = "f:" + key
            tree = as_member(_claimed(element, part) or LEAF)
        else:
            continue
        if tree is not None:
            out[step] = tree
    return out


def _claimed(kind: Type, value: Any) -> Tree | None:
    """Return the tree below a path that holds `value`; LEAF for a leaf, None for an empty container."""
    shape = kind.shape
    if shape == LEAF_SHAPE:
        return LEAF
    if shape == UNTYPED_SHAPE:
        kind = of_value(value)
        if kind.shape == LEAF_SHAPE:
            return LEAF
    if not value:
        return None
    if isinstance(kind, MapType):
        return claimed(kind, value) or None if type(value) is dict else LEAF
    assert isinstance(kind, ListType)
    if type(value) is not list:
        return LEAF
    element = kind.element
    return {step: as_member(_claimed(element, item) or LEAF) for step, item in items(kind, value)}


def present(kind: Type, value: Any) -> Tree:
    """Return all fields of an added or removed value: its own path, every container and every leaf.

    The steps are in the order of FieldsV1.
    """
    shape = kind.shape
    if shape == UNTYPED_SHAPE:
        kind = of_value(value)
        shape = kind.shape
    if shape == LEAF_SHAPE or not value:
        return LEAF
    if shape == MAP_SHAPE:
        assert isinstance(kind, MapType)
        if type(value) is not dict:
            return LEAF
        fields, element = kind.fields, kind.element
        if element is None and fields.keys() >= value.keys():
            return _present_fields(kind, value)
        out = {SELF: LEAF}
        for key in in_order(value):
            step, inner = fields.get(key) or ("f:" + key, element or UNTYPED)
            out[step] = LEAF if inner.shape == LEAF_SHAPE else present(inner, value[key])
    else:
        assert isinstance(kind, ListType)
        if type(value) is not list:
            return LEAF
        found = dict(items(kind, value))
        out = {SELF: LEAF}
        for step in in_order(found, order if len(found) > 1 else None):
            out[step] = present(kind.element, found[step])
    return out if len(out) > 1 else LEAF


def _present_fields(kind: MapType, value: dict[str, Any]) -> Tree:
    """Return all fields of a struct that has only declared keys, and at least one."""
    leaves, containers = outline(kind, tuple(value))
    out = leaves.copy()
    for key, step, inner in containers:
        if part := value[key]:
            out[step] = present(inner, part)
    return out


def gained(kind: MapType, old: dict[str, Any], new: dict[str, Any]) -> Tree:
    """Return the added and modified fields of `new`, as `compare` finds them, in the order of FieldsV1.

    It walks only what `old` lacks or has differently, so it is meant for an `old` that is nearly empty.
    """
    fields, element = kind.fields, kind.element
    out = {}
    for key in in_order(new):
        part, was = new[key], old.get(key, _ABSENT)
        step, inner = fields.get(key) or ("f:" + key, element or UNTYPED)
        tree = present(inner, part) if was is _ABSENT else _gained(inner, was, part)
        if tree is not None:
            out[step] = tree
    return out


def _gained(kind: Type, old: Any, new: Any) -> Tree | None:
    """Return the added and modified fields of a value in both objects; None if there are none."""
    if same(kind, old, new):
        return None
    if kind.shape == UNTYPED_SHAPE:
        kind = of_value(old) if type(old) is dict else of_value(new)
    shape = kind.shape
    if shape == LEAF_SHAPE or not (old or new):
        return LEAF
    sort = _CONTAINERS[shape]
    before: Any = old if type(old) is sort else sort()
    after: Any = new if type(new) is sort else sort()
    if shape == LIST_SHAPE:
        assert isinstance(kind, ListType)
        tree = _gained_items(kind, before, after)
    else:
        assert isinstance(kind, MapType)
        tree = gained(kind, before, after)
    if _fits(shape, old) and _fits(shape, new):
        return tree or None
    return as_member(tree)  # one of them is not of the type's container


def _gained_items(kind: ListType, old: list[Any], new: list[Any]) -> Tree:
    before, after, element = dict(items(kind, old)), dict(items(kind, new)), kind.element
    out = {}
    for step in in_order(after, order if len(after) > 1 else None):
        was = before.get(step, _ABSENT)
        tree = present(element, after[step]) if was is _ABSENT else _gained(element, was, after[step])
        if tree is not None:
            out[step] = tree
    return out


class Changes:
    """Differences between two objects: disjoint roots of added, modified and removed fields."""

    __slots__ = ("added", "modified", "removed")

    def __init__(self, added: Tree, modified: Tree, removed: Tree) -> None:
        self.added = added
        self.modified = modified
        self.removed = removed

    def __bool__(self) -> bool:
        return bool(self.added or self.modified or self.removed)


NO_CHANGES: Final = Changes({}, {}, {})


def compare(kind: MapType, left: dict[str, Any], right: dict[str, Any]) -> Changes:
    """Return the changes from `left` to `right`. A container in only one of them counts with all its fields."""
    if same(kind, left, right):
        return NO_CHANGES
    changes = Changes({}, {}, {})
    _compare_maps(kind, left, right, changes)
    return changes


def _compare_maps(kind: MapType, left: dict[str, Any], right: dict[str, Any], out: Changes) -> None:
    fields, element = kind.fields, kind.element
    for key, old in left.items():
        new = right.get(key, _ABSENT)
        if new is old:
            continue
        step, inner = fields.get(key) or ("f:" + key, element or UNTYPED)
        if new is _ABSENT:
            out.removed[step] = present(inner, old)
        elif old != new or inner.loose:
            _compare(inner, step, old, new, out)
    for key, new in right.items():
        if key not in left:
            step, inner = fields.get(key) or ("f:" + key, element or UNTYPED)
            out.added[step] = present(inner, new)


def _compare_lists(kind: ListType, left: list[Any], right: list[Any], out: Changes) -> None:
    element = kind.element
    before, after = dict(items(kind, left)), dict(items(kind, right))
    for step, old in before.items():
        new = after.get(step, _ABSENT)
        if new is _ABSENT:
            out.removed[step] = present(element, old)
        else:
            _compare(element, step, old, new, out)
    for step, new in after.items():
        if step not in before:
            out.added[step] = present(element, new)


def _compare(kind: Type, step: str, old: Any, new: Any, out: Changes) -> None:
    """Add the differences of two values at `step` to the changes of their container."""
    if same(kind, old, new):
        return
    shape = kind.shape
    if shape == UNTYPED_SHAPE:
        kind = of_value(old) if type(old) is dict else of_value(new)
        shape = kind.shape
    if shape == LEAF_SHAPE or not (old or new):
        out.modified[step] = LEAF
        return
    if not (_fits(shape, old) and _fits(shape, new)):
        out.modified[step] = LEAF  # one of them is not of the type's container
    inner = Changes({}, {}, {})
    sort = _CONTAINERS[shape]
    old, new = old if type(old) is sort else sort(), new if type(new) is sort else sort()
    if shape == LIST_SHAPE:
        assert isinstance(kind, ListType)
        _compare_lists(kind, old, new, inner)
    else:
        assert isinstance(kind, MapType)
        _compare_maps(kind, old, new, inner)
    for name in Changes.__slots__:
        tree = getattr(inner, name)
        if tree:
            level = getattr(out, name)
            level[step] = as_member(tree) if step in level else tree


def _fits(shape: int, value: Any) -> bool:
    return value is None or type(value) is _CONTAINERS[shape]


def merge(kind: Type, live: Any, applied: Any) -> Any:
    """Return `live` merged with `applied`; `live` itself if that changes nothing.

    Nothing is removed: an empty or null container leaves the live one as it is. List items keep the live order; new
    ones are appended.
    """
    if live is applied or (live == applied and not kind.loose):  # fast path: mostly nothing changes
        return live
    shape = kind.shape
    if shape == UNTYPED_SHAPE:
        if type(live) is dict and live and applied is None:
            return live
        if type(live) is not dict or type(applied) is not dict:
            return live if same(kind, live, applied) else applied
        kind = of_value(applied)
        shape = kind.shape
    if shape == LEAF_SHAPE or not live:
        return live if same(kind, live, applied) else applied
    if not applied:
        return live
    if not (_fits(shape, live) and _fits(shape, applied)):
        return applied
    if shape == MAP_SHAPE:
        assert isinstance(kind, MapType)
        return merge_maps(kind, live, applied)
    assert isinstance(kind, ListType)
    return _merge_lists(kind, live, applied)


def merge_maps(kind: MapType, live: dict[str, Any], applied: dict[str, Any]) -> dict[str, Any]:
    """Return `live` merged with `applied`, two objects of a type (see `merge`)."""
    fields, element = kind.fields, kind.element
    out = None
    for key, new in applied.items():
        old = live.get(key, _ABSENT)
        if old is _ABSENT:
            merged = new
        else:
            field = fields.get(key)
            merged = merge(field[1] if field is not None else element or UNTYPED, old, new)
            if merged is old:
                continue
        if out is None:
            out = dict(live)
        out[key] = merged
    return live if out is None else out


def _merge_lists(kind: ListType, live: list[Any], applied: list[Any]) -> list[Any]:
    element = kind.element
    new = dict(items(kind, applied))
    out, changed = [], False
    for step, item in items(kind, live):
        other = new.pop(step, _ABSENT)
        merged = item if other is _ABSENT else merge(element, item, other)
        changed = changed or merged is not item
        out.append(merged)
    if new:
        return [*out, *new.values()]
    return out if changed else live


def remove(kind: Type, value: Any, paths: Tree) -> Any:
    """Return `value` without the members of a root and everything below them; None if it becomes empty."""
    if kind.shape == UNTYPED_SHAPE:
        kind = of_value(value)
    if kind.shape == LEAF_SHAPE or not value or not paths or not _fits(kind.shape, value):
        return value
    if isinstance(kind, ListType):
        kept: list[Any] = []
        for step, item in items(kind, value):
            tree = paths.get(step)
            if tree is None:
                kept.append(item)
            elif not is_member(tree):
                kept.append(remove(kind.element, item, tree))
        return kept or None
    assert isinstance(kind, MapType)
    out = dict(value)
    fields, element = kind.fields, kind.element
    for key, part in value.items():
        step, inner = fields.get(key) or ("f:" + key, element or UNTYPED)
        tree = paths.get(step)
        if tree is None:
            continue
        rest = None if is_member(tree) else remove(inner, part, tree)
        if rest is None:
            del out[key]
        else:
            out[key] = rest
    return out or None


def extract(kind: Type, value: Any, paths: Tree) -> Any:
    """Return the parts of `value` at the members of a root, with the key fields of list items on their paths."""
    if kind.shape == UNTYPED_SHAPE:
        kind = of_value(value)
    if kind.shape == LEAF_SHAPE or not value or not paths or not _fits(kind.shape, value):
        return value
    if isinstance(kind, ListType):
        keys = kind.keys
        kept = []
        for step, item in items(kind, value):
            tree = paths.get(step)
            if tree is not None:
                part = extract(kind.element, item, tree) if tree else item
                named = {key: item[key] for key in keys if key in item} if keys and tree else {}
                kept.append({**named, **part} if named else part)
        return kept
    assert isinstance(kind, MapType)
    out = {}
    for key, part in value.items():
        step, inner = kind.fields.get(key) or ("f:" + key, kind.element or UNTYPED)
        tree = paths.get(step)
        if tree is not None:
            out[key] = extract(inner, part, tree) if tree else part
    return out


def with_structs(kind: Type, paths: Tree) -> Tree:
    """Return a root with all its declared fields as members, so that structs are kept with their fields."""
    if kind.shape == UNTYPED_SHAPE:
        kind = of_value({})
    if kind.shape == LEAF_SHAPE:
        return paths
    out = {}
    declared = _declared(kind)
    default = kind.element if isinstance(kind, MapType | ListType) else None
    for step, tree in paths.items():
        inner = declared.get(step)
        below = with_structs(inner or default or UNTYPED, tree) if tree else tree
        out[step] = below if inner is None else as_member(below)
    return out


def unowned(kind: Type, formerly: Tree, owned: Tree) -> Tree:
    """Return the topmost paths to remove: those in `formerly` that are not in `owned` any more.

    A declared field is owned as long as it or something below it is; a list item or map key only as a member itself.
    """
    if kind.shape == UNTYPED_SHAPE:
        kind = of_value({})
    declared = _declared(kind)
    default = kind.element if isinstance(kind, MapType | ListType) else None
    out = {}
    for step, tree in formerly.items():
        if step == SELF:
            continue
        now = owned.get(step)
        inner = declared.get(step)
        goes = now is None if inner else is_member(tree) and (now is None or not is_member(now))
        if goes:
            out[step] = LEAF
        elif tree:
            below = unowned(inner or default or UNTYPED, tree, now or {})
            if below:
                out[step] = below
    return out


def _declared(kind: Type) -> dict[str, Type]:
    return dict(kind.fields.values()) if isinstance(kind, MapType) else {}


def reconcile(kind: Type, paths: Tree) -> Tree:
    """Return owned paths adapted to a type that has changed since they were recorded (reference APPLY-28).

    An owner of parts of a now atomic value owns the whole; of a now granular value only the top stays owned.
    """
    if kind.shape == UNTYPED_SHAPE or kind.shape == LEAF_SHAPE:
        return paths
    declared = _declared(kind)
    default = kind.element if isinstance(kind, MapType | ListType) else None
    out = None
    for step, tree in paths.items():
        inner = declared.get(step) or default
        if not tree or inner is None:
            continue
        new = LEAF if inner.shape == LEAF_SHAPE else reconcile(inner, tree)
        if new is not tree:
            if out is None:
                out = dict(paths)
            out[step] = new
    return paths if out is None else out
