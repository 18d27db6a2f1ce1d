"""Structural schemas in OpenAPI."""

from __future__ import annotations

from typing import Any, cast

from twisted.trial.unittest import SynchronousTestCase

from orchtw.schema.openapi.structural import StructuralRenderer
from orchtw.wire.objects import Object

PREFIX = "x-orch-"
KEEPS = f"{PREFIX}preserve-unknown-fields"


class StructuralRendererTests(SynchronousTestCase):
    """One schema in both versions of OpenAPI."""

    def setUp(self) -> None:
        self.whole = StructuralRenderer(PREFIX, cast(Any, None), whole=True)
        self.less = StructuralRenderer(PREFIX, cast(Any, None), whole=False)

    def test_unknown_fields(self) -> None:
        """Where unknown fields are kept, version 3 shows everything, version 2 neither type nor properties."""
        structure: Object = {"type": "object", KEEPS: True, "properties": {"a": {"type": "string"}}}
        self.assertEqual(self.whole.of(structure), structure)
        self.assertEqual(self.less.of(structure), {KEEPS: True})
        self.assertEqual((self.whole.is_free(structure), self.less.is_free(structure)), (False, True))
