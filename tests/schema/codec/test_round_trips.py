"""Every kind survives every encoding."""

from __future__ import annotations

from random import Random

import orjson
from hypothesis import given
from hypothesis import strategies as st
from twisted.trial.unittest import SynchronousTestCase

from orchtw.naming.naming import Naming
from orchtw.schema.catalogue import Catalogue
from orchtw.schema.codec.codecs import Codecs
from orchtw.schema.codec.kind_codec import KindCodec
from orchtw.schema.descriptors import packaged
from tests.properties import examples
from tests.schema.arbitrary import Arbitrary

EXAMPLES_PER_KIND = 4


def reread(codec: KindCodec, text: bytes) -> bytes:
    """Canonical JSON, once more read and written."""
    return orjson.dumps(codec.normalise(orjson.loads(text)))


class RoundTripTests(SynchronousTestCase):
    """Kinds of the catalogue, with arbitrary objects in any spelling that the API accepts."""

    def _check_all(self, naming: Naming) -> None:
        codecs = Codecs(Catalogue.load(naming))
        kinds = sorted(codecs.catalogue._messages)
        self.assertGreater(len(kinds), 250)

        # Shrinking has nothing to shrink in a seed.
        @examples(EXAMPLES_PER_KIND)
        @given(st.integers(0, 2**32))
        def check(seed: int) -> None:
            for api_version, kind in kinds:
                self._check(codecs.kind(api_version, kind), Random(f"{seed} {api_version} {kind}"))

        check()

    def _check(self, codec: KindCodec, random: Random) -> None:
        obj = codec.normalise(Arbitrary(random).struct(codec.schema))
        text = orjson.dumps(obj)
        self.assertEqual(reread(codec, text), text, "canonical JSON is a fixed point")
        raw = codec.encode_protobuf(obj)
        # Google's own library reads all of it; it sorts a key before its own prefixes, so only sizes compare.
        self.assertEqual(packaged().message_class(codec.message).FromString(raw).ByteSize(), len(raw))
        back = codec.decode_protobuf(raw)
        self.assertEqual(back, obj)
        self.assertEqual(orjson.dumps(back), text, "Protobuf keeps everything, and the order of keys")
        codec.set_defaults(obj)
        text = orjson.dumps(obj)
        self.assertEqual(reread(codec, text), text, "defaulting keeps the dict canonical")

    def test_every_kind(self) -> None:
        """Any object of any kind comes back from JSON and from Protobuf as it went (reference ENC-16)."""
        self._check_all(Naming.orch())

    def test_every_kind_under_kubernetes_names(self) -> None:
        """The same holds in the other vocabulary (reference ENC-16)."""
        self._check_all(Naming.kubernetes())
