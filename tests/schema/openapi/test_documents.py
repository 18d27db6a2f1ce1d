"""Whole documents: valid by the standard, complete, and the same in Protobuf."""
# covers: orchtw.schema.openapi.protobuf.v2, orchtw.schema.openapi.protobuf.v3

from __future__ import annotations

from typing import Any

import yaml
from openapi_spec_validator import OpenAPIV2SpecValidator, OpenAPIV30SpecValidator
from twisted.trial.unittest import SkipTest, SynchronousTestCase

from orchtw.commands import generate
from orchtw.errors import ConfigError
from orchtw.schema.openapi.features import EVERYTHING, Features
from orchtw.schema.openapi.protobuf.message_classes import document_class
from orchtw.schema.openapi.published import Published
from tests.schema.openapi.publishing import published, surface, v2, v3

POD = "/api/v1/namespaces/{namespace}/pods/{name}"


class ValidityTests(SynchronousTestCase):
    """The validator takes ten seconds a vocabulary, and the two differ in names alone: each is looked at once.

    That every reference resolves under both is `tests.schema.openapi.test_definitions`.
    """

    def test_v2(self) -> None:
        """The v2 document is valid OpenAPI 2.0 (reference OPENAPI-7)."""
        self.assertEqual(list(OpenAPIV2SpecValidator(v2("kubernetes")).iter_errors()), [])

    def test_v3(self) -> None:
        """Each v3 document is valid OpenAPI 3.0 (reference OPENAPI-7)."""
        for path in published("orch").v3_paths:
            self.assertEqual(list(OpenAPIV30SpecValidator(v3(path, "orch")).iter_errors()), [], path)


class OpeningTests(SynchronousTestCase):
    """Beginnings of descriptions that clients look for (reference OPENAPI-20)."""

    def test_every_kind(self) -> None:
        """apiVersion, kind and metadata of every kind and list, in all documents of both vocabularies."""
        for vocabulary in ("orch", "kubernetes"):
            documents = [v2(vocabulary)["definitions"]]
            documents += [
                v3(path, vocabulary)["components"].get("schemas", {}) for path in published(vocabulary).v3_paths
            ]
            self.assertGreater(sum(map(self.look, documents)), 300)

    def look(self, definitions: Any) -> int:
        """Look at the definitions of kinds; how many there are."""
        looked = 0
        for name, found in definitions.items():
            of_kind = any(key.endswith("group-version-kind") for key in found)
            if not of_kind or "properties" not in found or name.endswith(".WatchEvent"):
                continue
            said = {key: each.get("description", "") for key, each in found["properties"].items()}
            begins = "APIVersion defines the versioned schema of this representation of an object. "
            self.assertTrue(said["apiVersion"].startswith(begins), name)
            begins = "Kind is a string value representing the REST resource this object represents. "
            self.assertTrue(said["kind"].startswith(begins), name)
            if "metadata" in said:
                of_list = "ListMeta" in str(found["properties"]["metadata"])
                begins = "Standard list metadata. " if of_list else "Standard object's metadata. "
                self.assertTrue(said["metadata"].startswith(begins), name)
            looked += 1
        return looked

    def test_creation(self) -> None:
        """And the time of creation."""
        found = v2("kubernetes")["definitions"]["io.k8s.apimachinery.pkg.apis.meta.v1.ObjectMeta"]["properties"]
        self.assertTrue(found["creationTimestamp"]["description"].startswith("CreationTimestamp is a timestamp "))


