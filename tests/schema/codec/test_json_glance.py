"""Glances at an object's JSON, against full parsing."""

from __future__ import annotations

from typing import Any

import orjson
from hypothesis import given
from hypothesis import strategies as st
from twisted.trial.unittest import SynchronousTestCase

from orchtw.schema.codec.json_glance import glance
from tests.properties import examples

OWNERS = [{"manager": "m", "fieldsV1": {'k:{"name":"x"}': {"f:labels": {}}}}]
META: dict[str, Any] = {
    "name": "a", "namespace": "n", "uid": "u", "resourceVersion": "", "generation": 1, "labels": {"app": "web"},
    "managedFields": OWNERS,
}  # fmt: skip

# What ends or begins something, and the keys that matter, also where they do not.
words = st.just("x") | st.sampled_from(
    ["", ']},"', "]", "[", '"', "\\", '\\"', "}", "metadata", "labels", "resourceVersion", "managedFields", "\x1f",
     "é", '","labels":{"a":"b"},"', ',"managedFields":[']
)  # fmt: skip
values = st.recursive(
    st.one_of(words, st.none(), st.booleans(), st.integers(-(1 << 53), 1 << 53)),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(words, inner, max_size=3),
    max_leaves=3,
)
labels = st.dictionaries(words, words, max_size=3)
owners = st.sampled_from([OWNERS, [{}], []]) | st.lists(values, min_size=1, max_size=2)
rest = st.dictionaries(st.sampled_from(["spec", "status", "labels", "managedFields"]), values, min_size=1)


def made(name: str, labels: dict[str, str], owners: list[Any], rest: dict[str, Any]) -> dict[str, Any]:
    return {"metadata": {"name": name, "resourceVersion": "", "labels": labels, "managedFields": owners}} | rest


objects = st.builds(made, words, labels, owners, rest)
inserted = st.sampled_from(
    [b" ", b"\n", b"\\", b'"', b"]", b"}", b",", b'"labels":{"z":"z"},', b'"metadata":{},', b'"resourceVersion":"1",',
     b'"x":"",', b'"labels":3,', b'"l\\u0061bels":{"z":"z"},', b'"m\\u0065tadata":{"labels":{"z":"z"}},',
     b',"managedFields":[]', b'"x":[{}]},"y":1']
)  # fmt: skip


def tail_of(obj: object) -> bytes:
    return orjson.dumps(obj)[1:]


def read(tail: bytes) -> Any:
    """The object of a tail; None: it is not JSON."""
    try:
        return orjson.loads(b"{" + tail)
    except orjson.JSONDecodeError:
        return None


class GlanceTests(SynchronousTestCase):
    def check(self, tail: bytes) -> bool:
        """Report whether the glance succeeded, with the result of parsing."""
        found = glance(tail, b"77")
        obj = read(tail)
        if found is None or obj is None:
            return False
        meta = obj["metadata"]
        self.assertEqual(found[0], meta.get("labels", {}), tail)
        meta["resourceVersion"] = "77"
        self.assertEqual(read(found[1]), obj, tail)
        return True

    def test_written(self) -> None:
        """Of what this server writes all is read, whatever stands elsewhere in the object (reference STORE-23)."""
        template = {"metadata": {"labels": {"app": "inner"}, "resourceVersion": "3"}, "labels": 3}
        for rest in ({}, {"spec": {"a": ["]},", {}]}, "status": {}}, {"spec": {"template": template}}):
            tail = tail_of({"metadata": META} | rest | {"end": 1})
            self.assertTrue(self.check(tail), rest)

    def test_unlabelled(self) -> None:
        """An object without labels has none."""
        meta = {key: value for key, value in META.items() if key != "labels"}
        found = glance(tail_of({"metadata": meta, "spec": {}}), b"7")
        self.assertEqual(found and found[0], {})

    def test_unusual(self) -> None:
        """Other spellings are not read: repeated keys, spaces, escapes, other values."""
        usual = tail_of({"metadata": META, "spec": {}})
        self.assertTrue(self.check(usual))
        for old, new in (
            (b'"metadata":{', b'"metadata": {'),
            (b'"labels"', b'"labels":{},"resourceVersion":"","labels"'),
            (b'"web"', b"3"),
            (b'{"app":"web"}', b"null"),
            (b'"resourceVersion":""', b'"resourceVersion":"5"'),
            (b'"spec":{}', b'"spec":{},"metadata":{"labels":{}}'),
            (b'"spec":{}', b'"spec":{},"m\\u0065tadata":{"labels":{}}'),
            (b']},"spec"', b'],"labels":{}},"spec"'),
            (b']},"spec"', b']} ,"spec"'),
        ):
            self.assertIn(old, usual)
            self.assertIsNone(glance(usual.replace(old, new), b"7"), new)

    def test_cut_elsewhere(self) -> None:
        """Other managedFields than those of the metadata are not taken for them."""
        meta = {key: value for key, value in META.items() if key != "managedFields"}
        for rest in ({"managedFields": [1]}, {"spec": {"a": 1, "managedFields": [{}]}}, {"a": ',"managedFields":['}):
            self.check(tail_of({"metadata": meta} | rest | {"end": 1}))

    def test_broken(self) -> None:
        """MalformedBody text is left to the decoder."""
        usual = tail_of({"metadata": META, "spec": {}})
        for length in range(len(usual) - 1):
            glance(usual[:length], b"7")
        for odd in (b"", b"{}", b"]", b'"metadata":3}', b"\xff" * 9):
            self.assertIsNone(glance(odd, b"7"))

    def test_like_a_parser(self) -> None:
        """Whatever is read is what parsing all of the text gives."""

        @examples(150)
        @given(objects)
        def check(obj: dict[str, Any]) -> None:
            self.check(tail_of(obj))

        check()

    def test_like_a_parser_of_anything(self) -> None:
        """The same of texts into which something has come that this server does not write."""

        @examples(150)
        @given(objects, inserted, st.integers(0, 100), st.booleans())
        def check(obj: dict[str, Any], more: bytes, place: int, anywhere: bool) -> None:
            tail = tail_of(obj)
            places = [at + 1 for at, byte in enumerate(tail) if anywhere or byte in b"{,"]
            place = places[place % len(places)]
            self.check(tail[:place] + more + tail[place:])

        check()
