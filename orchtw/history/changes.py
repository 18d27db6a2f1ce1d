"""Field changes between two states of an object, by JSON path.

Items of a list are told apart by the keys that the type declares for it, or by value in a set; otherwise, and where
keys are missing or repeated, by index. Made in their order, the changes turn the old state into the new one: as in a
JSON patch, what is added at an index is inserted there.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Any, Final

import msgspec
import orjson

from orchtw.apply.merge_type import LIST_SHAPE, KeylessItem, ListType, MapType, Type
from orchtw.apply.path_element import shown
from orchtw.wire.objects import Object

ROOT: Final = "$"
NOISE: Final = frozenset({"managedFields", "resourceVersion", "generation"})
"""Fields of metadata that change with every write, or nearly so."""

IDENTITY: Final = frozenset({"name", "namespace", "uid", "creationTimestamp"})
"""Fields of metadata that say nothing new of an object that comes or goes."""

TYPE_KEYS: Final = frozenset({"apiVersion", "kind"})
_PLAIN: Final = re.compile(r"[A-Za-z_][A-Za-z0-9_]*", re.ASCII)

Path = tuple[str, ...]
"""Steps as in FieldsV1 (see `orchtw.apply.path_element`)."""


class _Absent:
    """Type of the mark of a field that is not there, since null is a value."""

    def __repr__(self) -> str:
        return "ABSENT"


ABSENT: Final = _Absent()


class FieldChange(msgspec.Struct, frozen=True):
    """Change of one field: `old` and `new` are JSON values, ABSENT before it was added or after it was removed."""

    path: Path
    old: Any
    new: Any

    @property
    def op(self) -> str:
        """Return `add`, `remove` or `replace`."""
        return "add" if self.old is ABSENT else "remove" if self.new is ABSENT else "replace"

    def to_json(self) -> Object:
        """Return the change as records show it; a value that is not there is null."""
        old, new = (None if value is ABSENT else value for value in (self.old, self.new))
        return {"op": self.op, "path": path_text(self.path), "old": old, "new": new}


def path_text(path: Iterable[str]) -> str:
    """Return a path as text, such as `$.spec.containers[name="x"].image` or `$.metadata.labels["a/b"]`."""
    return ROOT + "".join(map(_step_text, path))


def _step_text(step: str) -> str:
    name = step[2:]
    if not step.startswith("f:"):
        return shown(step)
    return f".{name}" if _PLAIN.fullmatch(name) else f"[{orjson.dumps(name).decode()}]"


def object_changes(
    kind: MapType, old: Object | None, new: Object | None, *, generation: bool = False
) -> list[FieldChange]:
    """Return the changes between two states of an object; None: it does not exist.

    `kind` is the type of the whole object. What changes with every write is left out, but for `metadata.generation`
    if that is asked for, and so is the identity of an object that is created or deleted.
    """
    left_out = NOISE - {"generation"} if generation else NOISE
    if old is None or new is None:
        left_out |= IDENTITY
    return changes(kind, _without(old or {}, left_out), _without(new or {}, left_out))


def _without(obj: Object, left_out: Collection[str]) -> Object:
    """Return a copy of an object without its type and some of its metadata, which may then be empty."""
    metadata = {key: value for key, value in obj.get("metadata", {}).items() if key not in left_out}
    kept = {key: value for key, value in obj.items() if key not in TYPE_KEYS}
    return {**kept, "metadata": metadata}


def changes(kind: Type | None, old: Any, new: Any) -> list[FieldChange]:
    """Return the changes between two JSON values of a type; None: it has none."""
    out: list[FieldChange] = []
    _compare(kind, (), old, new, out)
    return out


def _compare(kind: Type | None, path: Path, old: Any, new: Any, out: list[FieldChange]) -> None:
    if type(old) is dict and type(new) is dict:
        _compare_maps(kind if isinstance(kind, MapType) else None, path, old, new, out)
    elif type(old) is list and type(new) is list:
        _compare_lists(kind if isinstance(kind, ListType) else None, path, old, new, out)
    elif type(old) is not type(new) or old != new:  # to Python, 1, 1.0 and true are equal
        out.append(FieldChange(path, old, new))


def _compare_maps(
    kind: MapType | None, path: Path, old: Mapping[str, Any], new: Mapping[str, Any], out: list[FieldChange]
) -> None:
    for key, value in old.items():
        here = (*path, f"f:{key}")
        if key in new:
            _compare(_type_of(kind, key), here, value, new[key], out)
        else:
            out.append(FieldChange(here, value, ABSENT))
    out += [FieldChange((*path, f"f:{key}"), ABSENT, value) for key, value in new.items() if key not in old]


def _type_of(kind: MapType | None, key: str) -> Type | None:
    if kind is None:
        return None
    field = kind.fields.get(key)
    return kind.element if field is None else field[1]


def _compare_lists(
    kind: ListType | None, path: Path, old: Sequence[Any], new: Sequence[Any], out: list[FieldChange]
) -> None:
    element = None if kind is None else kind.element
    before, after = _by_step(kind, old), _by_step(kind, new)
    if before is None or after is None:
        _compare_places(element, path, old, new, out)
        return
    added = [step for step in after if step not in before]
    if [step for step in before if step in after] + added != list(after):
        out.append(FieldChange(path, old, new))  # the order has changed, which no item shows
        return
    for step, item in before.items():
        if step in after:
            _compare(element, (*path, step), item, after[step], out)
        else:
            out.append(FieldChange((*path, step), item, ABSENT))
    out += [FieldChange((*path, step), ABSENT, after[step]) for step in added]


def _by_step(kind: ListType | None, values: Sequence[Any]) -> dict[str, Any] | None:
    """Return the items by their steps; None if these do not tell them apart."""
    if kind is None or kind.shape != LIST_SHAPE:
        return None
    try:
        found = {kind.step(item): item for item in values}
    except KeylessItem:
        return None
    return found if len(found) == len(values) else None


def _compare_places(
    element: Type | None, path: Path, old: Sequence[Any], new: Sequence[Any], out: list[FieldChange]
) -> None:
    """Compare items by index. Equal items at both ends stay; in between, what is left over comes or goes."""
    shorter = min(len(old), len(new))
    start = next((at for at in range(shorter) if not _same(old[at], new[at])), shorter)
    rest = shorter - start
    tail = next((at for at in range(rest) if not _same(old[-1 - at], new[-1 - at])), rest)
    old_end, new_end = len(old) - tail, len(new) - tail
    both = min(old_end, new_end)
    for index in range(start, both):
        _compare(element, (*path, f"i:{index}"), old[index], new[index], out)
    # The last ones go first, so that the indexes of the others stay; what is added is inserted.
    out += [FieldChange((*path, f"i:{index}"), old[index], ABSENT) for index in reversed(range(both, old_end))]
    out += [FieldChange((*path, f"i:{index}"), ABSENT, new[index]) for index in range(both, new_end)]


def _same(old: Any, new: Any) -> bool:
    return not changes(None, old, new)
