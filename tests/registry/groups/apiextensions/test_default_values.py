"""Defaults in structural schemas (reference CRD-16)."""

from __future__ import annotations

from twisted.trial.unittest import SynchronousTestCase

from orchtw.naming.naming import Naming
from orchtw.registry.groups.apiextensions.default_values import default_findings
from orchtw.registry.groups.apiextensions.schema_nodes import Path
from orchtw.wire.objects import Object


class DefaultTests(SynchronousTestCase):
    """Defaults of one property."""

    def texts(self, **schema: object) -> list[str]:
        structure: Object = {"type": "object", "properties": {"a": schema}}
        return [str(cause) for _, cause in default_findings(structure, Path(None, "spec"), Naming.orch())]

    def test_type(self) -> None:
        """A default has the type of its schema."""
        self.assertEqual(self.texts(type="string", default="x"), [])
        [text] = self.texts(type="string", default=1)
        self.assertIn("in body must be of type string", text)

    def test_unknown_type(self) -> None:
        """No default is of an unknown type, which is told of the type as well."""
        [text] = self.texts(type="intager", default=1)
        self.assertTrue(text.endswith('must be of type intager: "integer"'), text)

    def test_unknown_fields(self) -> None:
        """A default has no fields that its schema would drop."""
        [text] = self.texts(type="object", default={"b": 1}, properties={})
        self.assertIn("must not have unknown fields", text)