class DocumentTests(SynchronousTestCase):
    def test_shared_parameters(self) -> None:
        """Parameters of all operations of a path are published once, in both versions."""
        for item in (v2()["paths"][POD], v3("api/v1")["paths"][POD]):
            self.assertEqual([each["name"] for each in item["parameters"]], ["name", "namespace", "pretty"])
            self.assertEqual(
                [each["name"] for each in item["patch"]["parameters"] if each["name"] != "body"],
                ["dryRun", "fieldManager", "fieldValidation", "force"],
            )

    def test_v2_operation(self) -> None:
        """A v2 operation tells media types, body, answers, kind and action."""
        found = v2()["paths"][POD]["put"]
        self.assertEqual(found["operationId"], "replaceCoreV1NamespacedPod")
        self.assertEqual((found["consumes"], found["schemes"], found["tags"]), (["*/*"], ["https"], ["core_v1"]))
        pod = {"$ref": "#/definitions/io.orch.api.core.v1.Pod"}
        self.assertEqual(found["parameters"][0], {"name": "body", "in": "body", "schema": pod, "required": True})
        self.assertEqual(found["responses"]["201"], {"description": "Created", "schema": pod})
        self.assertEqual(found["responses"]["401"], {"description": "Unauthorized"})
        self.assertEqual(found["x-orch-action"], "put")
        self.assertEqual(found["x-orch-group-version-kind"], {"group": "", "kind": "Pod", "version": "v1"})

    def test_v3_operation(self) -> None:
        """A v3 operation has its body and answers by media type."""
        found = v3("api/v1", "kubernetes")["paths"][POD]["patch"]
        self.assertTrue(found["requestBody"]["required"])
        self.assertIn("application/apply-patch+yaml", found["requestBody"]["content"])
        self.assertEqual(
            found["responses"]["200"]["content"]["application/vnd.kubernetes.protobuf"]["schema"],
            {"$ref": "#/components/schemas/io.k8s.api.core.v1.Pod"},
        )
        self.assertEqual(found["x-kubernetes-action"], "patch")

    def test_v3_parts(self) -> None:
        """There is a v3 document for each group version, each group, and what stands above them
        (reference OPENAPI-2).
        """
        paths = list(published("orch").v3_paths)
        self.assertEqual(paths, sorted(paths))
        for path in ("api", "api/v1", "apis", "apis/apps", "apis/apps/v1", "version"):
            self.assertIn(path, paths)
        self.assertNotIn("apis/internal.apiserver.orch.io/v1alpha1", paths)

    def test_v3_holds_what_v2_holds(self) -> None:
        """All v3 documents together have the paths of the v2 document."""
        paths = {path for part in published("orch").v3_paths for path in v3(part)["paths"]}
        self.assertEqual(paths, set(v2()["paths"]))

    def test_features(self) -> None:
        """Lists of values, and parameters, are left out where their gates are off (OPENAPI-19)."""
        schemas, enabled = surface("orch")
        few = [each for each in enabled if (each.group, each.plural) == ("", "pods")]
        words = (b'"enum":', b'"fieldValidation"', b'"name":"sendInitialEvents"', b'"name":"ignoreStoreRead')
        for features, found in (
            (EVERYTHING, (True, True, True, True)),
            (Features(enums=False), (False, True, True, True)),
            (Features(field_validation=False), (True, False, True, True)),
            (Features(initial_events=False), (True, True, False, True)),
            (Features(unsafe_deletes=False), (True, True, True, False)),
        ):
            made = Published(schemas, few, features=features)
            for form in (made.v2, made.v3["api/v1"]):
                self.assertEqual(tuple(word in form.json.body for word in words), found)

    def test_title(self) -> None:
        """The documents bear the product's name and release, and ask for a bearer token or a certificate."""
        self.assertEqual(v2("kubernetes")["info"], {"title": "Kubernetes", "version": "v1.24.0"})
        self.assertEqual(v2()["security"], [{"BearerToken": []}])

    def test_same_bytes(self) -> None:
        """Two servers with the same resources publish the same bytes, so that hashes mean something."""
        again = Published(*surface("orch"))
        self.assertEqual(again.v2.json, published("orch").v2.json)
        self.assertEqual(again.v2.protobuf, published("orch").v2.protobuf)
        self.assertEqual(again.index("/x"), published("orch").index("/x"))


def entries(message: Any) -> dict[str, Any]:
    """Named entries as a dict."""
    return {each.name: each.value for each in message}


