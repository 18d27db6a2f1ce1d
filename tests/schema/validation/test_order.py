"""Causes in the order of the fields."""

from __future__ import annotations

from twisted.trial.unittest import SynchronousTestCase

from orchtw.errors import Cause
from orchtw.naming.naming import Naming
from orchtw.schema.catalogue import Catalogue
from orchtw.schema.codec.codecs import Codecs
from orchtw.schema.validation.order import in_field_order

POD = Codecs(Catalogue.load(Naming.orch())).kind("v1", "Pod").schema


class OrderTests(SynchronousTestCase):
    def test_order(self) -> None:
        """Fields stand as they are emitted, elements by index; what is unknown comes last among its siblings."""
        expected = [
            "metadata.name",
            "metadata.labels",
            "spec.volumes[1].name",
            "spec.containers[2].name",
            "spec.containers[2].nosuch.name",
            "spec.containers[10].image",
            "spec.containers[10].resources.limits[a.b/c]",
            "spec.nodeName",
            "spec.nosuch",
            "Value",
        ]
        causes = [Cause("FieldValueInvalid", "", field) for field in expected]
        self.assertEqual(in_field_order(POD, causes[::-1]), causes)

    def test_one_field(self) -> None:
        """Causes of one field stay as they were found."""
        causes = [Cause("FieldValueInvalid", text, "spec.nodeName") for text in "ba"]
        self.assertEqual(in_field_order(POD, causes), causes)
