"""Encoding of objects as Protobuf messages."""

from __future__ import annotations

from typing import Any

import orjson
from twisted.trial.unittest import SynchronousTestCase

from orchtw.naming.naming import Naming
from orchtw.schema.catalogue import Catalogue
from orchtw.schema.codec.codecs import Codecs
from orchtw.schema.descriptors import packaged

CODECS = Codecs(Catalogue.load(Naming.orch()))
POD = CODECS.kind("v1", "Pod")


class EncodeTests(SynchronousTestCase):
    def test_readable_by_protobuf(self) -> None:
        """A standard Protobuf reader finds what was encoded, zero values written (reference ENC-18)."""
        raw = POD.encode_protobuf(POD.normalise({"metadata": {"name": "n" * 200}, "spec": {"priority": -1}}))
        message: Any = packaged().message_class(POD.message).FromString(raw)
        self.assertEqual(message.metadata.name, "n" * 200)
        self.assertEqual(message.spec.priority, -1)
        self.assertTrue(message.metadata.HasField("generateName"))
        self.assertTrue(message.HasField("status"))
        self.assertFalse(message.metadata.HasField("deletionTimestamp"))
        self.assertEqual(message.SerializeToString(deterministic=True), raw)

    def test_order_of_keys_is_free(self) -> None:
        """Maps are written sorted, also when a strategy has added a key at the end."""
        pod = POD.normalise({"metadata": {"labels": {"b": "1"}}})
        pod["metadata"]["labels"]["a"] = "2"
        self.assertEqual(
            POD.encode_protobuf(pod),
            POD.encode_protobuf(POD.normalise({"metadata": {"labels": {"a": "2", "b": "1"}}})),
        )

    def test_long_fields(self) -> None:
        """Lengths of more than one byte are right, in fields, map entries and messages."""
        config = CODECS.kind("v1", "ConfigMap")
        obj = config.normalise({"data": {"k" * 200: "v" * 70_000}, "binaryData": {"b": "aGk="}})
        self.assertEqual(config.decode_protobuf(config.encode_protobuf(obj)), obj)
        self.assertEqual(orjson.loads(orjson.dumps(obj)), obj)
