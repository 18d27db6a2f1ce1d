"""Size limits of Secrets and ConfigMaps (reference KIND-34)."""

from __future__ import annotations

import base64

from twisted.trial.unittest import SynchronousTestCase

from orchtw.naming.naming import Naming
from orchtw.registry.groups.core.configuration import validate_config_map
from orchtw.registry.groups.core.payload import MAX_PAYLOAD_BYTES
from orchtw.registry.groups.core.secret_validation import validate_secret

TEXT = "FieldValueTooLong", "Too long: must have at most 1048576 bytes"
HALF = "é" * (MAX_PAYLOAD_BYTES // 4)


def encoded(size: int) -> str:
    return base64.b64encode(b"x" * size).decode()


class PayloadTests(SynchronousTestCase):
    def test_secret(self) -> None:
        """A secret's values are at most 1 MiB together."""
        for rest, expected in ((0, []), (1, [("data", *TEXT)])):
            data = {"a": encoded(MAX_PAYLOAD_BYTES - 10), "b": encoded(10 + rest)}
            found = validate_secret({"metadata": {}, "type": "Opaque", "data": data}, None, Naming.orch())
            self.assertEqual([(cause.field, cause.reason, cause.message) for cause in found], expected)

    def test_config_map(self) -> None:
        """A config map's texts and bytes are at most 1 MiB together; the cause names the whole object (OBJ-28)."""
        for rest, expected in ((0, []), (1, [("[]", *TEXT)])):
            binary = {"b": encoded(MAX_PAYLOAD_BYTES // 2 + rest)}
            found = validate_config_map(
                {"metadata": {}, "data": {"a": HALF}, "binaryData": binary}, None, Naming.orch()
            )
            self.assertEqual([(cause.field, cause.reason, cause.message) for cause in found], expected)

    def test_small(self) -> None:
        """Data that is certainly small is not encoded to be counted."""
        found = validate_config_map({"metadata": {}, "data": {"a": "é" * 1000}}, None, Naming.orch())
        self.assertEqual(found, [])
