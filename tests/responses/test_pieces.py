"""Lists and large objects: the same bytes in slices as at once, pieces that are shared, states that are let go."""
# covers: orchtw.responses.text_forms

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import orjson
import yaml
from hypothesis import given
from hypothesis import strategies as st
from twisted.internet import reactor
from twisted.trial.unittest import SynchronousTestCase, TestCase

from orchtw.errors import Expired
from orchtw.request import Peer, Request, Response
from orchtw.responses import representation
from orchtw.responses.pieces import Held, Items, JsonForm, ProtobufForm, items_of
from orchtw.responses.text_forms import list_parts
from orchtw.rules.negotiation import Negotiated
from orchtw.schema.codec import yaml_text
from orchtw.schema.codec.envelope import unwrap
from orchtw.schema.codec.yaml_codec import encode_yaml, yaml_parts
from orchtw.testing.in_process import TOKEN
from orchtw.watch.entry import LARGE_BYTES, NO_LABELS, Entry
from tests.in_process import InProcessServer
from tests.properties import examples

MAPS = "/api/v1/namespaces/default/configmaps"
JSON, YAML = "application/json", "application/yaml"
PARTIAL = "as=PartialObjectMetadataList;g=meta.orch.io;v=v1"
TABLE = f"{JSON};as=Table;g=meta.orch.io;v=v1"


class Stepping:
    """A clock that moves on by more than a slice whenever somebody looks at it.

    It begins `now`: the slice of the other clock, in which the test may be running, ends with the first look.
    """

    def __init__(self, now: float) -> None:
        self.now = now

    def __call__(self) -> float:
        self.now += 0.01
        return self.now


