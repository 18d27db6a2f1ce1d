"""`kubectl` checks custom objects itself, as it does for servers that do not (reference OPENAPI-18, CLIENT-7)."""

from __future__ import annotations

import json
from typing import Any

import yaml

from tests.end_to_end.definitions import DefinitionCase
from tests.end_to_end.kubectl_case import KubectlCase


class ClientValidationTests(KubectlCase, DefinitionCase):
    """A server that does not check fields: kubectl reads OpenAPI v2 for that."""

    vocabulary = "kubernetes"
    flags = ("--feature-gates=ServerSideFieldValidation=false",)

    async def setUp(self) -> None:  # type: ignore[override]  # trial awaits it
        await super().setUp()
        self.group_name = self.own_group()

    async def install_kind(self, kind: str, schema: dict[str, Any]) -> None:
        """Have kubectl install a kind, and wait until it is published."""
        plural = f"{kind.lower()}s"
        version = {"name": "v1", "served": True, "storage": True, "schema": {"openAPIV3Schema": schema}}
        definition: dict[str, Any] = {
            "apiVersion": "apiextensions.k8s.io/v1",
            "kind": "CustomResourceDefinition",
            "metadata": {"name": f"{plural}.{self.group_name}"},
            "spec": {
                "group": self.group_name,
                "scope": "Namespaced",
                "names": {"plural": plural, "kind": kind},
                "versions": [version],
            },
        }
        self.addCleanup(self.uninstall, definition["metadata"]["name"])
        await self.run_ok("create", "-f", "-", stdin=yaml.safe_dump(definition))
        await self.run_ok("wait", "--for=condition=Established", f"crd/{plural}.{self.group_name}", "--timeout=30s")
        await self.served(f"{plural}.{self.group_name}")

    def manifest(self, kind: str, name: str, **fields: Any) -> str:
        """An object of a kind."""
        about = {"apiVersion": f"{self.group_name}/v1", "kind": kind, "metadata": {"name": name}}
        return yaml.safe_dump({**about, **fields})

    async def test_any_object(self) -> None:
        """Objects of a kind that keeps whatever it is given are created and applied, with whatever they have."""
        await self.install_kind("Anything", {
            "type": "object", "description": "Whatever.", "x-kubernetes-preserve-unknown-fields": True,
            "properties": {"name": {"type": "string"}},
        })  # fmt: skip
        fields = {"spec": {"a": {"b": None}}, "more": [1, {"c": "d"}], "status": {"e": 1}}
        await self.run_ok("create", "-f", "-", stdin=self.manifest("Anything", "one", **fields))
        await self.run_ok("apply", "-f", "-", stdin=self.manifest("Anything", "two", **fields))
        found = json.loads(await self.run_ok("get", "anything", "one", "-o", "json"))
        self.assertEqual({key: found[key] for key in fields}, fields)
        shown = await self.run_ok("explain", "anything")
        self.assertRegex(shown, r"KIND:\s+Anything\n")

    async def test_free_parts(self) -> None:
        """Parts that keep unknown fields, may be null or are a number or text are no reason to refuse an object."""
        text = {"type": "string"}
        parts = {
            "free": {"type": "object", "x-kubernetes-preserve-unknown-fields": True, "properties": {"a": text}},
            "list": {"type": "array", "items": {"type": "object", "x-kubernetes-preserve-unknown-fields": True}},
            "maybe": {"type": "object", "nullable": True, "properties": {"a": text}, "required": ["a"]},
            "maybes": {"type": "array", "nullable": True, "items": text},
            "port": {"x-kubernetes-int-or-string": True},
            "name": {**text, "nullable": True},
            "template": {
                "type": "object", "x-kubernetes-embedded-resource": True, "x-kubernetes-preserve-unknown-fields": True
            },
        }  # fmt: skip
        spec = {"type": "object", "properties": parts}
        await self.install_kind("Part", {"type": "object", "properties": {"spec": spec}})
        template = {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "p"}, "spec": {"nodeName": None}}
        full = {
            "free": {"a": "b", "c": None}, "list": [{"d": None}], "maybe": None, "maybes": None, "port": 80,
            "name": None, "template": template,
        }  # fmt: skip
        for number, values in enumerate((full, {**full, "port": "http", "maybe": {"a": "b"}, "maybes": ["c"]})):
            manifest = self.manifest("Part", f"p{number}", spec=values)
            await self.run_ok("create", "-f", "-", stdin=manifest)
            await self.run_ok("apply", "-f", "-", stdin=self.manifest("Part", f"q{number}", spec=values))
        wrong = self.manifest("Part", "wrong", spec={**full, "other": 1})
        refused = await self.run_any("create", "-f", "-", stdin=wrong)
        self.assertIn('unknown field "other" in', refused.errors)
        shown = await self.run_ok("explain", "part.spec")
        for line in (r"free\s+<", r"port\s+<", r"template\s+<", r"list\s+<\[\]Object>|list\s+<\[\]"):
            self.assertRegex(shown, line)
