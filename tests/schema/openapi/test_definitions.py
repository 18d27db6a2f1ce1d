"""Definitions of types and fields, in both dialects."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from twisted.trial.unittest import SynchronousTestCase

from orchtw.schema.openapi.definitions import META, V2, V3
from tests.schema.openapi.publishing import VOCABULARIES, definitions, published, surface, v2, v3

CORE = "io.orch.api.core.v1"
META_NAME = "io.orch.apimachinery.pkg.apis.meta.v1"


def definition(name: str) -> dict[str, Any]:
    found: dict[str, Any] = v2()["definitions"][name]
    return found


def schema(name: str, path: str = "api/v1") -> dict[str, Any]:
    found: dict[str, Any] = v3(path)["components"]["schemas"][name]
    return found


def references(value: object) -> Iterator[str]:
    """Every $ref below `value`."""
    if isinstance(value, dict):
        if isinstance(value.get("$ref"), str):
            yield value["$ref"]
        for each in value.values():
            yield from references(each)
    elif isinstance(value, list):
        for each in value:
            yield from references(each)


class NameTests(SynchronousTestCase):
    def test_names(self) -> None:
        """Definition names reverse the host part (reference OPENAPI-8)."""
        names = v2()["definitions"]
        for name in (
            f"{CORE}.Pod",
            f"{META_NAME}.ObjectMeta",
            "io.orch.apimachinery.pkg.api.resource.Quantity",
            "io.orch.apiextensions-apiserver.pkg.apis.apiextensions.v1.JSONSchemaProps",
            "io.orch.orch-aggregator.pkg.apis.apiregistration.v1.APIService",
            "io.orch.apimachinery.pkg.version.Info",
        ):
            self.assertIn(name, names)

    def test_kubernetes_names(self) -> None:
        """Under the other vocabulary the host and the aggregator have their names there (reference VOC-1)."""
        names = v2("kubernetes")["definitions"]
        self.assertIn("io.k8s.api.core.v1.Pod", names)
        self.assertIn("io.k8s.kube-aggregator.pkg.apis.apiregistration.v1.APIService", names)
        self.assertEqual([name for name in names if "orch" in name], [])

    def test_no_product_name_is_left(self) -> None:
        """Nothing that a client reads under the kubernetes vocabulary bears the neutral name (reference DESIGN-6)."""
        every = [published("kubernetes").v2, *published("kubernetes").v3.values()]
        for form in every:
            self.assertNotIn(b"orch.io", form.json.body)
            self.assertNotIn(b"x-orch", form.json.body)
            self.assertNotIn(b"vnd.orch", form.json.body)


class KindTests(SynchronousTestCase):
    def test_kind(self) -> None:
        """A kind names itself in an extension and has kind and apiVersion (reference OPENAPI-9)."""
        pod = definition(f"{CORE}.Pod")
        self.assertEqual(pod["x-orch-group-version-kind"], [{"group": "", "kind": "Pod", "version": "v1"}])
        self.assertEqual(list(pod["properties"]), ["apiVersion", "kind", "metadata", "spec", "status"])

    def test_part_of_a_kind(self) -> None:
        """A type that is not a kind has neither (reference OPENAPI-9)."""
        spec = definition(f"{CORE}.PodSpec")
        self.assertNotIn("x-orch-group-version-kind", spec)
        self.assertNotIn("apiVersion", spec["properties"])

    def test_kinds_of_requests(self) -> None:
        """DeleteOptions is a kind of every served group version, Status of the core group's (reference OPENAPI-9)."""
        options = definition(f"{META_NAME}.DeleteOptions")["x-orch-group-version-kind"]
        self.assertIn({"group": "apps", "kind": "DeleteOptions", "version": "v1"}, options)
        self.assertIn({"group": "", "kind": "DeleteOptions", "version": "v1"}, options)
        status = definition(f"{META_NAME}.Status")["x-orch-group-version-kind"]
        self.assertEqual(status, [{"group": "", "kind": "Status", "version": "v1"}])

    def test_every_kind_of_the_surface(self) -> None:
        """Each resource that is on has exactly one definition of its kind, under both vocabularies."""
        for vocabulary in VOCABULARIES:
            prefix = "x-orch-" if vocabulary == "orch" else "x-kubernetes-"
            found = [
                (each["group"], each["version"], each["kind"])
                for value in v2(vocabulary)["definitions"].values()
                for each in value.get(f"{prefix}group-version-kind", ())
            ]
            for resource in surface(vocabulary)[1]:
                self.assertEqual(found.count((resource.group, resource.version, resource.kind)), 1, resource)

    def test_watch_event_is_not_typed(self) -> None:
        """WatchEvent stands for a kind, but has no kind or apiVersion in JSON (reference OPENAPI-9)."""
        self.assertEqual(list(definition(f"{META_NAME}.WatchEvent")["properties"]), ["type", "object"])


