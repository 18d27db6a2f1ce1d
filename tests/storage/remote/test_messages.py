"""Messages between owner and workers: there and back, in pieces, and what was never one."""

from __future__ import annotations

from collections.abc import Callable

from hypothesis import given
from hypothesis import strategies as st
from twisted.trial.unittest import SynchronousTestCase

from orchtw import errors
from orchtw.storage.remote import messages
from orchtw.storage.remote.frames import Frames, Malformed, framed
from orchtw.storage.remote.messages import Origin
from orchtw.storage.store import Change, Damaged, KeyValue, Op, Page
from tests.properties import examples

revisions = st.integers(1, 1 << 60)
keys = st.text(st.characters(codec="utf-8"), min_size=1, max_size=20)
values = st.binary(max_size=50)
states = st.builds(KeyValue, keys, values, revisions, revisions)


@st.composite
def some_changes(draw: st.DrawFn) -> list[Change]:
    """A batch, each change with what it replaced."""
    made = []
    for _ in range(draw(st.integers(0, 5))):
        key, before = draw(keys), None
        if draw(st.booleans()):
            before = KeyValue(key, draw(values), draw(revisions), draw(revisions))
        made.append(Change(draw(revisions), key, draw(st.none() | values), before))
    return made


class FramesTests(SynchronousTestCase):
    @examples(50)
    @given(st.lists(st.tuples(st.integers(0, 255), values), max_size=6), st.integers(1, 40))
    def test_pieces(self, sent: list[tuple[int, bytes]], size: int) -> None:
        """However a stream is cut up, the messages are the same."""
        stream = b"".join(framed(kind, content) for kind, content in sent)
        frames, found = Frames(), []
        for at in range(0, len(stream), size):
            found += list(frames.feed(stream[at : at + size]))
        self.assertEqual(found, sent)

    def test_too_long(self) -> None:
        """An overlong message is rejected before it has arrived; earlier ones count."""
        frames, found = Frames(max_bytes=10), []
        with self.assertRaises(Malformed):
            for each in frames.feed(framed(1, b"good") + framed(1, bytes(11))[:5]):
                found.append(each)
        self.assertEqual(found, [(1, b"good")])


class MessagesTests(SynchronousTestCase):
    @examples(60)
    @given(some_changes())
    def test_changes(self, batch: list[Change]) -> None:
        """Changes come as they are."""
        found = [each for part in messages.changes(batch) for each in messages.read_changes(part, 1, {})[0]]
        self.assertEqual(found, batch)

    def test_own_changes(self) -> None:
        """A worker's own write has the note with which it was made; that of another has none."""
        note = object()
        mine, op = Change(7, "/a", b"1", None, Origin(3, 9)), Op("/a", b"1", None, note)
        (data,) = messages.changes([mine, Change(8, "/b", b"2", None, Origin(4, 9))])
        (own, other), answered = messages.read_changes(data, 3, {9: op})
        self.assertIs(own.note, note)
        self.assertIsNone(other.note)
        self.assertEqual(answered, [(9, 7)])

    def test_own_values_stay(self) -> None:
        """A worker's own value is left out for it, and is the same when it has read the change."""
        batch = [Change(7, "/a", b"value", None, Origin(3, 9, b"terms")), Change(8, "/a", None, None, Origin(3, 10))]
        batch.append(Change(9, "/b", b"other", None, Origin(4, 9, b"terms")))
        own = {9: Op("/a", b"value"), 10: Op("/a", None)}
        (short,), (long,) = messages.changes(batch, 3), messages.changes(batch)
        self.assertEqual(len(long) - len(short), len(b"valueterms"))
        self.assertEqual(messages.read_changes(short, 3, own), messages.read_changes(long, 3, own))
        with self.assertRaises(Malformed):
            messages.read_changes(short, 3, {10: own[10]})

    @examples(40)
    @given(keys, st.none() | values, st.none() | st.integers(0, 1 << 60), st.floats(0, 1e9))
    def test_commit(self, key: str, value: bytes | None, expected: int | None, ttl_s: float) -> None:
        """A write comes as it is, with its origin for a note."""
        found = messages.read_commits(messages.commit(5, Op(key, value, expected, object(), ttl_s)), 2)
        self.assertEqual(found, ([5], [Op(key, value, expected, Origin(2, 5), ttl_s)]))

    @examples(40)
    @given(st.lists(states, max_size=5), revisions, st.booleans())
    def test_page(self, items: list[KeyValue], revision: int, more: bool) -> None:
        """A page comes as it is, also what is damaged on it."""
        page = Page(items, revision, more, 3 if more else 0, [Damaged("/d", 4, "why"), Damaged("/é", 5)])
        (data,) = messages.page(6, page)
        self.assertEqual(messages.read_page(data), (6, True, page))

    def test_long_pages(self) -> None:
        """A long page comes in parts of which the last says so; so do long batches."""
        items = [KeyValue(f"/{n}", bytes(3 << 20), n + 1, 1) for n in range(3)]
        parts = [messages.read_page(each) for each in messages.page(6, Page(items, 9))]
        self.assertEqual([last for _, last, _ in parts], [False, True])
        self.assertEqual([item for _, _, page in parts for item in page.items], items)
        batch = [Change(n + 1, f"/{n}", bytes(3 << 20), None) for n in range(3)]
        self.assertEqual(len(list(messages.changes(batch))), 2)

    def test_answers(self) -> None:
        """States, with and without something there."""
        item = KeyValue("/a", b"1", 3, 2)
        for state in (item, None):
            self.assertEqual(messages.read_state(messages.state(1, state)), (1, state))

    def test_refusals(self) -> None:
        """A refusal is the same on the other side; another exception is the owner's fault."""
        sent = errors.TooManyRequests("full", {"retryAfterSeconds": 1})
        number, found = messages.read_failed(messages.failed(8, sent))
        self.assertEqual((number, type(found), found.to_status()), (8, errors.TooManyRequests, sent.to_status()))
        self.assertIsInstance(messages.read_failed(messages.failed(8, KeyError("x")))[1], errors.InternalError)

    @examples(100)
    @given(st.binary(max_size=120))
    def test_nonsense(self, data: bytes) -> None:
        """Bytes that are not a message raise nothing but Malformed."""
        readers: list[Callable[[bytes], object]] = [
            lambda data: messages.read_commits(data, 1),
            lambda data: messages.read_changes(data, 1, {}),
            messages.read_get,
            messages.read_list,
            messages.read_history,
            messages.read_past,
            messages.read_state,
            messages.read_page,
            messages.read_failed,
        ]
        for read in readers:
            try:
                read(data)
            except Malformed:
                pass
