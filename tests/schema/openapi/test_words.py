"""Descriptions in words."""

from __future__ import annotations

from twisted.trial.unittest import SynchronousTestCase

from orchtw.schema.nodes import EnumSchema, Field, Form, ListSchema, MapSchema, Scalar, StructSchema
from orchtw.schema.openapi.words import of_field, of_resource, of_struct, phrase
from tests.schema.openapi.publishing import surface


class PhraseTests(SynchronousTestCase):
    def test_words(self) -> None:
        """Camel case falls into words; acronyms and brands keep their letters, short forms are written out."""
        for name, words in {
            "minReadySeconds": "minimum ready seconds",
            "clusterIPs": "cluster IPs",
            "podCIDR": "pod CIDR",
            "hostPID": "host PID",
            "fsGroup": "file system group",
            "seLinuxOptions": "SELinux options",
            "x": "x",
            "$ref": "reference",
        }.items():
            self.assertEqual(phrase(name), words)


class FieldTests(SynchronousTestCase):
    def test_meaning(self) -> None:
        """The kind of value shows in the sentence."""
        for field, words in [
            (Field(name="hostNetwork", node=Scalar.BOOL), "Host network: true or false."),
            (Field(name="periodSeconds", node=Scalar.INT32), "Period, in seconds."),
            (Field(name="limits", node=MapSchema(Form.QUANTITY)), "Limits, by key."),
            (Field(name="env", node=ListSchema(Scalar.STRING)), "Environment."),
            (
                Field(name="ports", node=ListSchema(Scalar.STRING, "map", ("port", "protocol"))),
                "Ports; elements are told apart by port, protocol.",
            ),
            (Field(name="status", node=Scalar.STRING), "Status."),
            (Field(name="spec", node=StructSchema("x.XSpec", [])), "The wanted state."),
        ]:
            self.assertEqual(of_field(field), words)

    def test_additions(self) -> None:
        """Values that are not enforced, the default and the gate are told."""
        field = Field(
            name="type",
            node=Scalar.STRING,
            enum=EnumSchema("T", ("", "A")),
            default="A",
            feature_gate="Gate",
        )
        self.assertEqual(
            of_field(field), "Type. Known values: the empty string, A. Without it: A. Needs feature gate Gate."
        )


class TypeTests(SynchronousTestCase):
    def test_struct(self) -> None:
        """A type's last word says what it is for."""
        self.assertEqual(of_struct(StructSchema("a.PodSpec", [])), "The wanted state of Pod.")
        self.assertEqual(of_struct(StructSchema("a.PodList", [])), "A list of Pod objects.")
        self.assertEqual(of_struct(StructSchema("a.Status", [])), "Status.")
        atomic = StructSchema("a.FieldRef", [], atomic=True)
        self.assertEqual(of_struct(atomic), "Field reference. It is replaced as a whole, never merged.")

    def test_deprecated_resource(self) -> None:
        """A deprecated resource names its successor and its end (seed 1 §7)."""
        resource = surface("orch")[0].find("policy", "v1beta1", "poddisruptionbudgets")
        assert resource is not None
        self.assertEqual(
            of_resource(resource),
            "PodDisruptionBudget: an object in a namespace, served as poddisruptionbudgets in policy/v1beta1. "
            "Deprecated since 1.21, use PodDisruptionBudget of policy/v1; not served from 1.25 on.",
        )
