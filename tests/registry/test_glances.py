"""Glances at the bytes of unread objects, against full decoding."""

from __future__ import annotations

from random import Random

from hypothesis import given
from hypothesis import strategies as st
from twisted.trial.unittest import SynchronousTestCase

from orchtw.client.owner_references import OwnerMetadata, OwnerMetadataReader
from orchtw.errors import StatusError
from orchtw.registry.stored import Stored
from orchtw.schema.codec.envelope import wrap
from orchtw.schema.codec.splice import set_protobuf_version
from orchtw.schema.codec.wire import delimited, tag, varint
from orchtw.watch.entry import Glance, unread
from orchtw.wire.objects import Object
from tests.properties import examples
from tests.registry.test_stored import TARGETS, kind_codec, pod, target
from tests.schema.arbitrary import Arbitrary

EXAMPLES_PER_KIND = 4
REFUSED = (StatusError, ValueError, KeyError)


def stored_kinds() -> list[Stored]:
    """Each stored resource whose objects are left unread."""
    found = {each.stored.prefix: each.stored for each in TARGETS.served()}
    return [stored for stored in found.values() if stored.codec.protobuf and not stored.strategy.traits.json_kept]


def whole(stored: Stored, value: bytes) -> Glance:
    """The same by decoding everything."""
    entry = stored.build("a/x", value, 7)
    return entry.labels, entry.fields, entry.raw, None


def value_of(stored: Stored, raw: bytes) -> bytes:
    return wrap(stored.codec.api_version, stored.codec.kind, raw)


class KindTests(SynchronousTestCase):
    def test_every_kind(self) -> None:
        """Labels, fields and bytes are those of the decoded object (reference STORE-23)."""
        kinds = stored_kinds()
        self.assertGreater(len(kinds), 40)

        @examples(EXAMPLES_PER_KIND)
        @given(st.integers(0, 2**32))
        def check(seed: int) -> None:
            for stored in kinds:
                random = Random(f"{seed} {stored.prefix}")
                obj: Object = stored.codec.normalise(Arbitrary(random).struct(stored.codec.schema))
                obj["metadata"]["name"] = "x"
                obj["metadata"].pop("resourceVersion", None)
                value = value_of(stored, kind_codec(stored.codec).encode_protobuf(obj))
                self.assertTrue(stored.is_plain("a/x", value))
                self.assertEqual(stored.glance(value, 7), whole(stored, value), stored.prefix)

        check()

    def test_place(self) -> None:
        """The metadata of an unread object can be read in its place, and those of a read one as before: the same,
        but for the version.
        """

        @examples(EXAMPLES_PER_KIND)
        @given(st.integers(0, 2**32))
        def check(seed: int) -> None:
            reader = OwnerMetadataReader()
            for stored in stored_kinds():
                random = Random(f"{seed} {stored.prefix}")
                obj: Object = stored.codec.normalise(Arbitrary(random).struct(stored.codec.schema))
                obj["metadata"]["name"] = "x"
                obj["metadata"].pop("resourceVersion", None)
                value = value_of(stored, kind_codec(stored.codec).encode_protobuf(obj))
                look = lambda entry, value, stored=stored: stored.glance(value, 7)  # noqa: E731
                entry = unread("a/x", "a", "x", 7, look, value)
                before = reader.read(*stored.message(entry))
                self.assertEqual(stored.message(entry)[0], value)
                self.assertTrue(entry.raw)
                self.assertEqual(stored.message(entry), (entry.raw, 0))
                self.assertEqual(before, reader.read(entry.raw))
                self.assertEqual(before, OwnerMetadata.of(obj["metadata"]))

        check()

    def test_place_in_other_bytes(self) -> None:
        """Of bytes that are not an envelope of the kind, no place is told: they are read as a whole."""
        stored = target("pods").stored
        raw = kind_codec(stored.codec).encode_protobuf(pod())
        good = value_of(stored, raw)
        starts = [stored._at_rest.start(value) for value in (good, good[:-1], good + b"x", b"", raw, b"{}")]
        self.assertEqual([bool(start) for start in starts], [True, False, False, False, False, False])
        self.assertEqual(good[starts[0] :][: len(raw)], raw)

    def test_told(self) -> None:
        """A writer tells other processes the same as they would find (reference STORE-28)."""

        @examples(EXAMPLES_PER_KIND)
        @given(st.integers(0, 2**32))
        def check(seed: int) -> None:
            for stored in stored_kinds():
                random = Random(f"{seed} {stored.prefix}")
                obj: Object = stored.codec.normalise(Arbitrary(random).struct(stored.codec.schema))
                obj["metadata"]["name"] = "x"
                obj["metadata"].pop("resourceVersion", None)
                prepared = stored.prepare(obj)
                self.assertTrue(prepared.terms)
                found = stored.glance(prepared.value, 7, prepared.terms)
                self.assertEqual(found, stored.glance(prepared.value, 7), stored.prefix)

        check()

    def test_untold(self) -> None:
        """Nothing is told of kinds that are decoded at once, nor many labels."""
        definitions = target("customresourcedefinitions", "apiextensions.orch.io").stored
        obj: Object = {"metadata": {"name": "x"}}
        self.assertEqual(definitions.prepare(definitions.codec.normalise(obj)).terms, b"")
        labels = {f"label-{number}": "x" * 60 for number in range(100)}
        self.assertEqual(target("pods").stored.prepare(pod(labels=labels)).terms, b"")

    def test_empty(self) -> None:
        """Of an object without anything, fields have the texts of what is absent."""
        for stored in stored_kinds():
            obj = stored.codec.normalise({"metadata": {"name": "x"}})
            value = value_of(stored, kind_codec(stored.codec).encode_protobuf(obj))
            self.assertEqual(stored.glance(value, 7), whole(stored, value), stored.prefix)

    def test_what_is_built(self) -> None:
        """JSON and other versions are decoded at once."""
        stored = target("pods").stored
        self.assertFalse(stored.is_plain("a/x", b'{"kind":"Pod"}'))
        self.assertFalse(stored.is_plain("a/x", wrap("v0", "Pod", b"")))
        self.assertFalse(target("customresourcedefinitions", "apiextensions.orch.io").stored.is_plain("a/x", b""))


