"""The envelope around Protobuf objects."""

from __future__ import annotations

from twisted.trial.unittest import SynchronousTestCase

from orchtw.errors import BadRequest
from orchtw.naming.naming import Naming
from orchtw.schema.catalogue import Catalogue
from orchtw.schema.codec.body import read_body
from orchtw.schema.codec.codecs import Codecs
from orchtw.schema.codec.envelope import PREFIX, unwrap, wrap
from orchtw.schema.codec.strict_fields import IGNORE
from orchtw.schema.codec.wire import delimited

CODECS = Codecs(Catalogue.load(Naming.orch()))


class EnvelopeTests(SynchronousTestCase):
    def test_bytes(self) -> None:
        """Prefix, type, object, and two empty texts (reference ENC-12, ENC-18)."""
        self.assertEqual(
            wrap("v1", "Pod", b"\x12\x00"), b"k8s\x00\x0a\x09\x0a\x02v1\x12\x03Pod\x12\x02\x12\x00\x1a\x00\x22\x00"
        )

    def test_round_trip(self) -> None:
        """Wrapping and unwrapping are inverse for any size."""
        for raw in (b"", b"x" * 127, b"y" * 128, b"z" * 70_000):
            self.assertEqual(unwrap(wrap("apps/v1", "Deployment", raw)), ("apps/v1", "Deployment", raw))

    def test_leaner_writers(self) -> None:
        """Type and encodings may be left out, and unknown fields are dropped."""
        self.assertEqual(unwrap(PREFIX), ("", "", b""))
        self.assertEqual(unwrap(PREFIX + delimited(9, b"?") + delimited(2, b"raw")), ("", "", b"raw"))

    def test_no_prefix(self) -> None:
        """A body without the prefix is a 400 with the text of reference ENC-13."""
        for body, shown in ((b"", "<empty>"), (b"\x0a\x00", "0a00"), (b'{"kind":"Pod"}', '{"kind":"Pod"}')):
            why = "provided data does not appear to be a protobuf message, expected prefix [107 56 115 0]"
            error = self.assertRaises(BadRequest, unwrap, body)
            self.assertEqual(error.message, f"the object provided is unrecognized: {why} ({shown})")
            error = self.assertRaises(BadRequest, read_body, CODECS.kind("v1", "Pod"), body, "protobuf", IGNORE)
            self.assertIn(f"unrecognized (must be of type Pod): {why} ({shown})", error.message)

    def test_broken(self) -> None:
        """A broken envelope is a 400: truncated, ill-typed, not UTF-8 or encoded."""
        for rest in (
            b"\x0a",
            b"\x0a\x05ab",
            b"\x08\x01",
            b"\x10\x01",
            b"\x12" + b"\xff" * 11,
            delimited(1, delimited(1, b"\xff")),
            delimited(1, b"\x08\x01"),
            delimited(3, b"gzip"),
        ):
            self.assertRaises(BadRequest, unwrap, PREFIX + rest)

    def test_of_a_kind(self) -> None:
        """A kind's codec takes its own type or none, and refuses another's (reference ERR-15)."""
        codec = CODECS.kind("v1", "Pod")
        pod, _ = codec.fit({"metadata": {"name": "p"}}, IGNORE)
        self.assertEqual(read_body(codec, codec.encode_envelope(pod), "protobuf", IGNORE)[0], pod)
        untyped = wrap("", "", codec.encode_protobuf(pod))
        self.assertEqual(read_body(codec, untyped, "protobuf", IGNORE)[0], pod)
        error = self.assertRaises(BadRequest, read_body, codec, wrap("v1", "Secret", b""), "protobuf", IGNORE)
        why = "converting (v1.Secret) to (core.Pod): unknown conversion"
        self.assertEqual(error.message, f'Secret in version "v1" cannot be handled as a Pod: {why}')
