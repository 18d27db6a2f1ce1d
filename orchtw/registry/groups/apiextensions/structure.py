"""Structural schemas of stored definitions: some from before that rule are not structural (reference CRD-7)."""

from __future__ import annotations

from itertools import islice

from orchtw.errors import MAX_CAUSES, Cause
from orchtw.naming.naming import Naming
from orchtw.registry.groups.apiextensions import structural
from orchtw.registry.groups.apiextensions.conditions import NON_STRUCTURAL, Finding
from orchtw.registry.groups.apiextensions.schema_nodes import Path, walk
from orchtw.schema.custom.extensions import extensions
from orchtw.values.causes import invalid
from orchtw.wire.objects import Object


def structure_finding(definition: Object, naming: Naming) -> Finding | None:
    """Return the condition of a definition whose schemas are not structural, or None."""
    causes = sorted({str(cause) for cause in _causes(definition, naming)})
    if not causes:
        return None
    text = causes[0] if len(causes) == 1 else f"[{', '.join(causes)}]"
    return Finding(NON_STRUCTURAL, True, "Violations", text)


def _causes(definition: Object, naming: Naming) -> list[Cause]:
    spec, keys = definition["spec"], extensions(naming)
    found = []
    if spec.get("preserveUnknownFields"):
        found.append(invalid("spec.preserveUnknownFields", True, "must be false"))
    for index, version in enumerate(spec["versions"] or ()):
        schema = (version.get("schema") or {}).get("openAPIV3Schema")
        if schema is None:
            continue
        path = Path(None, f"spec.versions[{index}].schema.openAPIV3Schema")
        for node in walk(schema, path, keys):
            found += structural.node_causes(node, keys)
            if len(found) > MAX_CAUSES:
                return found
        found += islice(structural.completeness_causes(schema, path), MAX_CAUSES)
    return found
