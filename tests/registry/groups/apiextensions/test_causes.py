"""Places and texts of causes about definitions (reference CRD-4, CRD-12, CRD-26)."""

from __future__ import annotations

from typing import Any

from orchtw.naming.naming import Naming
from orchtw.registry.custom.kinds import kinds_of
from orchtw.schema.catalogue import Catalogue
from orchtw.schema.codec.codecs import Codecs
from orchtw.wire.objects import Object
from tests.verbs.served import ServedCase

DEFINITIONS = "/apis/apiextensions.orch.io/v1/customresourcedefinitions?dryRun=All"
COLUMN = "spec.versions[0].additionalPrinterColumns[0]"


def definition(schema: Object | None = None, **version: Any) -> Object:
    """A definition with one version."""
    form = {"openAPIV3Schema": {"type": "object"} if schema is None else schema}
    names = {"plural": "ws", "singular": "w", "kind": "W", "listKind": "WList"}
    versions = [{"name": "v1", "served": True, "storage": True, "schema": form, **version}]
    spec = {"group": "ex.io", "scope": "Namespaced", "names": names, "versions": versions}
    return {"metadata": {"name": "ws.ex.io"}, "spec": spec, "status": {"acceptedNames": names}}


class CauseTests(ServedCase):
    """Definitions that are refused."""

    def causes(self, body: Object) -> list[tuple[str, str]]:
        """The fields and texts of a refusal; none if the definition is accepted."""
        answer = self.send("POST", DEFINITIONS, body)
        if answer.code == 201:
            return []
        self.assertEqual(answer.code, 422, answer.body)
        return [(each["field"], each["message"]) for each in answer.json["details"]["causes"]]

    def test_columns(self) -> None:
        """A column has a name, a type, a path, and perhaps a format and more, each with its rule (CRD-4, CRD-26)."""
        good = {"name": "a", "type": "string", "jsonPath": ".a"}
        types = "must be one of boolean,date,integer,number,string"
        for change, field, text in (
            ({}, "", ""),
            ({"type": "integer", "format": "int32", "description": "d", "priority": 3, "jsonPath": ".a.b"}, "", ""),
            ({"type": "zap"}, "type", f'Invalid value: "zap": {types}'),
            ({"type": ""}, "type", f"Required value: {types}"),
            ({"name": ""}, "name", "Required value"),
            ({"format": "zap"}, "format", 'Invalid value: "zap": must be one of byte,date,date-time,double,float'),
            ({"jsonPath": ""}, "JSONPath", "Required value"),
            ({"jsonPath": "a"}, "JSONPath", 'Invalid value: "a": must be a simple json path starting with .'),
        ):
            found = self.causes(definition(additionalPrinterColumns=[{**good, **change}]))
            self.assertEqual([each[0] for each in found], [f"{COLUMN}.{field}"] if field else [])
            self.assertTrue(not text or found[0][1].startswith(text), found)

    def test_conversion(self) -> None:
        """Causes about conversion name the fields that v1beta1 had (reference CRD-26)."""
        body = definition()
        body["spec"]["conversion"] = {"strategy": "Webhook"}
        fields = ["spec.conversion.conversionReviewVersions", "spec.conversion.webhookClientConfig"]
        self.assertEqual([field for field, _ in self.causes(body)], fields)
        webhook = {"clientConfig": {"url": "http://x"}, "conversionReviewVersions": ["v9"]}
        body["spec"]["conversion"] = {"strategy": "Webhook", "webhook": webhook}
        fields = ["spec.conversion.conversionReviewVersions", "spec.conversion.webhookClientConfig.url"]
        self.assertEqual([field for field, _ in self.causes(body)], fields)

    def test_stored_schemas(self) -> None:
        """A stored schema is served, whatever in it cannot be used (reference CRD-12)."""
        codecs = Codecs(Catalogue.load(Naming.orch()))
        for schema in (
            {},
            {"type": "zap"},
            {"type": "array"},
            {"type": "object", "properties": {"a": {"type": "string", "pattern": "(", "default": 5}}},
            {"type": "object", "properties": {"a": {"type": "array", "x-orch-list-type": "map"}}},
            {"type": "object", "x-orch-validations": [{"rule": "self.("}]},
        ):
            self.assertEqual(len(kinds_of(definition(schema), codecs.schemas)), 1, schema)