class SlicedTests(TestCase):
    async def setUp(self) -> None:  # type: ignore[override]  # trial awaits it
        self.server = InProcessServer(reactor, self.mktemp(), etcd_compaction_interval_s=0.0)
        await self.server.start()
        self.addCleanup(self.server.stop)
        for i in range(40):
            labels = {"half": str(i % 2), "odd key/x": "y"} if i % 3 else None
            body = {"metadata": {"name": f"m{i:03}", "labels": {"half": str(i % 2)} if labels else None}}
            body["data"] = {"text": f"line {i}\n  next: [é]\n", "n": str(i)}
            await self.server.request("POST", MAPS, body)

    async def ask(self, url: str, accept: str = JSON) -> Response:
        path, _, query = url.partition("?")
        headers = {"authorization": f"Bearer {TOKEN}", "accept": accept}
        request = Request(
            method="GET", path=path, query=query, headers=headers, peer=Peer(address="test", port=0)
        )
        return await self.server.instance.front.app(request)

    async def test_same_bytes(self) -> None:
        """However short the slices are, the answer is the same, and takes many turns."""
        binary = self.server.naming.protobuf_media_type
        urls = ["", "?pretty=true", "?labelSelector=half%3D1", "?limit=7", "?labelSelector=none", "?pretty=1&limit=3"]
        accepts = [JSON, YAML, binary, TABLE, f"{JSON};{PARTIAL}", f"{YAML};{PARTIAL}", f"{binary};{PARTIAL}"]
        at_once = {}
        for url in urls:
            for accept in accepts:
                at_once[url, accept] = bytes_of(await self.ask(MAPS + url, accept))
        turns = self.server.instance.resources.cacher.turns
        seconds = turns.seconds
        turns.seconds = Stepping(seconds())
        lazy = 0
        try:
            for (url, accept), expected in at_once.items():
                response = await self.ask(MAPS + url, accept)
                lazy += response.parts is not None
                found = bytes_of(response)
                if accept is not TABLE:  # ages go on
                    self.assertEqual(found, expected, (url, accept))
                self.assertEqual(len(found) > 100, len(expected) > 100)
        finally:
            turns.seconds = seconds
        self.assertGreater(lazy, 10)

    async def test_much_to_encode(self) -> None:
        """A list whose JSON takes long to make begins before all of it is made; the bytes are the same."""
        expected = bytes_of(await self.ask(MAPS))
        self.patch(representation, "MEASURING_SLICES", 1)
        turns = self.server.instance.resources.cacher.turns
        self.patch(turns, "seconds", Stepping(turns.seconds()))
        response = await self.ask(MAPS)
        self.assertIsNot(response.parts, None)
        self.assertEqual(bytes_of(response), expected)

    async def test_selected_past(self) -> None:
        """Exact versions are put together in slices."""
        version = (await self.server.request("GET", MAPS)).json["metadata"]["resourceVersion"]
        await self.server.request("DELETE", f"{MAPS}/m004")
        await self.server.request("PATCH", f"{MAPS}/m005", {"data": {"n": "new"}}, {
            "content-type": "application/merge-patch+json"
        })
        turns = self.server.instance.resources.cacher.turns
        seconds = turns.seconds
        turns.seconds = Stepping(seconds())
        try:
            url = f"{MAPS}?resourceVersion={version}&resourceVersionMatch=Exact&labelSelector=half"
            found = orjson.loads(bytes_of(await self.ask(url)))["items"]
        finally:
            turns.seconds = seconds
        self.assertEqual([item["data"]["n"] for item in found], [str(i) for i in range(40) if i % 3])

    async def test_partial_metadata_in_protobuf(self) -> None:
        """Parts of the objects' own encodings equal what the list's codec writes."""
        binary = self.server.naming.protobuf_media_type
        found = bytes_of(await self.ask(MAPS, f"{binary};{PARTIAL}"))
        plain = orjson.loads(bytes_of(await self.ask(MAPS, f"{JSON};{PARTIAL}")))
        api_version, kind, raw = unwrap(found)
        codec = self.server.instance.resources.codecs.kind(api_version, kind)
        self.assertEqual((kind, codec.encode_protobuf(plain)), ("PartialObjectMetadataList", raw))

    async def test_large_object(self) -> None:
        """Requests for a large object share its bytes; its text forms come in parts."""
        body = {"metadata": {"name": "large"}, "data": {f"k{i:05}": "x" * 100 for i in range(4000)}}
        await self.server.request("POST", MAPS, body)
        entry = self.server.instance.resources.targets.find("", "v1", "configmaps").stored.get("default", "large")  # type: ignore[union-attr]
        assert entry is not None
        for accept, shared in ((JSON, entry.json), (self.server.naming.protobuf_media_type, entry.raw)):
            response = await self.ask(f"{MAPS}/large", accept)
            self.assertTrue(any(piece is shared for piece in response.body))
            self.assertEqual(response.length, sum(map(len, response.body)))  # type: ignore[arg-type]
            listed = await self.ask(MAPS, accept)
            self.assertTrue(any(piece is shared for piece in listed.body))
        response = await self.ask(f"{MAPS}/large", YAML)
        assert not isinstance(response.body, bytes)
        self.assertGreater(len(response.body), 3)
        self.assertEqual(len(yaml.load(b"".join(response.body), Loader=yaml.CSafeLoader)["data"]), 4000)

    async def test_large_object_in_a_thread(self) -> None:
        """Forms that need decoding a large object are made in the thread; its encodings and small objects are not."""
        body = {"metadata": {"name": "large"}, "data": {f"k{i:05}": "x" * 100 for i in range(4000)}}
        await self.server.request("POST", MAPS, body)
        asked: list[int] = []
        offload = self.server.instance.resources.offload
        run = offload.run

        def counting(size: int, work: Any) -> Any:
            asked.append(size)
            return run(size, work)

        self.patch(type(offload), "run", lambda _, size, work: counting(size, work))
        for name, url, accept, count in (
            ("large", "", JSON, 0), ("large", "", self.server.naming.protobuf_media_type, 0), ("m001", "", YAML, 0),
            ("large", "", YAML, 1), ("large", "?pretty=true", JSON, 1), ("large", "", TABLE, 1),
        ):  # fmt: skip
            asked.clear()
            await self.ask(f"{MAPS}/{name}{url}", accept)
            self.assertEqual(len(asked), count, (name, url, accept))

    async def test_taken_state(self) -> None:
        """A list whose state cannot be kept any longer ends in the middle; others go on."""
        for i in range(60):
            await self.server.request("POST", MAPS, {"metadata": {"name": f"x{i}"}, "data": {"t": "x" * 9000}})
        response = await self.ask(MAPS)
        cache = self.server.instance.resources.targets.find("", "v1", "configmaps").stored.cache  # type: ignore[union-attr]
        self.assertEqual(len(cache.pins), 1)
        pieces = iter(response.body)
        next(pieces)
        cache.pins.expire_oldest()
        self.assertRaises(Expired, list, pieces)
        del response, pieces
        self.assertEqual(len(bytes_of(await self.ask(MAPS))) > 60 * 9000, True)
        self.assertEqual(len(cache.pins), 0)


def bytes_of(response: Response) -> bytes:
    """The whole body; its length must be the announced one."""
    if response.parts is not None:
        return b"".join(response.parts)
    body = response.body if isinstance(response.body, bytes) else b"".join(response.body)
    assert response.length in (None, len(body))
    return body


class PiecesTests(SynchronousTestCase):
    def test_items(self) -> None:
        """Pieces are bounded in bytes, whatever the sizes; large objects are pieces of their own, not copied."""
        sizes = [10, LARGE_BYTES, 5, 5, 200_000, 200_000, *[60_000] * 6, 1, LARGE_BYTES]
        contents = [b"%x" % (i % 16) * size for i, size in enumerate(sizes)]
        entries = [Entry(f"{i}", "", f"{i}", 1, NO_LABELS, (), content) for i, content in enumerate(contents)]
        joined = b",".join(b"{" + entry.raw for entry in entries)
        items = run(items_of(Held(entries), plain_form()))
        self.assertEqual((b"".join(items), items.length), (joined, len(joined)))
        self.assertLess(max(map(len, items)), 400_000)
        for entry in entries:
            self.assertEqual(any(piece is entry.raw for piece in items), len(entry.raw) >= LARGE_BYTES)
        for count in range(len(entries)):
            for form in (plain_form(), ProtobufForm(lambda entry: entry.raw, b"\x12")):
                items = run(items_of(Held(entries[:count]), form))
                self.assertEqual(len(b"".join(items)), items.length)


