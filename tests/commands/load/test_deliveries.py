"""Comparison of events with writes, in every order of response and event."""

from __future__ import annotations

from twisted.trial.unittest import SynchronousTestCase

from orchtw.commands.load.deliveries import EXPIRY_S, Ledger, SeenEvent, appeared, deleted, identity, parsed

ADDED = (
    b'{"type":"ADDED","object":{"kind":"Pod","apiVersion":"v1","metadata":{"name":"a","uid":"u-1",'
    b'"resourceVersion":"7","ownerReferences":[{"uid":"u-2"}]},"spec":{}}}'
)
BOOKMARK = b'{"type":"BOOKMARK","object":{"kind":"Pod","apiVersion":"v1","metadata":{"resourceVersion":"9"}}}'
GONE = b'{"type":"ERROR","object":{"kind":"Status","apiVersion":"v1","metadata":{},"code":410}}'


class ParsingTests(SynchronousTestCase):
    """Lines of watches, read without parsing all of their JSON."""

    def test_events(self) -> None:
        """Type, uid and version of an event are found; a bookmark has no uid, and an error is not an event."""
        self.assertEqual(parsed(ADDED), SeenEvent(b"ADDED", b"u-1", 7))
        self.assertEqual(parsed(BOOKMARK), SeenEvent(b"BOOKMARK", b"", 9))
        self.assertIsNone(parsed(GONE))
        self.assertIsNone(parsed(b"not JSON"))

    def test_identity(self) -> None:
        """A response's object is known by uid and version; a Status has neither."""
        self.assertEqual(identity(ADDED), (b"u-1", 7))
        self.assertIsNone(identity(b'{"kind":"Status","metadata":{}}'))


class LedgerTests(SynchronousTestCase):
    """Events of two watches of a topic."""

    def setUp(self) -> None:
        self.ledger = Ledger()
        self.one, self.other = self.ledger.follower("pods"), self.ledger.follower("pods")
        self.one.listed(1)
        self.other.listed(1)

    def wrote(self, version: int, sent_s: float = 0.0, now_s: float = 0.1) -> None:
        """Take note of a write of the topic."""
        self.ledger.wrote(("pods",), version, version, sent_s, now_s)

    def test_delivered(self) -> None:
        """An event counts as delivered before and after the response of its write."""
        self.one.seen(SeenEvent(b"MODIFIED", b"u", 2), 0.05)
        self.wrote(2)
        self.other.seen(SeenEvent(b"MODIFIED", b"u", 2), 0.2)
        counts = self.ledger.take()
        self.assertEqual((counts.events, counts.compared, counts.late, counts.wrong), (2, 2, 0, 0))
        self.assertEqual((self.ledger.outstanding, counts.latencies.largest_s), (0, 0.2))

    def test_lost(self) -> None:
        """An event that one of the watches does not deliver in time is lost, once."""
        self.wrote(2)
        self.one.seen(SeenEvent(b"MODIFIED", b"u", 2), 0.2)
        self.ledger.expire(EXPIRY_S)
        self.assertEqual((self.ledger.outstanding, self.ledger.counts.lost), (1, 0))
        self.ledger.expire(EXPIRY_S + 0.1)
        self.assertEqual((self.ledger.outstanding, self.ledger.counts.lost), (0, 1))

    def test_late(self) -> None:
        """An event more than a second after the response is late, but not wrong."""
        self.wrote(2)
        self.one.seen(SeenEvent(b"MODIFIED", b"u", 2), 1.2)
        self.assertEqual((self.ledger.counts.late, self.ledger.counts.wrong), (1, 0))

    def test_repeated_and_disordered(self) -> None:
        """The same event again, and one of an older version, are counted."""
        for version in (3, 3, 2):
            self.one.seen(SeenEvent(b"MODIFIED", b"u", version), 0.0)
        self.assertEqual((self.ledger.counts.repeated, self.ledger.counts.disordered), (1, 1))
        self.assertEqual(self.one.version, 3)

    def test_keys_by_uid(self) -> None:
        """Deletions and bindings, whose responses have no version, are matched by the uid."""
        self.ledger.wrote(("pods",), appeared(b"u"), 0, 0.0, 0.1)
        self.one.seen(SeenEvent(b"ADDED", b"u", 2), 0.2)
        self.ledger.wrote(("pods",), deleted(b"u"), 0, 0.3, 0.4)
        self.one.seen(SeenEvent(b"DELETED", b"u", 3), 0.5)
        self.assertEqual((self.one.outstanding, self.other.outstanding), (0, 2))

    def test_lists(self) -> None:
        """Writes before a list are not expected; another list takes the place of events that have not come."""
        self.wrote(1)
        self.assertEqual(self.ledger.outstanding, 0)
        self.wrote(2)
        self.one.listed(5)
        self.assertEqual((self.one.outstanding, self.other.outstanding, self.ledger.counts.relists), (0, 1, 1))

    def test_bookmarks(self) -> None:
        """A bookmark moves the version on, and neither counts as an event nor as disorder."""
        self.one.seen(SeenEvent(b"BOOKMARK", b"", 9), 0.0)
        self.one.seen(SeenEvent(b"BOOKMARK", b"", 9), 0.0)
        self.assertEqual((self.one.version, self.ledger.counts.events, self.ledger.counts.wrong), (9, 0, 0))

    def test_other_writers(self) -> None:
        """Events of other clients' writes are forgotten after a while."""
        self.one.seen(SeenEvent(b"MODIFIED", b"u", 2), 0.0)
        self.ledger.expire(EXPIRY_S)
        self.wrote(2, now_s=EXPIRY_S)
        self.assertEqual(self.one.outstanding, 1)

    def test_total(self) -> None:
        """The total has the counts of all intervals."""
        for version in (2, 3):
            self.one.seen(SeenEvent(b"MODIFIED", b"u", version), 0.0)
            self.ledger.take()
        self.assertEqual(self.ledger.total.events, 2)
