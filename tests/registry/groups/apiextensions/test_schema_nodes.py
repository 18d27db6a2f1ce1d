"""Walk through the schemas of a definition (reference CRD-9)."""

from __future__ import annotations

from typing import Any

from twisted.trial.unittest import SynchronousTestCase

from orchtw.naming.naming import Naming
from orchtw.registry.groups.apiextensions.schema_nodes import Path, walk
from orchtw.schema.custom.extensions import extensions

TEXT = {"type": "string", "format": "x"}


class WalkTests(SynchronousTestCase):
    def test_single_keywords(self) -> None:
        """Every schema is visited, also one inside a schema that has a single keyword."""
        keys = extensions(Naming.orch())
        inner: list[dict[str, Any]] = [
            {"properties": {"a": TEXT}},
            {"additionalProperties": TEXT},
            {"items": TEXT},
            {"not": TEXT},
            {"allOf": [TEXT]},
            {"anyOf": [TEXT]},
            {"oneOf": [TEXT]},
            {"definitions": {"a": TEXT}},
        ]
        for each in inner:
            found = [node.schema for node in walk({"type": "object", "anyOf": [each]}, Path(None, ""), keys)]
            self.assertIn(TEXT, found, each)
