"""Base of the tests of custom resources: definitions of widgets, each in a group of its own."""

from __future__ import annotations

from typing import Any

from orchtw.wire.objects import Object
from tests.end_to_end.definitions import DefinitionCase, is_true

DEFINITION = "CustomResourceDefinition"

SPEC: Object = {
    "type": "object",
    "properties": {
        "size": {"type": "integer", "minimum": 1, "default": 3},
        "colour": {"type": "string", "enum": ["red", "blue"]},
        "code": {"type": "string", "pattern": "^a+$", "minLength": 2},
        "parts": {
            "type": "array",
            "x-orch-list-type": "map",
            "x-orch-list-map-keys": ["name"],
            "items": {
                "type": "object",
                "required": ["name"],
                "properties": {"name": {"type": "string"}, "count": {"type": "integer", "default": 1}},
            },
        },
        "box": {"type": "object", "x-orch-preserve-unknown-fields": True},
        "port": {"x-orch-int-or-string": True},
        "note": {"type": "string", "nullable": True},
        "template": {
            "type": "object",
            "x-orch-embedded-resource": True,
            "properties": {"data": {"type": "object", "additionalProperties": {"type": "string"}}},
        },
    },
}
STATUS: Object = {
    "type": "object",
    "properties": {"phase": {"type": "string"}, "size": {"type": "integer"}, "selector": {"type": "string"}},
}


def structure(**spec: Any) -> Object:
    """The schema of a widget; `spec` is more properties of its spec."""
    properties = {**SPEC["properties"], **spec}
    return {"type": "object", "properties": {"spec": {**SPEC, "properties": properties}, "status": STATUS}}


def version(name: str = "v1", **more: Any) -> Object:
    """A version of the definition: served, stored if it is v1, with a status."""
    found: Object = {
        "name": name,
        "served": True,
        "storage": name == "v1",
        "schema": {"openAPIV3Schema": structure()},
        "subresources": {"status": {}},
    }
    return found | more


class CustomCase(DefinitionCase):
    """Tests with a definition of Widget in a group that no other test has."""

    async def setUp(self) -> None:  # type: ignore[override]
        await super().setUp()
        self.api_group = self.own_group()
        self.definition_path = f"{self.definitions}/widgets.{self.api_group}"

    def definition(self, *versions: Object, **spec: Any) -> Object:
        """Widgets in these versions (default: v1); `spec` replaces fields of the definition's spec."""
        names = {"plural": "widgets", "singular": "widget", "kind": "Widget", "shortNames": ["wd"]}
        return {
            "apiVersion": f"{self.naming.group('apiextensions.orch.io')}/v1",
            "kind": "CustomResourceDefinition",
            "metadata": {"name": f"widgets.{self.api_group}"},
            "spec": {
                "group": self.api_group,
                "scope": "Namespaced",
                "names": names,
                "versions": list(versions) or [version()],
                **spec,
            },
        }

    async def define(self, *versions: Object, **spec: Any) -> None:
        """Create the definition and wait until its first version is served."""
        definition = self.definition(*versions, **spec)
        await self.created(self.definitions, definition)
        await self.served(definition["metadata"]["name"])
        self.addCleanup(self.client.delete, self.definition_path)

    def widgets(self, *rest: str, version: str = "v1") -> str:
        """The path of widgets in the test's namespace."""
        return "/".join((f"/apis/{self.api_group}/{version}/namespaces", self.namespace, "widgets", *rest))

    def widget(self, name: str = "w", version: str = "v1", **more: Any) -> Object:
        """A widget with a size."""
        api_version = f"{self.api_group}/{version}"
        obj: Object = {"apiVersion": api_version, "kind": "Widget", "metadata": {"name": name}, "spec": {"size": 5}}
        return obj | more

    def invalid(self, name: str, *causes: str) -> str:
        """The message of a 422 about a widget."""
        shown = causes[0] if len(causes) == 1 else f"[{', '.join(causes)}]"
        return f'Widget.{self.api_group} "{name}" is invalid: {shown}'


def is_served(definition: Object) -> bool:
    """Report whether the status of a served definition is complete."""
    return all(is_true(definition, each) for each in ("NamesAccepted", "Established"))
