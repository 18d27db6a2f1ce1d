"""Schema nodes carry everything that the options say."""

from __future__ import annotations

from twisted.trial.unittest import SynchronousTestCase

from orchtw.naming.naming import Naming
from orchtw.schema import declarations
from orchtw.schema.additions import EVERY, RELEASE_1_24
from orchtw.schema.codec.json_codec import normalisers
from orchtw.schema.compiler import SchemaCompiler
from orchtw.schema.nodes import (
    MISSING,
    Alternative,
    EitherSchema,
    Field,
    ListSchema,
    MapSchema,
    NodeForm,
    Scalar,
    StructSchema,
)

CORE = "orch.io.api.core.v1."
META = "orch.io.apimachinery.pkg.apis.meta.v1."
EXTENSIONS = "orch.io.apiextensions_apiserver.pkg.apis.apiextensions.v1."


class SchemaCompilerTests(SynchronousTestCase):
    def setUp(self) -> None:
        self.compiler = SchemaCompiler(Naming.orch())

    def _field(self, message: str, name: str) -> Field:
        return self.compiler.struct(message).keys[name]

    def test_types_that_took_the_place_of_others(self) -> None:
        """A field has the type of the release: that of 1.24, or one that came later (reference KIND-90)."""
        for additions, name in ((RELEASE_1_24, "TypedLocalObjectReference"), (EVERY, "TypedObjectReference")):
            spec = SchemaCompiler(Naming.orch(), additions).struct(CORE + "PersistentVolumeClaimSpec")
            node = spec.keys["dataSourceRef"].node
            assert isinstance(node, StructSchema)
            self.assertEqual(node.name, CORE + name)

    def test_list_map(self) -> None:
        """List type, keys and patch strategy come from the options."""
        node = self._field(CORE + "Container", "ports").node
        assert isinstance(node, ListSchema)
        self.assertEqual((node.list_type, node.map_keys), ("map", ("containerPort", "protocol")))
        volumes = self._field(CORE + "PodSpec", "volumes")
        self.assertEqual(volumes.patch_strategies, ("merge", "retainKeys"))
        self.assertEqual(volumes.patch_merge_key, "name")

    def test_merge_markers(self) -> None:
        """Without a list type, merge with a key means map and merge without one means set (reference APPLY-33)."""
        volumes = self._field(CORE + "PodSpec", "volumes").node
        finalizers = self._field(META + "ObjectMeta", "finalizers").node
        tolerations = self._field(CORE + "PodSpec", "tolerations").node
        assert isinstance(volumes, ListSchema)
        assert isinstance(finalizers, ListSchema)
        assert isinstance(tolerations, ListSchema)
        self.assertEqual((volumes.list_type, volumes.map_keys), ("map", ("name",)))
        self.assertEqual((finalizers.list_type, finalizers.map_keys), ("set", ()))
        self.assertEqual(tolerations.list_type, "")

    def test_fields(self) -> None:
        """Presence, defaults, enums and atomic structs come from the options."""
        policy = self._field(CORE + "PodSpec", "restartPolicy")
        assert policy.enum is not None
        self.assertEqual(policy.enum.values, ("Always", "OnFailure", "Never"))
        self.assertTrue(policy.enum.published)
        self.assertEqual(policy.default, "Always")
        self.assertIs(self._field(CORE + "PodSpec", "nodeName").default, MISSING)
        self.assertTrue(self._field(CORE + "PodSpec", "priority").pointer)
        self.assertTrue(self._field(CORE + "PodSpec", "containers").required)
        self.assertTrue(self.compiler.struct(CORE + "LocalObjectReference").atomic)
        selector = self._field(CORE + "PodSpec", "nodeSelector").node
        assert isinstance(selector, MapSchema)
        self.assertEqual((selector.value, selector.map_type), (Scalar.STRING, "atomic"))

    def test_enums_of_other_packages(self) -> None:
        """A field may use an enum of another package; every field that names one finds it."""
        for file in declarations.files():
            for message in file.messages:
                node = self.compiler.message(message.full_name)
                for field in node.fields if isinstance(node, StructSchema) else ():
                    if message.field(field.proto).options.enum:
                        self.assertIsNotNone(field.enum, field.name)

    def test_order_and_inline(self) -> None:
        """Fields stand in emission order; `keys` has those of inline structs in their place."""
        volume = self.compiler.struct(CORE + "Volume")
        self.assertEqual([field.name for field in volume.fields], ["name", ""])
        self.assertEqual(list(volume.keys)[:3], ["name", "hostPath", "emptyDir"])

    def test_special_forms(self) -> None:
        """Messages with a JSON form of their own are not structs (reference ENC-19)."""
        forms = {
            META + "Time": NodeForm.TIME,
            META + "MicroTime": NodeForm.MICRO_TIME,
            META + "Duration": NodeForm.DURATION,
            META + "FieldsV1": NodeForm.OBJECT,
            META + "Verbs": NodeForm.STRINGS,
            "orch.io.api.certificates.v1.ExtraValue": NodeForm.STRINGS,
            "orch.io.apimachinery.pkg.api.resource.Quantity": NodeForm.QUANTITY,
            "orch.io.apimachinery.pkg.util.intstr.IntOrString": NodeForm.INT_OR_STRING,
            "orch.io.apimachinery.pkg.runtime.RawExtension": NodeForm.ANY,
            EXTENSIONS + "JSON": NodeForm.ANY,
        }
        for message, form in forms.items():
            self.assertIs(self.compiler.message(message), form)
        either = self.compiler.message(EXTENSIONS + "JSONSchemaPropsOrBool")
        assert isinstance(either, EitherSchema)
        self.assertIs(either.alternative, Alternative.BOOL)

    def test_recursive(self) -> None:
        """Only what contains itself is recursive, and it is one node."""
        schema = self.compiler.struct(EXTENSIONS + "JSONSchemaProps")
        self.assertTrue(schema.recursive)
        self.assertIs(schema.keys["not"].node, schema)
        self.assertFalse(self.compiler.struct(CORE + "Pod").recursive)

    def test_vocabulary(self) -> None:
        """JSON keys, enum values and defaults are in the vocabulary; message names are not."""
        compiler = SchemaCompiler(Naming.kubernetes())
        self.assertIn("kubeletVersion", compiler.struct(CORE + "NodeSystemInfo").keys)
        self.assertIn("x-kubernetes-list-type", compiler.struct(EXTENSIONS + "JSONSchemaProps").keys)
        kind = compiler.struct(CORE + "Secret").keys["type"].enum
        assert kind is not None
        self.assertIn("kubernetes.io/tls", kind.values)

    def test_without_descriptors(self) -> None:
        """Nodes can be made by hand, as custom resources' schemas are, and compile to the same codecs."""
        point = StructSchema("Point", [Field(name="x", node=Scalar.DOUBLE, required=True, number=1)])
        line = StructSchema("Line", lambda: [Field(name="points", node=ListSchema(point), omitempty=True, number=1)])
        self.assertEqual(normalisers()[line]({"points": [{"x": 1.5}, {}]}), {"points": [{"x": 1.5}, {"x": 0}]})