class FieldTests(SynchronousTestCase):
    def test_types_and_formats(self) -> None:
        """Scalars have their type and format."""
        spec = definition("io.orch.api.apps.v1.DeploymentSpec")["properties"]
        self.assertEqual((spec["replicas"]["type"], spec["replicas"]["format"]), ("integer", "int32"))
        self.assertEqual(spec["paused"]["type"], "boolean")
        meta = definition(f"{META_NAME}.ObjectMeta")["properties"]
        self.assertEqual((meta["generation"]["type"], meta["generation"]["format"]), ("integer", "int64"))
        data = definition(f"{CORE}.Secret")["properties"]["data"]
        self.assertEqual(data["additionalProperties"], {"type": "string", "format": "byte"})
        self.assertEqual(definition(f"{META_NAME}.Time")["format"], "date-time")
        self.assertEqual(definition(f"{META_NAME}.MicroTime")["format"], "date-time")
        schema = definition("io.orch.apiextensions-apiserver.pkg.apis.apiextensions.v1.JSONSchemaProps")
        maximum = schema["properties"]["maximum"]
        self.assertEqual((maximum["type"], maximum["format"]), ("number", "double"))

    def test_int_or_string(self) -> None:
        """A value of two types is a text with a format in v2, and both types in v3 (reference OPENAPI-12)."""
        name = "io.orch.apimachinery.pkg.util.intstr.IntOrString"
        two, three = definition(name), schema(name)
        self.assertEqual((two["type"], two["format"]), ("string", "int-or-string"))
        self.assertNotIn("type", three)
        self.assertEqual(three["oneOf"], [{"type": "string"}, {"type": "integer"}])

    def test_required(self) -> None:
        """Fields that may not be left out are required (reference ENC-17)."""
        self.assertEqual(definition("io.orch.api.apps.v1.DeploymentSpec")["required"], ["selector", "template"])
        self.assertNotIn("required", definition(f"{CORE}.Pod"))

    def test_published_enums(self) -> None:
        """A published enum limits the value; another one is told in words (reference OPENAPI-15)."""
        container = definition(f"{CORE}.Container")["properties"]
        self.assertEqual(container["imagePullPolicy"]["enum"], ["Always", "IfNotPresent", "Never"])
        reason = definition(f"{META_NAME}.StatusCause")["properties"]["reason"]
        self.assertNotIn("enum", reason)
        self.assertIn("Known values: FieldValueNotFound, ", reason["description"])

    def test_list_extensions(self) -> None:
        """Lists tell how they merge (reference OPENAPI-11)."""
        ports = definition(f"{CORE}.Container")["properties"]["ports"]
        self.assertEqual(
            {key: value for key, value in ports.items() if key.startswith("x-")},
            {
                "x-orch-list-type": "map",
                "x-orch-list-map-keys": ["containerPort", "protocol"],
                "x-orch-patch-strategy": "merge",
                "x-orch-patch-merge-key": "containerPort",
            },
        )
        volumes = definition(f"{CORE}.PodSpec")["properties"]["volumes"]
        self.assertEqual(volumes["x-orch-patch-strategy"], "merge,retainKeys")

    def test_map_types(self) -> None:
        """Atomic structs and maps say so (reference OPENAPI-11)."""
        self.assertEqual(definition(f"{META_NAME}.LabelSelector")["x-orch-map-type"], "atomic")
        self.assertEqual(definition(f"{CORE}.PodSpec")["properties"]["nodeSelector"]["x-orch-map-type"], "atomic")
        self.assertNotIn("x-orch-map-type", definition(f"{META_NAME}.ObjectMeta")["properties"]["labels"])

    def test_unions(self) -> None:
        """A union names its discriminator and the value that each member belongs to (reference OPENAPI-11)."""
        self.assertEqual(
            definition(f"{CORE}.SeccompProfile")["x-orch-unions"],
            [{"discriminator": "type", "fields-to-discriminateBy": {"localhostProfile": "LocalhostProfile"}}],
        )

    def test_inline_structs(self) -> None:
        """The keys of an inline struct stand in its owner."""
        volume = definition(f"{CORE}.Volume")["properties"]
        self.assertIn("emptyDir", volume)
        self.assertNotIn("", volume)

    def test_free_values(self) -> None:
        """A free value is any JSON inside schemas and an object elsewhere (reference ENC-19)."""
        self.assertEqual(
            definition(f"{META_NAME}.WatchEvent")["properties"]["object"]["$ref"],
            "#/definitions/io.orch.apimachinery.pkg.runtime.RawExtension",
        )
        package = "io.orch.apiextensions-apiserver.pkg.apis.apiextensions.v1"
        default = definition(f"{package}.JSONSchemaProps")["properties"]["default"]
        self.assertEqual(default["$ref"], f"#/definitions/{package}.JSON")
        self.assertNotIn("type", definition(f"{package}.JSON"))
        self.assertNotIn("type", definition(f"{package}.JSONSchemaPropsOrArray"))

    def test_reference_in_v2(self) -> None:
        """A v2 field refers to its type directly, with its own description beside it."""
        spec = definition(f"{CORE}.Pod")["properties"]["spec"]
        self.assertEqual(set(spec), {"description", "$ref"})
        self.assertEqual(spec["$ref"], f"#/definitions/{CORE}.PodSpec")

    def test_reference_in_v3(self) -> None:
        """A v3 field with more to say wraps the reference; the empty struct is its default where that is valid."""
        fields = schema(f"{CORE}.Pod")["properties"]
        self.assertEqual(fields["metadata"]["allOf"], [{"$ref": f"#/components/schemas/{META_NAME}.ObjectMeta"}])
        self.assertEqual(fields["metadata"]["default"], {})
        self.assertNotIn("default", fields["spec"])  # its containers are required

    def test_defaults(self) -> None:
        """A declared default is published (reference OPENAPI-15)."""
        port = schema(f"{CORE}.ContainerPort")["properties"]["protocol"]
        self.assertEqual(port["default"], "TCP")

    def test_everything_is_described(self) -> None:
        """Every definition and every field has a description, which never ends in the middle."""
        for name, found in v2()["definitions"].items():
            for what, each in {name: found, **found.get("properties", {})}.items():
                self.assertTrue(each["description"].endswith("."), (name, what))


