"""Schemas of the release, and of kinds that are added."""

from __future__ import annotations

from twisted.trial.unittest import SynchronousTestCase

from orchtw.naming.naming import Naming
from orchtw.schema.catalogue import Catalogue
from orchtw.schema.nodes import ListSchema, StructSchema
from orchtw.schema.schemas import LIST_META, OBJECT_META, Schemas
from tests.registry.widgets import GROUP, gadget, schema_of, widget

CATALOGUE = Catalogue.load(Naming.orch())
V1 = f"{GROUP}/v1"


class SchemasTests(SynchronousTestCase):
    def setUp(self) -> None:
        self.schemas = Schemas(CATALOGUE)

    def add(self, version: str = "v1") -> None:
        resource = widget(version)
        self.schemas.change((), [(resource, schema_of(resource, self.schemas))])

    def test_release(self) -> None:
        """A message of the release has one schema for all callers."""
        self.assertEqual(self.schemas.message_of("v1", "Pod"), "orch.io.api.core.v1.Pod")
        pod = self.schemas.struct("orch.io.api.core.v1.Pod")
        self.assertIs(self.schemas.node("orch.io.api.core.v1.Pod"), pod)
        self.assertEqual((pod.kind, self.schemas.struct(OBJECT_META).kind), ("object", ""))
        self.assertEqual(self.schemas.struct("orch.io.api.core.v1.PodList").kind, "list")

    def test_added(self) -> None:
        """An added kind is found by its names, and so are its lists; the release's kinds stay."""
        self.assertIsNone(self.schemas.message_of(V1, "Widget"))
        self.add()
        self.assertEqual(self.schemas.message_of(V1, "Widget"), "com.example.shop.v1.Widget")
        found = self.schemas.message_of(V1, "WidgetList")
        assert found is not None
        widgets = self.schemas.struct(found)
        self.assertEqual((widgets.kind, list(widgets.keys)), ("list", ["metadata", "items"]))
        items = widgets.keys["items"].node
        assert isinstance(items, ListSchema)
        self.assertIs(items.element, self.schemas.node("com.example.shop.v1.Widget"))
        self.assertIs(widgets.keys["metadata"].node, self.schemas.node(LIST_META))
        self.assertIsNotNone(self.schemas.message_of("v1", "Pod"))

    def test_request_kinds(self) -> None:
        """Options of requests come in the group version of an added kind too, as long as it is there."""
        self.add()
        self.assertEqual(self.schemas.message_of(V1, "DeleteOptions"), self.schemas.message_of("v1", "DeleteOptions"))
        self.assertIsNone(self.schemas.message_of(V1, "Status"))
        self.schemas.change([widget()], ())
        self.assertIsNone(self.schemas.message_of(V1, "DeleteOptions"))

    def test_removed(self) -> None:
        """A removed kind is unknown, and its names are free; its sibling in another version stays."""
        self.add()
        self.add("v2")
        self.schemas.change([widget()], ())
        for kind in ("Widget", "WidgetList"):
            self.assertIsNone(self.schemas.message_of(V1, kind))
        self.assertRaises(KeyError, self.schemas.struct, "com.example.shop.v1.Widget")
        self.assertIsNotNone(self.schemas.message_of(f"{GROUP}/v2", "Widget"))
        self.add()

    def test_taken(self) -> None:
        """No kind is there twice, no name stands for two schemas, and none is another's."""
        self.add()
        self.assertRaises(ValueError, self.add)
        schema = schema_of(widget(), self.schemas)
        for resource in (widget(kind="Other"), gadget(widget()), widget(group="", kind="Pod"), widget(protobuf=True)):
            self.assertRaises(ValueError, self.schemas.check, (), [(resource, schema)])
            self.assertRaises(ValueError, self.schemas.change, (), [(resource, schema)])
        self.assertEqual(self.schemas.message_of(V1, "Widget"), schema.name)

    def test_replaced(self) -> None:
        """A kind that goes and comes in one step has its new schema."""
        self.add()
        schema = schema_of(widget(), self.schemas)
        self.schemas.check([widget()], [(widget(), schema)])
        self.schemas.change([widget()], [(widget(), schema)])
        self.assertIs(self.schemas.node(schema.name), schema)
        self.assertEqual((self.schemas.is_added(schema.name), self.schemas.is_added(OBJECT_META)), (True, False))

    def test_metadata_first(self) -> None:
        """The metadata comes first, before anything that may hold the metadata of another object."""
        fields = schema_of(widget(), self.schemas).fields
        odd = StructSchema(widget().message, fields[::-1], kind="object")
        for schema in (odd, StructSchema(widget().message, [], kind="object")):
            self.assertRaises(ValueError, self.schemas.change, (), [(widget(), schema)])

    def test_copy(self) -> None:
        """A copy stays as it was made."""
        self.add()
        kept = self.schemas.copy()
        self.schemas.change([widget()], ())
        self.add("v2")
        self.assertEqual(kept.message_of(V1, "Widget"), "com.example.shop.v1.Widget")
        self.assertEqual(kept.struct("com.example.shop.v1.Widget").kind, "object")
        self.assertIsNone(kept.message_of(f"{GROUP}/v2", "Widget"))
