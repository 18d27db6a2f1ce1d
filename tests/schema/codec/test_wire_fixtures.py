"""The reference's own bytes: every pair of tests/fixtures/wire, both ways."""

from __future__ import annotations

from pathlib import Path

import orjson
from twisted.trial.unittest import SynchronousTestCase

from orchtw.errors import BadRequest
from orchtw.naming.naming import Naming
from orchtw.schema.additions import RELEASE_1_24
from orchtw.schema.catalogue import Catalogue
from orchtw.schema.codec.codecs import Codecs
from orchtw.schema.codec.envelope import unwrap
from orchtw.schema.codec.kind_codec import KindCodec
from tests.schema.codec.envelopes import opened

FIXTURES = Path(__file__).parent.parent.parent / "fixtures" / "wire"
PAIRS = 84


class WireFixtureTests(SynchronousTestCase):
    """One fully populated object a pair, encoded by the reference (fixtures' README).

    Fields that came after release 1.24 change nothing, as the objects do not have them.
    """

    codecs = Codecs(Catalogue.load(Naming.orch()))

    def _pairs(self) -> list[tuple[str, bytes, bytes]]:
        pairs = [
            (path.stem, path.read_bytes(), path.with_suffix(".pb").read_bytes())
            for path in sorted(FIXTURES.glob("*.json"))
        ]
        self.assertEqual(len(pairs), PAIRS)
        return pairs

    def _codec(self, name: str, envelope: bytes) -> KindCodec:
        """By the envelope's type; WatchEvent has none."""
        api_version, kind, _ = unwrap(envelope)
        return self.codecs.kind(api_version or "v1", kind or name.rpartition(".")[2])

    def test_json_to_protobuf(self) -> None:
        """Each JSON encodes to exactly the reference's envelope (reference ENC-15)."""
        for name, text, envelope in self._pairs():
            codec = self._codec(name, envelope)
            self.assertEqual(codec.encode_envelope(codec.normalise(orjson.loads(text))), envelope, name)

    def test_protobuf_to_json(self) -> None:
        """Each envelope decodes to exactly the reference's JSON, keys in its order (reference ENC-15)."""
        for name, text, envelope in self._pairs():
            codec = self._codec(name, envelope)
            obj = opened(codec, envelope)
            self.assertEqual(orjson.dumps(obj, option=orjson.OPT_INDENT_2), text.rstrip(b"\n"), name)

    def test_cut_short(self) -> None:
        """A message that ends too soon is a 400, unless it ends between two of its own fields."""
        for name, _, envelope in self._pairs()[::6]:
            codec = self._codec(name, envelope)
            _, _, raw = unwrap(envelope)
            whole = codec.decode_protobuf(raw)
            for end in range(0, len(raw), 7):
                try:
                    part = codec.decode_protobuf(raw[:end])
                except BadRequest as error:
                    self.assertIn("truncated", error.message)
                else:
                    self.assertTrue(set(part) <= {*whole, *codec.schema.keys, "kind", "apiVersion"})

    def test_damaged(self) -> None:
        """Whatever byte is wrong, decoding gives an object or a 400, nothing else (reference ENC-15)."""
        for name, _, envelope in self._pairs()[::6]:
            codec = self._codec(name, envelope)
            for position in range(4, len(envelope), 11):
                damaged = bytearray(envelope)
                damaged[position] ^= 0xA5
                try:
                    obj = opened(codec, bytes(damaged))
                except BadRequest:
                    continue
                orjson.dumps(obj)
                codec.encode_protobuf(obj)


class EmulatedTests(WireFixtureTests):
    """The same while release 1.24 is emulated."""

    codecs = Codecs(Catalogue.load(Naming.orch(), RELEASE_1_24))