class ClosureTests(SynchronousTestCase):
    def test_references_resolve(self) -> None:
        """Each reference of a document leads to a definition in it, and no definition is there for nothing."""
        for vocabulary in VOCABULARIES:
            document = v2(vocabulary)
            used = {each.removeprefix("#/definitions/") for each in references(document)}
            self.assertEqual(used, set(document["definitions"]))
            for path in published(vocabulary).v3_paths:
                document = v3(path, vocabulary)
                used = {each.removeprefix("#/components/schemas/") for each in references(document)}
                self.assertEqual(used, set(document["components"]["schemas"]), path)

    def test_closure(self) -> None:
        """The closure of a type holds what it reaches, itself included, in order."""
        found = definitions(V3).closure([f"{META}.LabelSelector"])
        self.assertEqual(
            list(found), [f"{META_NAME}.LabelSelector", f"{META_NAME}.LabelSelectorRequirement"]
        )

    def test_recursive_type(self) -> None:
        """A type that contains itself ends."""
        name = "orch.io.apiextensions_apiserver.pkg.apis.apiextensions.v1.JSONSchemaProps"
        self.assertEqual(len(definitions(V2).closure([name])), 7)

    def test_unknown_message(self) -> None:
        """A message that does not exist is a KeyError."""
        self.assertRaises(KeyError, definitions(V2).closure, ["orch.io.Nothing"])
