"""Tests of PartialObjectMetadata (reference TABLE-9)."""

from __future__ import annotations

from twisted.trial.unittest import SynchronousTestCase

from orchtw.schema.tables.partial_object_metadata import partial_metadata, partial_metadata_list

POD = {"kind": "Pod", "apiVersion": "v1", "metadata": {"name": "p"}, "spec": {}, "status": {}}


class PartialTests(SynchronousTestCase):
    """Results of `partial_metadata` and `partial_metadata_list`."""

    def test_object(self) -> None:
        """Only metadata is left, under the apiVersion asked for."""
        self.assertEqual(
            partial_metadata(POD, "meta.k8s.io/v1beta1"),
            {"kind": "PartialObjectMetadata", "apiVersion": "meta.k8s.io/v1beta1", "metadata": {"name": "p"}},
        )

    def test_list(self) -> None:
        """Items of a list carry kind and apiVersion; an empty list has an empty items."""
        item = {"kind": "PartialObjectMetadata", "apiVersion": "meta.orch.io/v1", "metadata": {"name": "p"}}
        meta = {"resourceVersion": "7"}
        expected = {"kind": "PartialObjectMetadataList", "apiVersion": "meta.orch.io/v1", "metadata": meta}
        self.assertEqual(partial_metadata_list(meta, [POD], "meta.orch.io/v1"), {**expected, "items": [item]})
        self.assertEqual(partial_metadata_list(meta, [], "meta.orch.io/v1"), {**expected, "items": []})
