"""Scales by paths (reference CRD-23, CRD-62)."""

from __future__ import annotations

from typing import Any

from twisted.trial.unittest import SynchronousTestCase

from orchtw.errors import BadRequest, InternalError
from orchtw.registry.scaling import LEAST_INT32, PathScale
from orchtw.schema.catalogue import ScalePaths
from orchtw.wire.objects import Object

MAPPING = PathScale(ScalePaths(replicas=".spec.a.n", status_replicas=".status.n", selector=".status.s"))


class PathScaleTests(SynchronousTestCase):
    def test_shown(self) -> None:
        """The Scale has the values at the paths; without a status 0 and empty."""
        self.assertEqual(MAPPING.show({"spec": {"a": {"n": 2}}}), (2, 0, ""))
        self.assertEqual(MAPPING.show({"spec": {"a": {"n": 0}}, "status": {"n": 1, "s": "a=b"}}), (0, 1, "a=b"))

    def test_missing(self) -> None:
        """Without replicas there is no Scale, but one can be written."""
        obj: Object
        for obj in ({}, {"spec": None}, {"spec": {"a": {}}}):
            self.assertRaises(InternalError, MAPPING.show, obj)
            self.assertEqual(MAPPING.before(obj), (LEAST_INT32, 0, ""))
        self.assertRaises(BadRequest, MAPPING.refuse, {"spec": {"replicas": LEAST_INT32}})
        MAPPING.refuse({"spec": {"replicas": 1}})

    def test_taken(self) -> None:
        """Replicas come to their place, objects on the way included; what was there stays as it is."""
        self.assertEqual(MAPPING.take({"kind": "x"}, 3), {"kind": "x", "spec": {"a": {"n": 3}}})
        obj: Object = {"spec": {"a": {"n": 1, "m": 2}, "b": 1}}
        self.assertEqual(MAPPING.take(obj, 3), {"spec": {"a": {"n": 3, "m": 2}, "b": 1}})
        self.assertEqual(obj["spec"]["a"]["n"], 1)

    def test_misfits(self) -> None:
        """Values of other types are told with their paths, in reads and in causes."""
        text = '.spec.a.n accessor error: x is of the type string, expected int64'
        cases: list[tuple[Any, str]] = [
            ({"spec": {"a": {"n": "x"}}}, text),
            ({"spec": {"a": 5}}, ".spec.a.n accessor error: 5 is of the type int64, expected map[string]interface{}"),
            ({"spec": {"a": {"n": 1}}, "status": {"s": [1]}},
             ".status.s accessor error: [1] is of the type []interface {}, expected string"),
        ]  # fmt: skip
        for obj, why in cases:
            error = self.assertRaises(InternalError, MAPPING.show, obj)
            self.assertEqual(error.message, f"Internal error occurred: {why}")
            self.assertTrue(any(why in cause.message for cause in MAPPING.causes(obj)))
        self.assertRaises(InternalError, MAPPING.take, {"spec": "x"}, 1)

    def test_range(self) -> None:
        """Replicas are a count that fits 32 bits; a status write is asked about the status alone."""
        obj = {"spec": {"a": {"n": -1}}, "status": {"n": 1 << 31}}
        found = {cause.field: cause.message for cause in MAPPING.causes(obj)}
        self.assertEqual(found, {
            ".spec.a.n": "Invalid value: -1: should be a non-negative integer",
            ".status.n": "Invalid value: 2147483648: should be less than or equal to 2147483647",
        })  # fmt: skip
        self.assertEqual([cause.field for cause in MAPPING.causes(obj, status_only=True)], [".status.n"])
