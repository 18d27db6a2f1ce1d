"""Warnings about formats in a definition's schemas that the server does not validate (reference CRD-75)."""

from __future__ import annotations

from typing import Final

from orchtw.config.releases import Release
from orchtw.naming.naming import Naming
from orchtw.registry.groups.apiextensions.schema_nodes import Path, walk
from orchtw.schema.custom import formats
from orchtw.schema.custom.extensions import extensions
from orchtw.values.causes import go_quote
from orchtw.wire.objects import Object

SINCE: Final[Release] = (1, 34)
"""First release with the warning."""

_ANYWHERE: Final = Path(None, "")


def format_warnings(definition: Object, old: Object | None, naming: Naming, release: Release) -> list[str]:
    """Return a warning for each format of strings that the release does not know and the old definition lacks."""
    if release < SINCE:
        return []
    found = _unrecognized(definition, naming, release)
    if found and old is not None:
        before = _unrecognized(old, naming, release)
        found = {each: None for each in found if each not in before}
    return [f"unrecognized format {go_quote(each)}" for each in found]


def _unrecognized(definition: Object, naming: Naming, release: Release) -> dict[str, None]:
    """Return the unknown formats in the order of the schemas, each once."""
    found: dict[str, None] = {}
    for version in definition["spec"]["versions"] or ():
        schema = (version.get("schema") or {}).get("openAPIV3Schema")
        for node in walk(schema, _ANYWHERE, extensions(naming)) if schema is not None else ():
            name = node.schema.get("format")
            if name and node.schema.get("type") == "string" and not formats.is_known(name, release):
                found[name] = None
    return found
