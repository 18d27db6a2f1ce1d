"""Objects encoded field by field: `FieldEncoder`."""
# covers: orchtw.schema.codec.spans

from __future__ import annotations

from random import Random
from typing import Any
from unittest import mock

import orjson
from hypothesis import given
from hypothesis import strategies as some
from twisted.trial.unittest import SynchronousTestCase

from orchtw.naming.naming import Naming
from orchtw.schema import known_parts
from orchtw.schema.catalogue import Catalogue
from orchtw.schema.codec.codecs import Codecs
from orchtw.schema.codec.wire import delimited
from tests.properties import examples
from tests.schema.arbitrary import Arbitrary
from tests.schema.codec.test_changes import mixed, whole

CODECS = Codecs(Catalogue.load(Naming.orch()))
PODS = CODECS.kind("v1", "Pod")
POD: dict[str, Any] = {
    "metadata": {"name": "p", "labels": {"a": "b", "c": "d"}, "annotations": {"text": "x" * 300}},
    "spec": {"containers": [{"name": "c", "image": "i"}, {"name": "d", "image": "j"}]},
    "status": {"conditions": [{"type": "Ready", "status": "False"}]},
}


class FieldEncoderTests(SynchronousTestCase):
    def test_every_kind(self) -> None:
        """A changed object of any kind has the bytes that the whole encoder gives it (reference ENC-18)."""
        kinds = [key for key in sorted(CODECS.catalogue._messages) if CODECS.kind(*key).protobuf]
        self.assertGreater(len(kinds), 200)

        self.patch(known_parts, "SHORTEST", 1)

        @examples(4)
        @given(some.integers(0, 2**32))
        def check(seed: int) -> None:
            for api_version, kind in kinds:
                codec, random = CODECS.kind(api_version, kind), Random(f"{seed} {kind}")
                old, other = (whole(codec, Arbitrary(random).struct(codec.schema)) for _ in range(2))
                new = whole(codec, mixed(random, old, other))
                for _ in range(3):  # it is new, seen once, and known
                    self.assertEqual(codec.field_encoder.new(old), codec.encode_protobuf(old), kind)
                self.assertEqual(
                    codec.field_encoder.changed(new, old, codec.encode_protobuf(old)),
                    codec.encode_protobuf(new),
                    kind,
                )

        check()

    def test_drawn_names(self) -> None:
        """Objects that differ in the drawn name of a volume have their own bytes and causes, wherever it stands."""
        kinds = [key for key in sorted(CODECS.catalogue._messages) if CODECS.kind(*key).protobuf]
        drawn = tuple(f"kube-api-access-{end}" for end in ("bcdfg", "22222", "00000", "bcdfgh"))

        @examples(2)
        @given(some.integers(0, 2**32))
        def check(seed: int) -> None:
            for key in [*kinds, *[("v1", "Pod")] * 100]:
                codec, random = CODECS.kind(*key), Random(f"{seed} {key}")
                base = whole(codec, Arbitrary(random, (drawn[0], "a", drawn[0])).struct(codec.schema))
                for _ in range(3):
                    text = orjson.dumps(base).replace(drawn[0].encode(), random.choice(drawn).encode())
                    obj = whole(codec, orjson.loads(text))
                    with mock.patch.object(known_parts, "LONGEST", 0):  # nothing is known
                        encoded, causes = codec.encode_protobuf(obj), codec.check(obj, None)
                    with mock.patch.object(known_parts, "SHORTEST", 1):
                        self.assertEqual(codec.field_encoder.new(obj), encoded, key)
                        self.assertEqual(codec.check(obj, None), causes, key)

        check()

    def test_one_change(self) -> None:
        """Each single difference between two objects shows: a label, an element, a number, a field that goes."""
        old = whole(PODS, POD)
        raw = PODS.encode_protobuf(old)
        change: dict[str, Any]
        for change in (
            {},
            {"metadata": {**POD["metadata"], "labels": {"a": "b"}}},
            {"metadata": {"name": "p"}},
            {"spec": {"containers": POD["spec"]["containers"][:1]}},
            {"spec": {**POD["spec"], "priority": 1}},
            {"status": {}},
            {"status": {"conditions": [{"type": "Ready", "status": "True"}]}},
        ):
            new = whole(PODS, {**POD, **change})
            self.assertEqual(PODS.field_encoder.changed(new, old, raw), PODS.encode_protobuf(new), str(change))

    def test_foreign_bytes(self) -> None:
        """Bytes that this server has not encoded so are not taken over: other orders, unknown fields, damage."""
        old = whole(PODS, POD)
        raw, new = PODS.encode_protobuf(old), whole(PODS, {**POD, "status": {}})
        wanted = PODS.encode_protobuf(new)
        unknown = raw + delimited(99, b"later")
        for bytes_at_rest in (unknown, delimited(3, b"") + raw, raw[:-1], raw + b"\xff", b""):
            self.assertEqual(PODS.field_encoder.changed(new, old, bytes_at_rest), wanted)
