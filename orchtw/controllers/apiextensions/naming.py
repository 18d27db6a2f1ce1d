"""Assignment of names to definitions (reference CRD-7)."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final

from orchtw.controllers.apiextensions.definition import Definition, Names
from orchtw.registry.groups.apiextensions.conditions import NAMES_ACCEPTED, Finding
from orchtw.values.causes import go_quote

NAMES_ORDER: Final = ("plural", "singular", "shortNames", "kind", "listKind", "categories")
_RESOURCES: Final = ("plural", "singular")
_KINDS: Final = ("kind", "listKind")
_NO_CONFLICTS: Final = Finding(NAMES_ACCEPTED, True, "NoConflicts", "no conflicts found")

_Name = tuple[str, bool, str]
"""A group, a flag for names of kinds, and the name: resources and kinds do not conflict with each other."""


class NameIndex:
    """Index of names by definition; a name belongs to its definition until it is released."""

    def __init__(self) -> None:
        self._owners: dict[_Name, set[str]] = {}
        self._held: dict[str, frozenset[_Name]] = {}

    def hold(self, definition: str, group: str, *names: Names) -> bool:
        """Let a definition have all these names and no others; returns whether it has given one back."""
        held = frozenset(name for each in names for name in _names(group, each))
        before = self._held.get(definition, frozenset())
        for name in held - before:
            self._owners.setdefault(name, set()).add(definition)
        for name in before - held:
            self._owners[name].discard(definition)
            if not self._owners[name]:
                del self._owners[name]
        self._held[definition] = held
        return not before <= held

    def release(self, definition: str) -> None:
        """Release the names of a deleted definition."""
        self.hold(definition, "")
        del self._held[definition]

    def is_taken(self, name: _Name, definition: str) -> bool:
        """Report whether another definition has the name."""
        owners = self._owners.get(name, ())
        return len(owners) > (definition in owners)


def _names(group: str, names: Names) -> Iterator[_Name]:
    for key in _RESOURCES:
        if names.get(key):
            yield group, False, names[key]
    for name in names.get("shortNames") or ():
        yield group, False, name
    for key in _KINDS:
        if names.get(key):
            yield group, True, names[key]


def accept(definition: Definition, index: NameIndex) -> tuple[Names, Finding]:
    """Return the names that a definition now has, and the condition about them.

    A name taken by another definition leaves the former one in place.
    """
    given: dict[str, Any] = dict(definition.accepted)
    finding = _NO_CONFLICTS
    for key in NAMES_ORDER:
        if why := _clash(definition, key, index):
            reason = f"{key[0].upper()}{key[1:]}Conflict"
            finding = Finding(NAMES_ACCEPTED, False, reason, why)
        elif key in definition.names:
            given[key] = definition.names[key]
        else:
            given.pop(key, None)
    return {key: given[key] for key in NAMES_ORDER if key in given}, finding


def _clash(definition: Definition, key: str, index: NameIndex) -> str:
    """Return why a definition does not get a wanted name; empty: it gets it."""
    asked, had = definition.names.get(key), definition.accepted.get(key)
    if asked == had or key == "categories":
        return ""
    group, is_kind = definition.group, key in _KINDS
    wanted = [name for name in asked or () if name not in (had or ())] if key == "shortNames" else [asked or ""]
    found = [name for name in dict.fromkeys(wanted) if index.is_taken((group, is_kind, name), definition.name)]
    texts = [f"{go_quote(name)} is already in use" for name in found]
    return texts[0] if len(texts) == 1 else f"[{', '.join(texts)}]" if texts else ""
