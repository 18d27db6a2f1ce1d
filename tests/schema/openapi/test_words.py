"""Descriptions: texts, and what the schema adds to them."""

from __future__ import annotations

from twisted.trial.unittest import SynchronousTestCase

from orchtw.naming.naming import Naming
from orchtw.schema.catalogue import Catalogue
from orchtw.schema.nodes import EnumSchema, Field, ListSchema, MapSchema, NodeForm, Scalar, StructSchema
from orchtw.schema.openapi.words import of_field, of_resource, of_struct, phrase


def choice(*values: str, published: bool = True, **more: object) -> Field:
    return Field(name="type", node=Scalar.STRING, enum=EnumSchema("T", values, published), **more)  # type: ignore[arg-type]


class PhraseTests(SynchronousTestCase):
    def test_words(self) -> None:
        """Camel case falls into words; acronyms and brands keep their letters."""
        for name, words in {
            "minReadySeconds": "min ready seconds",
            "clusterIPs": "cluster IPs",
            "podCIDR": "pod CIDR",
            "hostPID": "host PID",
            "x": "x",
            "$ref": "ref",
        }.items():
            self.assertEqual(phrase(name), words)


class FieldTests(SynchronousTestCase):
    def test_without_text(self) -> None:
        """A field without a text is described by the words of its name."""
        for node in (Scalar.BOOL, MapSchema(NodeForm.QUANTITY), ListSchema(Scalar.STRING)):
            self.assertEqual(of_field(Field(name="hostNetwork", node=node), ""), "Host network.")

    def test_default(self) -> None:
        """A default is added to the text, unless the text tells it; an empty object is not worth a word."""
        for default, shown in [(10, " Default: 10."), ("", " Default: the empty string."), ({}, "")]:
            field = Field(name="a", node=Scalar.STRING, default=default)
            self.assertEqual(of_field(field, "What it does."), f"What it does.{shown}")
        field = Field(name="a", node=Scalar.BOOL, default=False)
        self.assertEqual(of_field(field, ""), "A. Default: false.")
        told = "What. Default: false, most of the time."
        self.assertEqual(of_field(field, told), told)
        modes = Field(name="a", node=ListSchema(Scalar.STRING), default=["A", "B"])
        self.assertEqual(of_field(modes, "Modes."), "Modes. Default: A, B.")

    def test_allowed_values(self) -> None:
        """Values are added unless the text names all of them."""
        self.assertEqual(of_field(choice("A", "B"), "What."), "What. One of: A, B.")
        self.assertEqual(of_field(choice("A", "B"), "A does this, B that."), "A does this, B that.")
        self.assertEqual(of_field(choice("A", "AB"), "AB does this."), "AB does this. One of: A, AB.")
        self.assertEqual(of_field(choice("", "A"), "A, or empty."), "A, or empty.")

    def test_open_sets(self) -> None:
        """Values that are not enforced are known ones, and a text may give examples instead."""
        self.assertEqual(of_field(choice("", "A", published=False), ""), "Type. Known values: the empty string, A.")
        self.assertEqual(of_field(choice("A", "B", published=False), "Something such as A."), "Something such as A.")

    def test_feature_gate(self) -> None:
        """The gate of a field is told once."""
        field = Field(name="a", node=Scalar.STRING, feature_gate="Gate")
        self.assertEqual(of_field(field, "What."), "What. Needs feature gate Gate.")
        self.assertEqual(of_field(field, "What. Needs feature gate Gate."), "What. Needs feature gate Gate.")


class TypeTests(SynchronousTestCase):
    def test_struct(self) -> None:
        """Merge semantics are added to a type's description, or to the words of its name."""
        self.assertEqual(of_struct(StructSchema("a.PodSpec", []), "What is wanted."), "What is wanted.")
        self.assertEqual(of_struct(StructSchema("a.PodSpec", []), ""), "Pod spec.")
        atomic = StructSchema("a.FieldRef", [], atomic=True)
        self.assertEqual(of_struct(atomic, "Names it."), "Names it. It is replaced as a whole, never merged.")

    def test_deprecated_resource(self) -> None:
        """A deprecated resource names its successor and its end, whatever else it says (reference OPENAPI-15)."""
        resource = Catalogue.load(Naming.orch()).find("policy", "v1beta1", "poddisruptionbudgets")
        assert resource is not None
        life = "Deprecated since 1.21, use PodDisruptionBudget of policy/v1; no longer served from 1.25."
        self.assertEqual(of_resource(resource, "Bounds."), f"Bounds. {life}")
        words = "PodDisruptionBudget: a namespaced object, served as poddisruptionbudgets in policy/v1beta1."
        self.assertEqual(of_resource(resource, ""), f"{words} {life}")