OBJECTS = st.dictionaries(st.integers(0, 30), st.integers(1, 3), max_size=12).map(lambda each: sorted(each.items()))


class MarkTests(SynchronousTestCase):
    """Marks of pieces, by which compressed pieces are found again."""

    def entries(self, objects: Iterable[tuple[int, int]]) -> list[Entry]:
        """Objects by number and revision, which determine their contents and sizes."""
        found = []
        for number, revision in objects:
            content = b"%x." % (number * 7 + revision) * (number * number * 60 + 1)
            found.append(Entry(f"a/{number:03}", "a", f"{number:03}", revision, NO_LABELS, (), content))
        return found

    @examples(100)

    @given(st.lists(OBJECTS, min_size=2, max_size=3))
    def test_equal(self, lists: list[list[tuple[int, int]]]) -> None:
        """Pieces with equal marks are equal, whatever else is in their lists."""
        for form in (plain_form(), ProtobufForm(lambda entry: entry.raw, b"\x12")):
            known: dict[bytes, bytes] = {}
            for objects in lists:
                items = run(items_of(Held(self.entries(objects)), form))
                for index, piece in enumerate(items):
                    self.assertEqual(known.setdefault(items.mark(index), piece), piece)

    def test_neighbours(self) -> None:
        """An object that changes, or comes between others, leaves the marks of most pieces as they are."""
        sizes = [5000 + number * 7919 % 3000 for number in range(1000)]
        entries = [
            Entry(f"a/{number:04}", "a", "", number + 1, NO_LABELS, (), b"x" * size)
            for number, size in enumerate(sizes)
        ]
        marks = self.marks(entries)
        changed = entries[:500] + [Entry("a/0500", "a", "", 2000, NO_LABELS, (), b"x" * 9000)] + entries[501:]
        added = entries[:500] + [Entry("a/04995", "a", "", 2000, NO_LABELS, (), b"x" * 9000)] + entries[500:]
        for others in (changed, added, entries[123:], entries[:877]):
            self.assertLess(len(self.marks(others) - marks), 5)
        self.assertGreater(len(marks), 20)

    def marks(self, entries: list[Entry]) -> set[bytes]:
        """All marks of a list."""
        items = run(items_of(Held(entries), plain_form()))
        return {items.mark(index) for index in range(len(items))}


def plain_form() -> JsonForm:
    """The form of entries whose tails are their stored bytes."""
    return JsonForm(lambda entry: entry.raw, b"{", lambda entry: len(entry.raw))


def run(steps: Any) -> Items:
    """The result of a computation in steps."""
    while True:
        try:
            next(steps)
        except StopIteration as done:
            found: Items = done.value
            return found


class DocumentTests(SynchronousTestCase):
    def test_forms(self) -> None:
        """Batches give what the whole would give, in each form and for each way to part the items."""
        head = {"kind": "L", "apiVersion": "v1", "metadata": {"resourceVersion": "1"}}
        items: list[Any]
        for items in ([], [{}], [{"a": [1, {"b": "x\ny"}]}, {}, {"c": None}], list(range(5))):
            whole: dict[str, Any] = {**head, "items": items}
            for size in (1, 2, 9):
                batches: Sequence[list[Any]] = [items[i : i + size] for i in range(0, len(items), size)] + [[]]
                for form, pretty, expected in (
                    ("json", False, orjson.dumps(whole, option=orjson.OPT_APPEND_NEWLINE)),
                    ("json", True, orjson.dumps(whole, option=orjson.OPT_INDENT_2)),
                    ("yaml", False, encode_yaml(whole)),
                ):
                    accept = Negotiated(format=form, content_type="", pretty=pretty)  # type: ignore[arg-type]
                    self.assertEqual(b"".join(list_parts(head, "items", batches, accept)), expected)

    def test_yaml_parts(self) -> None:
        """YAML in parts is the YAML of the whole: blocks, odd keys, nested lists and line ends of all kinds."""
        value = {
            "a": {"b": ["x", ["y", {"z": "1\n 2\n\n"}], []], "c": {}, "": None},
            "k" * 200: [{"d": {"e": "tail\n\n\n"}}],
            "multi\nline": {"f": ["\u2028a\nb", "a\u2028b\nc\n", "x\r\ny", "\ufeffx\n y", " lead\n", "on", "1:2"]},
            "list": [[["deep", {"g": [1, 2.5, True]}]], "- no item", "# no comment"],
        }
        for nodes in (1, 2, 3, 5, 8, 1000):
            self.patch(yaml_text, "PART_NODES", nodes)
            for each in (value, [value, value], [[], [value]], "text"):
                self.assertEqual(b"".join(yaml_parts(each)), encode_yaml(each), nodes)
