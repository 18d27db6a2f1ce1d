"""A made-up kind as a custom resource will be: a resource type and a tree of schema nodes, without any message."""

from __future__ import annotations

from typing import Any

import attrs

from orchtw.schema.catalogue import ResourceType, Subresource
from orchtw.schema.nodes import Field, ListSchema, MapSchema, Node, NodeForm, Scalar, StructSchema
from orchtw.schema.schemas import OBJECT_META, Schemas

GROUP = "shop.example.com"
PREFIX = f"/registry/{GROUP}/widgets/"
VERBS = ("create", "delete", "deletecollection", "get", "list", "patch", "update", "watch")


def field(name: str, node: Node, **more: Any) -> Field:
    """A field as in a structural schema: absent or there, whatever its value."""
    return Field(name=name, node=node, **{"pointer": True, "omitempty": True, **more})


def widget(version: str = "v1", **more: Any) -> ResourceType:
    """Widgets in one version; they are stored as v1."""
    status = Subresource(name="status", kind="Widget", group=GROUP, version=version, verbs=("get", "patch", "update"))
    given: dict[str, Any] = {
        "group": GROUP, "version": version, "plural": "widgets", "singular": "widget", "kind": "Widget",
        "list_kind": "WidgetList", "namespaced": True, "verbs": VERBS, "short_names": ("wd",), "categories": (),
        "subresources": (status,), "storage_version": "v1", "storage_group": GROUP, "storage_version_hash": "hash",
        "default_on": True, "preferred": version == "v1", "delete_returns_object": False,
        "field_selectors": ("metadata.name", "metadata.namespace"), "introduced": None, "deprecated": None,
        "removed": None, "replacement": None, "columns": (), "message": f"com.example.shop.{version}.Widget",
        "protobuf": False,
    }  # fmt: skip
    return ResourceType(**{**given, **more})


def schema_of(resource: ResourceType, schemas: Schemas) -> StructSchema:
    """The nodes of a kind with a size that has a default, parts, labels, and a box that holds anything."""
    part = StructSchema("", [field("name", Scalar.STRING, required=True), field("count", Scalar.INT64, default=1)])
    spec = StructSchema(
        "",
        [
            field("size", Scalar.INT64, default=3, description="The size in inches."),
            field("colour", Scalar.STRING),
            field("parts", ListSchema(part, "map", ("name",))),
            field("notes", MapSchema(Scalar.STRING)),
            field("box", StructSchema("", [field("lid", Scalar.BOOL)], unknown=NodeForm.ANY)),
        ],
        description="Wanted state of the widget.",
    )
    fields = [
        Field(name="metadata", node=schemas.struct(OBJECT_META), optional=True, omitempty=True),
        field("spec", spec),
        field("status", StructSchema("", [field("phase", Scalar.STRING)])),
    ]
    return StructSchema(resource.message, fields, kind="object", description="A thing with a size.")


def versions(schemas: Schemas, *names: str, **more: Any) -> list[tuple[ResourceType, StructSchema]]:
    """Return kinds for `Targets.add`: widgets in these versions (default: v1 alone)."""
    resources = [widget(name, **more) for name in names or ("v1",)]
    return [(each, schema_of(each, schemas)) for each in resources]


def gadget(resource: ResourceType) -> ResourceType:
    """The same of another kind, without a namespace."""
    return attrs.evolve(
        resource, plural="gadgets", singular="gadget", kind="Gadget", list_kind="GadgetList", namespaced=False,
        message=resource.message.replace("Widget", "Gadget"), subresources=(),
    )  # fmt: skip
