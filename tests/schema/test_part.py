"""Parts of structs (`orchtw.schema.part`)."""

from __future__ import annotations

from twisted.trial.unittest import SynchronousTestCase

from orchtw.schema.nodes import Field, Scalar, StructSchema
from orchtw.schema.part import Parts

META = StructSchema("Meta", [Field(name="name", node=Scalar.STRING), Field(name="labels", node=Scalar.STRING)])
POD = StructSchema("Pod", [Field(name="metadata", node=META), Field(name="spec", node=Scalar.STRING)])
NODE = StructSchema("Node", [Field(name="metadata", node=META)])


class PartsTests(SynchronousTestCase):
    """Choice of fields, and sharing of equal parts."""

    def setUp(self) -> None:
        self.parts = Parts()

    def test_chosen(self) -> None:
        """A part has the named fields alone; unknown ones are left out, and a whole struct is the struct itself."""
        found = self.parts.of(POD, ("metadata.name", "metadata.nothing"))
        self.assertEqual(list(found.keys), ["metadata"])
        inner = found.keys["metadata"].node
        assert isinstance(inner, StructSchema)
        self.assertEqual(list(inner.keys), ["name"])
        self.assertIs(self.parts.of(POD, ("metadata",)).keys["metadata"].node, META)

    def test_shared(self) -> None:
        """Equal parts of one struct are one schema, wherever it stands and in whatever order the paths come."""
        one = self.parts.of(POD, ("metadata.name", "metadata.labels"))
        self.assertIs(self.parts.of(POD, ["metadata.labels", "metadata.name"]), one)
        other = self.parts.of(NODE, ("metadata.labels", "metadata.name"))
        self.assertIs(other.keys["metadata"].node, one.keys["metadata"].node)
        self.assertIsNot(self.parts.of(NODE, ("metadata.name",)).keys["metadata"].node, one.keys["metadata"].node)
