"""Which of the names that it asks for a definition gets (reference CRD-7)."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

from orchtw.controllers.definitions.definition import Definition, Names
from orchtw.registry.groups.apiextensions.conditions import (
    ESTABLISHED,
    NAMES_ACCEPTED,
    Finding,
    holds,
)
from orchtw.rules.causes import go_quote

_ORDER = ("plural", "singular", "shortNames", "kind", "listKind", "categories")
_NO_CONFLICTS = Finding(NAMES_ACCEPTED, True, "NoConflicts", "no conflicts found")
_ACCEPTED = Finding(ESTABLISHED, True, "InitialNamesAccepted", "the initial names have been accepted")
_NOT_ACCEPTED = Finding(ESTABLISHED, False, "NotAccepted", "not all names are accepted")


def accept(definition: Definition, others: Iterable[Names]) -> tuple[Names, list[Finding]]:
    """The names that a definition has from now on, and what its conditions say of it.

    `others` are the names that the group's other definitions have. A name that one of them has is not given, and
    what was there in its place stays.
    """
    resources: set[str] = set()
    kinds: set[str] = set()
    for names in others:
        resources.update((names.get("plural", ""), names.get("singular", ""), *(names.get("shortNames") or ())))
        kinds.update((names.get("kind", ""), names.get("listKind", "")))
    given: dict[str, Any] = dict(definition.accepted)
    finding = _NO_CONFLICTS
    for key, taken, reason in (
        ("plural", resources, "PluralConflict"),
        ("singular", resources, "SingularConflict"),
        ("shortNames", resources, "ShortNamesConflict"),
        ("kind", kinds, "KindConflict"),
        ("listKind", kinds, "ListKindConflict"),
    ):
        clash = _short_names_clash if key == "shortNames" else _clash
        if why := clash(definition.names.get(key), definition.accepted.get(key), taken.__contains__):
            finding = Finding(NAMES_ACCEPTED, False, reason, why)
        else:
            _take(given, definition.names, key)
    _take(given, definition.names, "categories")
    names = {key: given[key] for key in _ORDER if key in given}
    return names, [finding, *_established(definition, finding)]


def _established(definition: Definition, accepted: Finding) -> list[Finding]:
    """What is established stays so, whatever becomes of its names."""
    if holds(definition.conditions, ESTABLISHED):
        return []
    return [_ACCEPTED if accepted.holds else _NOT_ACCEPTED]


def _take(given: dict[str, Any], names: Names, key: str) -> None:
    if key in names:
        given[key] = names[key]
    else:
        given.pop(key, None)


def _clash(asked: Any, had: Any, taken: Callable[[str], bool]) -> str:
    name = asked or ""
    return f"{go_quote(name)} is already in use" if name != (had or "") and taken(name) else ""


def _short_names_clash(asked: Any, had: Any, taken: Callable[[str], bool]) -> str:
    if (asked or []) == (had or []):
        return ""
    found = [why for name in asked or () if name not in (had or ()) and (why := _clash(name, "", taken))]
    return found[0] if len(found) == 1 else f"[{', '.join(dict.fromkeys(found))}]" if found else ""
