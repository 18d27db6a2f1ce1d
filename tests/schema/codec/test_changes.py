"""Patched objects that are mostly unchanged: `KindCodec.fit_changes`."""

from __future__ import annotations

import json
from copy import deepcopy
from random import Random
from typing import Any

import orjson
from hypothesis import given
from hypothesis import strategies as some
from twisted.trial.unittest import SynchronousTestCase

from orchtw.apply.merge_patch import merge_patch
from orchtw.apply.strategic_merge_patch import strategic_merge
from orchtw.errors import BadRequest
from orchtw.naming.naming import Naming
from orchtw.schema import known_parts
from orchtw.schema.catalogue import Catalogue
from orchtw.schema.codec.codecs import Codecs
from orchtw.schema.codec.json_text import parse_json
from orchtw.schema.codec.kind_codec import KindCodec
from orchtw.schema.codec.strict_fields import IGNORE, WARN
from orchtw.schema.nodes import EitherSchema, ListSchema, MapSchema, StructSchema
from tests.properties import examples
from tests.schema.arbitrary import Arbitrary

CODECS = Codecs(Catalogue.load(Naming.orch()))
PODS = CODECS.kind("v1", "Pod")
MAPS = CODECS.kind("v1", "ConfigMap")
LIVE: dict[str, dict[str, Any]] = {
    "Pod": {
        "metadata": {"name": "p", "labels": {"a": "b"}},
        "spec": {"containers": [{"name": "c", "ports": [{"containerPort": 1}]}]},
        "status": {"phase": "Pending", "conditions": [{"type": "Ready", "status": "False"}]},
    },
    "ConfigMap": {"metadata": {"name": "m"}, "data": {"a": "1"}, "binaryData": {"b": "AA=="}},
}
VALUES = some.one_of(
    some.none(), some.booleans(), some.integers(), some.sampled_from(["", "x", "Pod", "v1", "AAA="]),
    some.just([]), some.just({}), some.just({"a": None}), some.just({"a": "2", "name": "q"}),
    some.just([{"name": "c", "image": "i", "odd": 1}]),
    some.just({"conditions": [{"type": "Ready", "status": "True"}]}),
    some.just({"containers": [{"name": "d", "extra": {}}]}),
)  # fmt: skip
KEYS = ("apiVersion", "kind", "metadata", "spec", "status", "data", "binaryData", "immutable", "odd")
PATCHES = some.dictionaries(some.sampled_from(KEYS), VALUES, max_size=3)


def live_of(codec: KindCodec) -> Any:
    """Return a canonical object with its defaults, as an update begins with."""
    return whole(codec, LIVE[codec.kind])


def whole(codec: KindCodec, value: Any) -> Any:
    """Return a value as canonical object with its defaults."""
    obj = codec.normalise(value)
    codec.set_defaults(obj)
    return obj


def mixed(random: Random, first: Any, second: Any, levels: int = 2) -> Any:
    """Return an object whose keys come from two others, as do those of its structs."""
    out: dict[str, Any] = {}
    for key in [*first, *(key for key in second if key not in first)]:
        both = type(first.get(key)) is dict and type(second.get(key)) is dict
        if levels > 1 and both and random.random() < 0.5:
            out[key] = mixed(random, first[key], second[key], levels - 1)
        else:
            source = first if random.random() < 0.7 else second
            if key in source:
                out[key] = source[key]
    return out


def places(node: Any, value: Any) -> set[int]:
    """Return the identities of the structs in a value."""
    own = set()
    if isinstance(node, EitherSchema):
        node = node.schema
    if isinstance(node, StructSchema) and type(value) is dict:
        own = {id(value)}
        inner = [(node.keys[key].node, part) for key, part in value.items() if key in node.keys]
    elif isinstance(node, MapSchema) and type(value) is dict:
        inner = [(node.value, part) for part in value.values()]
    elif isinstance(node, ListSchema) and type(value) is list:
        inner = [(node.element, part) for part in value]
    else:
        return own
    return own.union(*(places(*each) for each in inner))


def outcome(fitted: Any) -> Any:
    """Return the outcome of a call in a comparable form."""
    try:
        obj, findings = fitted()
    except BadRequest as error:
        return error.message
    return orjson.dumps(obj), findings


