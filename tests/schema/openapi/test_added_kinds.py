"""OpenAPI of kinds without a message."""

from __future__ import annotations

from typing import Any

import orjson
from twisted.trial.unittest import SynchronousTestCase

from orchtw.naming.naming import Naming
from orchtw.schema.catalogue import Catalogue
from orchtw.schema.openapi.published import Published
from orchtw.schema.schemas import Schemas
from tests.registry.widgets import GROUP, schema_of, widget

PATH = f"apis/{GROUP}/v1"
ITEM = f"/{PATH}/namespaces/{{namespace}}/widgets/{{name}}"


class AddedKindTests(SynchronousTestCase):
    """The release's config maps alone, then widgets beside them."""

    def setUp(self) -> None:
        catalogue = Catalogue.load(Naming.orch())
        self.schemas = Schemas(catalogue)
        few = tuple(each for each in catalogue.resources if each.plural in ("configmaps", "leases"))
        self.before = Published(self.schemas, few)
        self.schemas.change((), [(widget(), schema_of(widget(), self.schemas))])
        self.after = Published(self.schemas, (*few, widget()))

    def v2(self) -> Any:
        return orjson.loads(self.after.v2.json.body)

    def v3(self) -> Any:
        return orjson.loads(self.after.v3[PATH].json.body)

    def test_definition(self) -> None:
        """Parts without a name stand where they are used; texts, defaults and what is required come off the nodes."""
        found = self.v2()["definitions"]["com.example.shop.v1.Widget"]
        self.assertEqual(found["description"], "A thing with a size.")
        self.assertEqual(list(found["properties"]), ["apiVersion", "kind", "metadata", "spec", "status"])
        spec = found["properties"]["spec"]
        self.assertEqual((spec["description"], spec["type"]), ("Wanted state of the widget.", "object"))
        self.assertEqual(
            spec["properties"]["size"],
            {
                "description": "The size in inches. Default: 3.",
                "default": 3,
                "type": "integer",
                "format": "int64",
            },
        )
        parts = spec["properties"]["parts"]
        self.assertEqual((parts["x-orch-list-map-keys"], parts["items"]["required"]), (["name"], ["name"]))
        self.assertNotIn("description", parts["items"])
        self.assertTrue(spec["properties"]["box"]["x-orch-preserve-unknown-fields"])
        kinds = [{"group": GROUP, "kind": "Widget", "version": "v1"}]
        self.assertEqual(found["x-orch-group-version-kind"], kinds)

    def test_definition_v3(self) -> None:
        """Version 3 says the same, and refers to the release's metadata."""
        schemas = self.v3()["components"]["schemas"]
        found = schemas["com.example.shop.v1.Widget"]
        self.assertIn("io.orch.apimachinery.pkg.apis.meta.v1.ObjectMeta", str(found["properties"]["metadata"]))
        self.assertIn("com.example.shop.v1.WidgetList", schemas)

    def test_operations(self) -> None:
        """A kind without Protobuf is offered in JSON and YAML, and takes no strategic merge patches."""
        paths = self.v2()["paths"]
        self.assertEqual(set(paths[ITEM]) & {"get", "put", "patch", "delete"}, {"get", "put", "patch", "delete"})
        self.assertEqual(paths[ITEM]["get"]["produces"], ["application/json", "application/yaml"])
        self.assertNotIn("application/strategic-merge-patch+json", paths[ITEM]["patch"]["consumes"])
        self.assertIn(f"{ITEM}/status", paths)
        leases = paths["/apis/coordination.orch.io/v1/namespaces/{namespace}/leases/{name}"]
        self.assertEqual(len(leases["get"]["produces"]), 3)
        self.assertIn("application/strategic-merge-patch+json", leases["patch"]["consumes"])

    def test_ids(self) -> None:
        """Operation ids are made of the group's own words, and none comes twice."""
        ids = [
            operation["operationId"]
            for item in self.v2()["paths"].values()
            for operation in item.values()
            if isinstance(operation, dict)
        ]
        self.assertIn("createShopExampleComV1NamespacedWidget", ids)
        self.assertEqual(len(ids), len(set(ids)))

    def test_others(self) -> None:
        """Documents of the release are the same bytes as before; those of the new group come in addition."""
        new = set(self.after.v3) - set(self.before.v3)
        self.assertEqual(new, {f"apis/{GROUP}", PATH})
        for path, form in self.before.v3.items():
            self.assertEqual(self.after.v3[path].json.hash, form.json.hash, path)
        self.assertNotEqual(self.before.v2.json.hash, self.after.v2.json.hash)

    def test_protobuf(self) -> None:
        """The documents have their binary form."""
        self.assertIn(b"com.example.shop.v1.Widget", self.after.v2.protobuf.body)
        self.assertIn(b"com.example.shop.v1.Widget", self.after.v3[PATH].protobuf.body)

    def test_removed_meanwhile(self) -> None:
        """Documents are of the resources as they were, whatever has been removed before they are made."""
        self.schemas.change([widget()], ())
        self.assertIn("com.example.shop.v1.Widget", self.v2()["definitions"])
