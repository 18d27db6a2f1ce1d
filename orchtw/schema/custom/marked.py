"""Checks of extensions beyond the keywords: lists without duplicates, embedded objects.

(reference CRD-13, CRD-15)
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import islice
from typing import Any, Final

import msgspec

from orchtw.errors import MAX_CAUSES, MAX_NAME_CHARACTERS, Cause
from orchtw.naming.naming import Naming
from orchtw.schema.codec.mismatch import shortened
from orchtw.schema.custom import wording
from orchtw.schema.custom.extensions import Extensions, Schema
from orchtw.schema.custom.keywords import Expression, identity
from orchtw.schema.custom.terms import OLDEST_FORMS, Forms
from orchtw.schema.validation import metadata
from orchtw.schema.validation.problems import at
from orchtw.values import causes, names

_ANY_NAME: Final = names.NameForm(names.path_segment, names.path_segment_prefix)

Part = tuple[Any, Schema, str]
"""An object or list in a value, its schema and its path."""


class Marked:
    """Holds values against the extensions of schemas."""

    def __init__(self, keys: Extensions, naming: Naming, forms: Forms = OLDEST_FORMS) -> None:
        self._keys = keys
        self._naming = naming
        self._forms = forms

    def causes(self, value: Any, schema: Schema, path: str = "", old: Any = None) -> list[Cause]:
        """Return violations of the extensions by the value at `path`; of very many the first.

        Nothing is said of lists if those of `old`, the value before, have faults as well (reference CRD-37).
        """
        parts = _parts(value, schema, path, [])
        found = list(islice(self._resources(parts), MAX_CAUSES + 1))
        lists = list(islice(self._lists(parts), MAX_CAUSES + 1))
        if lists and old is not None and any(self._lists(_parts(old, schema, path, []))):
            lists = []
        return [*found, *lists][: MAX_CAUSES + 1]

    def resource(self, value: dict[str, Any], path: str) -> Iterator[Cause]:
        """Yield faults in the apiVersion and kind of an object within another one."""
        for key, form in (("apiVersion", _version_fault), ("kind", _kind_fault)):
            name = value.get(key)
            if key not in value:
                yield causes.required(f"{path}.{key}")
            elif type(name) is not str:
                yield wording.invalid(f"{path}.{key}", name, "must be a string", self._forms)
            elif not name:
                yield wording.invalid(f"{path}.{key}", name, "must not be empty")
            elif why := form(name):
                yield wording.invalid(f"{path}.{key}", name, why)
        meta = value.get("metadata")
        if type(meta) is dict:
            yield from self._metadata(meta, path)

    def _metadata(self, meta: dict[str, Any], path: str) -> Iterator[Cause]:
        namespaced = bool(meta.get("namespace"))
        rules = metadata.MetadataRules(
            namespaced=namespaced, name_form=_ANY_NAME, free_finalizers=True, naming=self._naming
        )
        for cause in metadata.validate_create({**meta, "name": meta.get("name") or "fakename"}, rules):
            yield Cause(cause.reason, cause.message, f"{path}.{cause.field}")

    def _resources(self, parts: list[Part]) -> Iterator[Cause]:
        for value, schema, path in parts:
            if type(value) is dict and schema.get(self._keys.embedded):
                yield from self.resource(value, path)

    def _lists(self, parts: list[Part]) -> Iterator[Cause]:
        for value, schema, path in parts:
            if type(value) is list and (kind := LIST_TYPES.get(schema.get(self._keys.list_type, ""))) is not None:
                yield from kind.causes(value, schema.get(self._keys.list_keys) or (), path, self._forms)


def _parts(value: Any, schema: Schema, path: str, found: list[Part]) -> list[Part]:
    """Add the objects and lists in a value to `found`, itself first, and return it."""
    found.append((value, schema, path))
    if type(value) is list and isinstance(items := schema.get("items"), dict):
        for index, each in enumerate(value):
            if type(each) in (dict, list):
                _parts(each, items, f"{path}[{index}]", found)
    elif type(value) is dict:
        members, more = schema.get("properties") or {}, schema.get("additionalProperties")
        for name, each in value.items():
            if type(each) not in (dict, list):
                continue
            if (member := members.get(name)) is not None:
                place = shortened(name, MAX_NAME_CHARACTERS)
                _parts(each, member, f"{path}.{place}" if path else place, found)
            elif isinstance(more, dict):
                _parts(each, more, path + at(name), found)
    return found


def _set_causes(value: list[Any], _: Sequence[str], path: str, forms: Forms) -> Iterator[Cause]:
    for index in _repeated(value):
        yield wording.duplicate(f"{path}[{index}]", value[index], forms)


def _map_causes(value: list[Any], keys: Sequence[str], path: str, forms: Forms) -> Iterator[Cause]:
    for index, each in enumerate(value):
        if each is not None and type(each) is not dict:
            yield wording.invalid(f"{path}[{index}]", each, "must be an object for an array of list-type map", forms)
            return
    found = [{key: each[key] for key in keys if key in each} if each else {} for each in value]
    for index in _repeated(found):
        yield wording.duplicate(f"{path}[{index}]", found[index], forms)


def _repeated(values: list[Any]) -> Iterator[int]:
    """Yield the places where values come for the second time."""
    times: dict[Any, int] = {}
    for index, value in enumerate(values):
        same = identity(value)
        times[same] = times.get(same, 0) + 1
        if times[same] == 2:
            yield index


class ListType(msgspec.Struct, frozen=True):
    """Type of lists without duplicates: the test that is true of others, with the keys, and their causes."""

    test: Expression
    causes: Callable[[list[Any], Sequence[str], str, Forms], Iterator[Cause]]


LIST_TYPES: Final[Mapping[str, ListType]] = {
    "set": ListType(Expression("not distinct({v})"), _set_causes),
    "map": ListType(Expression("not distinct_keys({v}, {limit})"), _map_causes),
}


def _version_fault(text: str) -> str:
    return f"unexpected GroupVersion string: {shortened(text)}" if text.count("/") > 1 else ""


def _kind_fault(text: str) -> str:
    errors = names.dns_1035_label(text.lower())
    return f"may have mixed case, but should otherwise match: {','.join(errors)}" if errors else ""
