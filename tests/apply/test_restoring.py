"""Faults in results of strategic merges (reference PATCH-18)."""

from __future__ import annotations

from typing import Any

from twisted.trial.unittest import SynchronousTestCase

from orchtw.apply.restoring import restoring_fault
from orchtw.naming.naming import Naming
from orchtw.schema.catalogue import Catalogue
from orchtw.schema.codec.codecs import Codecs

CODECS = Codecs(Catalogue.load(Naming.orch()))


class RestoringTests(SynchronousTestCase):
    """Faults in restored values (`restoring_fault`)."""

    def test_faults(self) -> None:
        """The first part of another type is told, in the words of the release's converter."""
        pod: list[tuple[Any, str]] = [
            ({"metadata": {"labels": "invalid"}}, "cannot restore map from string"),
            ({"metadata": {"labels": {"a": 5}}}, "cannot convert int64 to string"),
            ({"metadata": {"labels": {"a": 1.5}}}, "unrecognized type: string"),
            ({"metadata": {"labels": {"a": {}}}}, "unrecognized type: string"),
            ({"metadata": {"finalizers": "x"}}, "cannot restore slice from string"),
            ({"metadata": 5}, "cannot restore struct from: int64"),
            ({"spec": []}, "cannot restore struct from: slice"),
            ({"spec": {"containers": {}}}, "cannot restore slice from map"),
            ({"spec": {"containers": [{"ports": [{"containerPort": "x"}]}]}}, "unrecognized type: int32"),
            ({"spec": {"containers": [{"ports": [{"containerPort": 1.5}]}]}}, "cannot convert float64 to int32"),
            ({"spec": {"hostNetwork": "yes"}}, "unrecognized type: bool"),
            ({"spec": {"terminationGracePeriodSeconds": True}}, "unrecognized type: int64"),
            ({"spec": {"nodeName": True}}, "unrecognized type: string"),
        ]
        schema = CODECS.kind("v1", "Pod").schema
        for value, text in pod:
            self.assertEqual(restoring_fault(schema, value), text, value)
        self.assertEqual(restoring_fault(CODECS.kind("v1", "Secret").schema, {"data": {"a": 5}}),
                         "cannot restore slice from int64")

    def test_none(self) -> None:
        """A value that fits its type, is absent, or parses itself has no fault."""
        for value in (
            {}, {"metadata": None}, {"metadata": {"labels": {"a": None}}}, {"unknown": 5},
            {"metadata": {"creationTimestamp": 5}}, {"spec": {"containers": [None, {"name": "c"}]}},
            {"spec": {"containers": [{"ports": [{"containerPort": 80.0}]}]}},
        ):  # fmt: skip
            self.assertEqual(restoring_fault(CODECS.kind("v1", "Pod").schema, value), "", value)
