"""JSON bodies that are parsed beside the live object: `parse_beside`."""

from __future__ import annotations

import json
from random import Random
from typing import Any

import orjson
from hypothesis import given
from hypothesis import strategies as some
from twisted.trial.unittest import SynchronousTestCase

from orchtw.errors import StatusError
from orchtw.naming.naming import Naming
from orchtw.schema.catalogue import Catalogue
from orchtw.schema.codec.body import fit_value, read_body
from orchtw.schema.codec.codecs import Codecs
from orchtw.schema.codec.json_beside import parse_beside
from orchtw.schema.codec.json_text import parse_json
from orchtw.schema.codec.kind_codec import KindCodec
from orchtw.schema.codec.strict_fields import STRICT, WARN, repeated_keys
from tests.properties import examples
from tests.schema.arbitrary import Arbitrary

CODECS = Codecs(Catalogue.load(Naming.orch()))
LIVE: dict[str, Any] = {
    "kind": "Pod",
    "apiVersion": "v1",
    "metadata": {"name": "p", "labels": {"a": "b"}, "finalizers": ["f"], "uid": "u"},
    "spec": {"nodeName": "n", "containers": [{"name": "c", "image": "é:1"}]},
    "status": {"phase": "Pending"},
}
TEXT = orjson.dumps(LIVE)


def harmed(random: Random, text: bytes) -> bytes:
    """Return the text with some bytes lost, doubled or exchanged; most results are invalid JSON."""
    start = random.randrange(len(text))
    end = min(len(text), start + random.choice((1, 1, 2, 10, 40)))
    piece = random.choice((b"", text[start:end] * 2, b" ", b",", b"\n", b'"a":1,', b"\xff", text[:end]))
    return text[:start] + piece + text[end:]


class ParseBesideTests(SynchronousTestCase):
    def test_parts_of_the_live_object(self) -> None:
        """Objects and lists with the live object's text are its own; all others are new."""
        body = orjson.dumps({**LIVE, "status": {"phase": "Running"}})
        found = parse_beside(body + b"\n", LIVE)
        assert found is not None
        self.assertEqual(orjson.dumps(found), body)
        self.assertIs(found["spec"], LIVE["spec"])
        self.assertIs(found["metadata"]["labels"], LIVE["metadata"]["labels"])
        self.assertIsNot(found["metadata"], LIVE["metadata"])

    def test_parsed_whole(self) -> None:
        """Spaces, repeated keys, escaped keys, other types and invalid texts leave it to the whole parser."""
        for old, new in (
            (b'"spec":', b'"spec": '),
            (b'"status":', b'"kind":"Pod","status":'),
            (b'"uid":', b'"name":"q","uid":'),
            (b'"phase":"Pending"', b'"phase":"A","phase":"B"'),
            (b'"uid":', b'"\\u0075id":'),
            (b'"Pod"', b'"Node"'),
            (b'"v1"', b'"v2"'),
            (b"Pending", b"\xff"),
            (b'{"phase":"Pending"}', b"[" * 2000 + b"]" * 2000),
            (b'"metadata":', b'"metadatum":'),
        ):
            self.assertIn(old, TEXT)
            self.assertIsNone(parse_beside(TEXT.replace(old, new), LIVE), new)
        for other in (b"", b"[]", b"{}", b'{"', b'{"metadata":1}', json.dumps(LIVE).encode(), TEXT + b"}"):
            self.assertIsNone(parse_beside(other, LIVE), other)

    @examples(300)
    @given(some.integers(0, 2**32))
    def test_as_parsed_whole(self, seed: int) -> None:
        """Whatever has a value has that of the parser, in the same order, and no key twice."""
        random = Random(seed)
        body = TEXT if random.random() < 0.3 else orjson.dumps({**LIVE, "status": {"phase": "Running"}})
        for _ in range(random.randrange(3)):
            body = harmed(random, body)
        found = parse_beside(body, LIVE)
        if found is not None:
            self.assertEqual(orjson.dumps(found), orjson.dumps(parse_json(body)))
            self.assertEqual(repeated_keys(body, found), [])

    def test_bodies_of_every_kind(self) -> None:
        """A body beside a live object has the object, the findings and the refusal of a body by itself."""
        kinds = [key for key in sorted(CODECS.catalogue._messages) if CODECS.kind(*key).protobuf]

        @examples(2)
        @given(some.integers(0, 2**32))
        def check(seed: int) -> None:
            for key in kinds:
                codec, random = CODECS.kind(*key), Random(f"{seed} {key}")
                live, other = (self.stored(codec, Arbitrary(random).struct(codec.schema)) for _ in range(2))
                body = {name: (live if random.random() < 0.6 else other)[name] for name in live if name in other}
                text, before = orjson.dumps({**body, "kind": codec.kind}), orjson.dumps(live)
                for sent in (text, harmed(random, text)):
                    directive = random.choice((WARN, STRICT))
                    found = self.outcome(codec, sent, directive, live)
                    self.assertEqual(found, self.outcome(codec, sent, directive, None))
                    self.assertEqual(orjson.dumps(live), before)

        check()

    @staticmethod
    def stored(codec: KindCodec, value: Any) -> Any:
        """The object of a value, with its defaults."""
        return fit_value(codec, {**value, "apiVersion": codec.api_version, "kind": codec.kind}, WARN)[0]

    @staticmethod
    def outcome(codec: KindCodec, text: bytes, directive: str, live: Any) -> Any:
        """The outcome of a body in a comparable form."""
        try:
            obj, findings = read_body(codec, text, "json", directive, live=live)
        except StatusError as error:
            return error.message
        return orjson.dumps(obj), findings