class ProtobufTests(SynchronousTestCase):
    def test_packaged_set_is_fresh(self) -> None:
        """The committed openapi.binpb is what the protos compile to."""
        if not generate.PROTOS.is_dir():
            raise SkipTest("the protos are in the checkout only")
        try:
            fresh = generate.stripped(generate.compile_protos(generate.PROTOS, generate.OPENAPI_FOLDERS))
        except ConfigError as error:
            raise SkipTest(str(error)) from error
        self.assertEqual(generate.OPENAPI_OUTPUT.read_bytes(), fresh)

    def test_v2_layout(self) -> None:
        """The binary v2 form has the numbers that clients decode (reference OPENAPI-4)."""
        fields = document_class("v2").DESCRIPTOR.file.message_types_by_name
        numbers = [
            ("Document", "paths", 8), ("Document", "definitions", 9), ("Paths", "path", 2), ("PathItem", "patch", 8),
            ("PathItem", "parameters", 9), ("Operation", "parameters", 8), ("Operation", "vendor_extension", 13),
            ("NonBodyParameter", "query_parameter", 3), ("QueryParameter", "name", 4), ("Schema", "_ref", 1),
            ("Schema", "required", 19), ("Schema", "type", 22), ("Schema", "items", 23), ("Schema", "properties", 25),
            ("Schema", "additional_properties", 21), ("Schema", "vendor_extension", 31), ("Any", "yaml", 2),
        ]  # fmt: skip
        for message, field, number in numbers:
            self.assertEqual(fields[message].fields_by_name[field].number, number, (message, field))

    def test_v2(self) -> None:
        """The binary v2 form says what the JSON form says."""
        document: Any = document_class("v2").FromString(published("orch").v2.protobuf.body)
        self.assertEqual(document.swagger, "2.0")
        self.assertEqual(list(entries(document.paths.path)), list(v2()["paths"]))
        definitions = entries(document.definitions.additional_properties)
        self.assertEqual(list(definitions), list(v2()["definitions"]))
        for name, schema in definitions.items():
            self.assertEqual(_schema(schema), v2()["definitions"][name], name)
        patch = entries(document.paths.path)[POD].patch
        names = [each.parameter.non_body_parameter.query_parameter.name for each in patch.parameters]
        self.assertEqual(names, ["", "dryRun", "fieldManager", "fieldValidation", "force"])
        extensions = {name: yaml.safe_load(value.yaml) for name, value in entries(patch.vendor_extension).items()}
        self.assertEqual(extensions["x-orch-action"], "patch")
        self.assertEqual(extensions["x-orch-group-version-kind"], {"group": "", "kind": "Pod", "version": "v1"})

    def test_v3(self) -> None:
        """The binary v3 form has the same paths, operations and schemas as the JSON form."""
        for path in published("kubernetes").v3_paths:
            document: Any = document_class("v3").FromString(published("kubernetes").v3[path].protobuf.body)
            json = v3(path, "kubernetes")
            self.assertEqual(document.openapi, "3.0.0")
            found = entries(document.paths.path)
            self.assertEqual(list(found), list(json["paths"]))
            for name, item in found.items():
                self.assertEqual(item.get.operation_id, json["paths"][name].get("get", {}).get("operationId", ""))
            schemas = entries(document.components.schemas.additional_properties)
            self.assertEqual(list(schemas), list(json["components"]["schemas"]))
            for name, value in schemas.items():
                properties = entries(value.schema.properties.additional_properties)
                self.assertEqual(list(properties), list(json["components"]["schemas"][name].get("properties", {})))

    def test_v3_references(self) -> None:
        """A wrapped reference, a default and an extension arrive in the binary v3 form."""
        document: Any = document_class("v3").FromString(published("orch").v3["api/v1"].protobuf.body)
        schemas = entries(document.components.schemas.additional_properties)
        port = entries(schemas["io.orch.api.core.v1.ContainerPort"].schema.properties.additional_properties)
        self.assertEqual(port["protocol"].schema.default.string, "TCP")
        pod = entries(schemas["io.orch.api.core.v1.Pod"].schema.properties.additional_properties)
        self.assertEqual(
            pod["spec"].schema.all_of[0].reference._ref, "#/components/schemas/io.orch.api.core.v1.PodSpec"
        )


def _schema(message: Any) -> dict[str, Any]:
    """The JSON form of a binary v2 schema."""
    found: dict[str, Any] = {
        "$ref": message._ref,
        "format": message.format,
        "description": message.description,
        "required": list(message.required),
        "enum": [yaml.safe_load(each.yaml) for each in message.enum],
        "type": message.type.value[0] if message.type.value else "",
        "properties": {
            name: _schema(value) for name, value in entries(message.properties.additional_properties).items()
        },
    }
    if message.HasField("items"):
        found["items"] = _schema(message.items.schema[0])
    if message.HasField("additional_properties"):
        found["additionalProperties"] = _schema(message.additional_properties.schema)
    if message.HasField("default"):
        found["default"] = yaml.safe_load(message.default.yaml)
    found |= {name: yaml.safe_load(value.yaml) for name, value in entries(message.vendor_extension).items()}
    return {key: value for key, value in found.items() if value not in ("", [], {}) or key == "default"}
