"""No text and no message costs more than in proportion to its length."""

from __future__ import annotations

import threading
from functools import partial
from typing import Any

from twisted.trial.unittest import SynchronousTestCase

from orchtw.errors import BadRequest
from orchtw.naming.naming import Naming
from orchtw.schema import values
from orchtw.schema.catalogue import Catalogue
from orchtw.schema.codec import strict_fields
from orchtw.schema.codec.body import read_body
from orchtw.schema.codec.codecs import Codecs
from orchtw.schema.codec.envelope import wrap
from orchtw.schema.codec.json_text import MAX_CONTAINERS, MAX_KEYS
from orchtw.schema.codec.kind_codec import KindCodec
from orchtw.schema.codec.mismatch import Mismatch
from orchtw.schema.codec.strict_fields import MAX_FINDINGS, repeated_keys
from orchtw.schema.codec.wire import delimited
from orchtw.schema.codec.yaml_text import MAX_DOCUMENTS, MAX_EVENTS, MAX_TAG_HANDLES, parse_yaml
from orchtw.schema.values import MAX_DEPTH, check_depth, in_order
from tests.effort import MOST, calls, growth


def new_codecs() -> Codecs:
    """Codecs that have compiled nothing yet."""
    return Codecs(Catalogue.load(Naming.orch()))


class YamlTests(SynchronousTestCase):
    def refused(self, text: bytes) -> str:
        return str(self.assertRaises(ValueError, parse_yaml, text))

    def test_documents(self) -> None:
        """A second document is an error, however many follow (reference ENC-9); a few empty ones are ignored."""
        self.assertIn("more than one document", self.refused(b"---\na\n" * 10))
        self.assertEqual(parse_yaml(b"---\na\n" + b"---\n" * (MAX_DOCUMENTS - 1)), "a")
        self.assertIn("more than one document", self.refused(b"---\n" * 1_000_000))
        few = calls(lambda: self.refused(b"---\n" * 1000))
        self.assertLess(calls(lambda: self.refused(b"---\n" * 100_000)), few * MOST)

    def test_values(self) -> None:
        """More than an object of 3 MiB has are not read to the end."""
        self.assertIn(f"more than {MAX_EVENTS}", self.refused(b"a: [" + b"x," * MAX_EVENTS + b"]"))

    def test_keys(self) -> None:
        """One mapping has no more members than a JSON object may have."""
        self.assertIn("members", self.refused(b"".join(b"%d: 1\n" % number for number in range(MAX_KEYS + 1))))

    def test_directives(self) -> None:
        """The parser compares tag directives with one another: there are few."""
        handles = b"".join(b"\n%%TAG !a%d! x" % number for number in range(MAX_TAG_HANDLES + 1))
        self.assertIn("directives", self.refused(handles + b"\n---\na"))
        self.assertEqual(parse_yaml(handles[: handles.rindex(b"\n")] + b"\n---\na"), "a")

    def test_merges(self) -> None:
        """The first source wins, the mapping's own keys before all; each source is visited once."""
        self.assertEqual(
            parse_yaml(b"a: &a {p: 1, q: 1}\nb: &b {q: 2, r: 2}\nc: {r: 3, <<: [*a, *b], <<: {p: 4, v: 4}}")["c"],
            {"p": 1, "q": 1, "r": 3, "v": 4},
        )
        self.assertLess(growth(lambda size: parse_yaml(b"a: &a {x: 1}\nb: {" + b"<<: *a," * size + b"}"), 1000), MOST)


class ProtobufTests(SynchronousTestCase):
    def setUp(self) -> None:
        self.pods = new_codecs().kind("v1", "Pod")

    def envelope(self, containers: int) -> bytes:
        raw = self.pods.encode_protobuf({"metadata": {"name": "a"}})
        return wrap("v1", "Pod", raw + delimited(2, b"\x12\x00" * containers))

    def read(self, containers: int) -> None:
        read_body(self.pods, self.envelope(containers), "protobuf", strict_fields.IGNORE)

    def test_empty_messages(self) -> None:
        """Two bytes of the wire may be hundreds in memory: there are only so many (reference LIMIT-7)."""
        error = self.assertRaises(BadRequest, self.read, MAX_CONTAINERS + 1)
        self.assertIn(f"more than {MAX_CONTAINERS} messages", str(error))
        few = calls(lambda: self.read(MAX_CONTAINERS + 1))
        self.assertLess(calls(lambda: self.read(8 * MAX_CONTAINERS)), few * MOST)


class StrictTests(SynchronousTestCase):
    def test_places_are_made_for_findings_only(self) -> None:
        """A long key is not repeated for each of the keys below it."""
        shown = 0
        whole = strict_fields._text

        def text(path: Any) -> str:
            nonlocal shown
            shown += 1
            return whole(path)

        self.patch(strict_fields, "_text", text)
        members = ",".join(f'"{number}":1' for number in range(5000)) + ',"a":1' * 1000
        found = repeated_keys(f'{{"{"k" * 100_000}":{{{members}}}}}'.encode(), None)
        self.assertEqual((len(found), shown), (MAX_FINDINGS, MAX_FINDINGS))
        self.assertTrue(all(len(finding) < 600 for finding in found))


class OrderTests(SynchronousTestCase):
    def test_in_parts(self) -> None:
        """The parts of a long sort come together in order."""
        self.patch(values, "_SORTED_AT_ONCE", 7)
        keys = {f"{number * 37 % 101}": None for number in range(100)}
        self.assertEqual(list(in_order(keys)), sorted(keys))
        self.assertEqual(list(in_order(keys, int)), sorted(keys, key=int))


class ThreadTests(SynchronousTestCase):
    """Lazily made functions are made once for all callers."""

    def racing(self, *acts: Any) -> list[Any]:
        """The results of functions that threads run at once."""
        results: list[Any] = [None] * len(acts)
        start = threading.Barrier(len(acts))

        def run(place: int) -> None:
            start.wait()
            results[place] = acts[place]()

        threads = [threading.Thread(target=run, args=(place,)) for place in range(len(acts))]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        return results

    def test_codecs(self) -> None:
        """Two threads that decode the first objects of all kinds get what one alone gets."""
        kinds = ("Pod", "Node", "Service", "ConfigMap", "PersistentVolume")

        def work(codecs: Codecs) -> list[Any]:
            return [self.round_trip(codecs.kind("v1", kind)) for kind in kinds]

        alone = work(new_codecs())
        for _ in range(3):
            codecs = new_codecs()
            self.assertEqual(self.racing(*[partial(work, codecs)] * 3), [alone] * 3)

    def round_trip(self, codec: KindCodec) -> Any:
        value = {"metadata": {"name": "a"}, "spec": {"containers": [{"name": "c", "ports": [{"containerPort": 1}]}]}}
        obj = codec.normalise(value)
        codec.set_defaults(obj)
        return codec.decode_protobuf(codec.encode_protobuf(obj)), codec.strict_findings(value)

    def test_depth(self) -> None:
        """One thread's deep value is not another's."""
        deep: Any = 1
        for _ in range(MAX_DEPTH + 1):
            deep = [deep]

        def refused(value: Any) -> int:
            count = 0
            for _ in range(2000):
                try:
                    check_depth(value)
                except Mismatch:
                    count += 1
            return count

        self.assertEqual(self.racing(lambda: refused(deep), lambda: refused([1])), [2000, 0])