class FitChangesTests(SynchronousTestCase):
    @examples(100)
    @given(some.sampled_from([PODS, MAPS]), PATCHES, some.sampled_from([WARN, IGNORE]), some.booleans())
    def test_as_fit(self, codec: KindCodec, patch: Any, directive: str, strategic: bool) -> None:
        """Results, findings and refusals of a patched object equal those of an unknown one."""
        live = live_of(codec)
        patched = strategic_merge(live, patch, codec.schema) if strategic else merge_patch(live, patch)
        found = outcome(lambda: codec.fit_changes(patched, live, directive))
        self.assertEqual(found, outcome(lambda: codec.fit(patched, directive)))

    @examples(100)
    @given(some.sampled_from([PODS, MAPS]), PATCHES, some.sampled_from([WARN, IGNORE]), some.booleans())
    def test_sent_whole(self, codec: KindCodec, patch: Any, directive: str, repeats: bool) -> None:
        """The same holds for a body that replaces an object with much of the same text; repeated keys are found."""
        live = live_of(codec)
        text = json.dumps(merge_patch(live, patch)).encode()
        if repeats:
            text = text.replace(b'"metadata": {', b'"metadata": {"name": "first", ', 1)
        found = outcome(lambda: codec.fit_changes(parse_json(text), live, directive, text))
        self.assertEqual(found, outcome(lambda: codec.fit(parse_json(text), directive, text)))

    def test_every_kind(self) -> None:
        """An object of any kind that is sent anew, or over another one, is the object that was sent."""
        self.patch(known_parts, "SHORTEST", 1)
        kinds = [key for key in sorted(CODECS.catalogue._messages) if CODECS.kind(*key).protobuf]

        @examples(3)
        @given(some.integers(0, 2**32))
        def check(seed: int) -> None:
            for key in kinds:
                codec, random = CODECS.kind(*key), Random(f"{seed} {key}")
                live, other = (whole(codec, Arbitrary(random).struct(codec.schema)) for _ in range(2))
                text = orjson.dumps(mixed(random, live, other))
                found = outcome(lambda: codec.fit_changes(orjson.loads(text), live, WARN, text))  # noqa: B023
                wanted = outcome(lambda: codec._fit_whole(orjson.loads(text), WARN, text))  # noqa: B023
                self.assertEqual(found, wanted)
                for _ in range(3):  # it is new, seen once, and known
                    self.assertEqual(outcome(lambda: codec.fit(orjson.loads(text), WARN, text)), wanted)  # noqa: B023

        check()

    def test_messages_of_every_kind(self) -> None:
        """A message is decoded beside the live object's as by itself, whether it can be read or not."""
        kinds = [key for key in sorted(CODECS.catalogue._messages) if CODECS.kind(*key).protobuf]

        @examples(3)
        @given(some.integers(0, 2**32))
        def check(seed: int) -> None:
            for key in kinds:
                codec, random = CODECS.kind(*key), Random(f"{seed} {key}")
                first, other = (whole(codec, Arbitrary(random).struct(codec.schema)) for _ in range(2))
                live = codec.fit_message("", "", codec.encode_protobuf(first))
                text, live_raw = orjson.dumps(live), codec.encode_protobuf(live)
                raw = codec.encode_protobuf(whole(codec, mixed(random, live, other)))
                harmed = bytearray(raw or b"x")
                harmed[random.randrange(len(harmed))] = random.randrange(256)
                for sent in (raw, bytes(harmed), raw[: len(raw) // 2], live_raw + raw):
                    found = outcome(lambda: (codec.fit_message("", "", sent, live, live_raw), []))  # noqa: B023
                    self.assertEqual(found, outcome(lambda: (codec.fit_message("", "", sent), [])))  # noqa: B023
                    self.assertEqual(orjson.dumps(live), text)

        check()

    def test_messages_share_parts(self) -> None:
        """A message with another status has the live object's specification, and metadata of its own."""
        live = live_of(PODS)
        raw = PODS.encode_protobuf(live)
        sent = PODS.encode_protobuf({**live, "status": {"phase": "Running"}})
        obj = PODS.fit_message("v1", "Pod", sent, live, raw)
        self.assertIs(obj["spec"], live["spec"])
        self.assertEqual((obj["metadata"], obj["status"]["phase"]), (live["metadata"], "Running"))
        self.assertIsNot(obj["metadata"], live["metadata"])

    def test_shares_whole_parts(self) -> None:
        """A part that has the text of the live object's is that part; in others all structs are new."""
        kinds = [key for key in sorted(CODECS.catalogue._messages) if CODECS.kind(*key).protobuf]

        @examples(3)
        @given(some.integers(0, 2**32))
        def check(seed: int) -> None:
            for key in kinds:
                codec, random = CODECS.kind(*key), Random(f"{seed} {key}")
                live, other = (whole(codec, Arbitrary(random).struct(codec.schema)) for _ in range(2))
                changed, _ = codec.fit_changes(mixed(random, live, other), live, WARN)
                for name, part in changed.items():
                    if part is live.get(name):
                        self.assertNotEqual(name, "metadata")
                    elif name != "metadata":
                        node = codec.schema.keys[name].node if name in codec.schema.keys else None
                        self.assertEqual(places(node, part) & places(codec.schema, live), set(), (key, name))

        check()

    def test_known_parts(self) -> None:
        """A part that has come before is fitted as the first time, under whatever directive it came."""
        spec = {**LIVE["Pod"]["spec"], "nodeName": "n" * 600}
        for extra in ({}, {"odd": 1}, {"priority": True}, {"containers": [{"name": "c", "odd": 1}]}):
            for directive in (WARN, IGNORE, WARN, WARN, IGNORE, WARN):
                sent = {"metadata": {"name": "p"}, "spec": {**spec, **extra}}
                found = outcome(lambda: PODS.fit(deepcopy(sent), directive))  # noqa: B023
                self.assertEqual(found, outcome(lambda: PODS._fit_whole(deepcopy(sent), directive, b"")))  # noqa: B023

    def test_known_values_are_private(self) -> None:
        """A known part is kept as text: a change of one object is not seen in the next one."""
        sent = {"metadata": {"name": "p"}, "spec": {**LIVE["Pod"]["spec"], "nodeName": "m" * 600}}
        for _ in range(4):
            obj, _ = PODS.fit(deepcopy(sent), WARN)
            self.assertEqual(obj["spec"]["containers"][0]["name"], "c")
            obj["spec"]["containers"][0]["name"] = "changed"

    def test_not_looked_at(self) -> None:
        """A change of the status leaves the spec as it is, without a copy."""
        live = live_of(PODS)
        obj, _ = PODS.fit_changes(merge_patch(live, {"status": {"phase": "Running"}}), live, WARN)
        self.assertIs(obj["spec"], live["spec"])
        self.assertEqual(obj["status"]["phase"], "Running")