class HostileTests(SynchronousTestCase):
    """Bytes that this server has not written."""

    def setUp(self) -> None:
        self.stored = target("pods").stored
        self.raw = kind_codec(self.stored.codec).encode_protobuf(pod(labels={"a": "b", "c": "d"}))
        self.meta = delimited(1, delimited(1, b"x") + delimited(3, b"a"))

    def glance(self, raw: bytes) -> Glance:
        return self.stored.glance(value_of(self.stored, raw), 7)

    def same(self, raw: bytes) -> Glance:
        """Return the results of both ways."""
        found = self.glance(raw)
        self.assertEqual(found, whole(self.stored, value_of(self.stored, raw)))
        return found

    def refused(self, raw: bytes) -> None:
        """Both ways refuse it."""
        self.assertRaises(REFUSED, self.glance, raw)
        self.assertRaises(REFUSED, whole, self.stored, value_of(self.stored, raw))

    def test_repeated_fields(self) -> None:
        """The last of a singular field counts, its parts are not merged; entries of a map add up."""
        labels = [delimited(11, delimited(1, key) + delimited(2, b"1")) for key in (b"k", b"j")]
        meta = delimited(1, delimited(1, b"x") + labels[0] + delimited(3, b"a") + labels[1])
        first, second = delimited(10, b"first") + delimited(3, b"Never"), delimited(10, b"second")
        found = self.same(meta + delimited(2, first) + delimited(2, second))
        self.assertEqual(list(found[0].items()), [("j", "1"), ("k", "1")])
        fields = dict(zip(self.stored.field_names, found[1], strict=True))
        self.assertEqual((fields["spec.nodeName"], fields["spec.restartPolicy"]), ("second", ""))

    def test_unknown_fields(self) -> None:
        """They are passed over, of whatever wire type and number."""
        unknown = (
            delimited(99, b"x" * 200), delimited(100_000, b"y"), tag(1000, 0) + varint(1 << 40),
            tag(1000, 5) + b"abcd", tag(1000, 1) + b"abcdefgh",
        )  # fmt: skip
        for field in unknown:
            meta = delimited(1, delimited(1, b"x") + field)
            self.assertEqual(self.same(meta + delimited(2, field + delimited(10, b"n")) + field)[1][0], "n")

    def test_wrong_wire_types(self) -> None:
        """A field that is looked for is refused in another wire type."""
        for raw in (self.meta + b"\x10\x01", self.meta + delimited(2, b"\x50\x01"), delimited(1, b"\x58\x01")):
            self.refused(raw)

    def test_no_text(self) -> None:
        """Labels and fields are UTF-8."""
        self.refused(self.meta + delimited(2, delimited(10, b"\xff")))
        self.refused(delimited(1, delimited(1, b"x") + delimited(11, delimited(1, b"\xff"))))

    def test_lengths(self) -> None:
        """Lengths beyond the end are refused, at any depth, and varints of too many bytes."""
        for raw in (
            self.meta + b"\x12\x7f", self.meta + delimited(2, b"\x52\x05abc"), self.meta + b"\xfa\x01\x05abc",
            self.meta + b"\x12" + b"\xff" * 11, self.meta + b"\xff" * 11, self.meta + b"\x02\x00",
        ):  # fmt: skip
            self.refused(raw)

    def test_cut(self) -> None:
        """Truncated values are refused, or equal what decoding gives."""
        for length in range(len(self.raw)):
            raw = self.raw[:length]
            try:
                expected = whole(self.stored, value_of(self.stored, raw))
            except REFUSED:
                continue
            self.assertEqual(self.glance(raw), expected, length)

    def test_changed(self) -> None:
        """Whatever decodes has the same labels and fields; what does not raises nothing else than a refusal."""

        @examples(300)
        @given(st.integers(0, len(self.raw) - 1), st.integers(0, 255))
        def check(place: int, byte: int) -> None:
            raw = self.raw[:place] + bytes((byte,)) + self.raw[place + 1 :]
            found: Glance | None
            try:
                found = self.glance(raw)
            except REFUSED:
                found = None
            try:
                expected = whole(self.stored, value_of(self.stored, raw))
            except REFUSED:
                return
            self.assertEqual(found, expected)

        check()

    def test_envelopes(self) -> None:
        """Envelopes in another order are read as well; malformed ones are refused."""
        value = value_of(self.stored, self.raw)
        self.assertEqual(self.stored.glance(value + delimited(9, b"z"), 7)[2], set_protobuf_version(self.raw, b"7"))
        self.assertRaises(REFUSED, self.stored.glance, value[:-10], 7)
