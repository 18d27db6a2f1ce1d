"""The record of sealed keys in a store (reference CTRL-54)."""

from __future__ import annotations

from twisted.trial.unittest import SynchronousTestCase

from orchtw.bootstrap.sealed_record import KEY, Reason, found_or_made, record, replace
from orchtw.bootstrap.server_leases import SERVERS
from orchtw.storage.store import Op
from tests.registry.allocation.processes import Group


class SealedRecordTests(SynchronousTestCase):
    """Servers without keys, and those that have them."""

    def setUp(self) -> None:
        self.group = Group(0)
        self.store = self.group.store

    def ask(self, made: bytes) -> bytes | Reason:
        found: bytes | Reason = self.group.wait(found_or_made(self.store, made))
        return found

    def test_the_first_one_makes_them(self) -> None:
        """All servers get what the first one has made."""
        self.assertEqual([self.ask(b"one"), self.ask(b"two")], [b"one", b"one"])

    def test_two_at_once(self) -> None:
        """Of two that find nothing the faster one's keys count for both."""
        commit = self.store.commit

        def overtaken(op: Op) -> object:
            self.patch(self.store, "commit", commit)
            commit(Op(KEY, b"faster", 0))
            return commit(op)

        self.patch(self.store, "commit", overtaken)
        self.assertEqual(self.ask(b"slower"), b"faster")

    def test_servers_that_keep_theirs(self) -> None:
        """Beside servers that have not handed theirs over, or over their objects, no new keys are made."""
        self.group.wait(self.store.commit(Op("/registry/namespaces/default", b"x")))
        self.assertEqual(self.ask(b"new"), Reason.OBJECTS)
        self.group.wait(self.store.commit(Op(f"{SERVERS}a", b"{}")))
        self.assertEqual(self.ask(b"new"), Reason.SERVERS)
        self.assertNotIn(KEY, self.store.items)
        self.assertTrue(self.group.wait(replace(self.store, b"theirs", None)))
        self.assertEqual(self.ask(b"new"), b"theirs")

    def test_replace(self) -> None:
        """A record that another server has written meanwhile is not overwritten."""
        self.ask(b"one")
        found = self.group.wait(record(self.store))
        self.assertTrue(self.group.wait(replace(self.store, b"two", found)))
        self.assertFalse(self.group.wait(replace(self.store, b"three", found)))
        self.assertFalse(self.group.wait(replace(self.store, b"three", None)))
