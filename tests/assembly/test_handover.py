"""Key handover of a server with a join secret (reference CTRL-54)."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

from twisted.internet.defer import fail
from twisted.internet.task import Clock
from twisted.logger import LogEvent, globalLogPublisher
from twisted.trial.unittest import SynchronousTestCase

from orchtw.assembly.handover import Handover
from orchtw.bootstrap.sealed_record import KEY
from orchtw.errors import InternalError
from orchtw.naming.naming import Naming
from orchtw.pki import sealed_keys
from orchtw.pki.first_start import common_keys
from orchtw.pki.sealed_keys import unseal
from orchtw.registry.offload import Offload
from tests.registry.allocation.processes import Group

SECRET, OTHER = b"the secret of this cluster", b"another secret altogether"


class HandoverTests(SynchronousTestCase):
    """Servers that offer their keys, one after the other."""

    def setUp(self) -> None:
        self.patch(sealed_keys, "_COST", 2)
        self.group = Group(0)
        self.store = self.group.store
        self.keys = common_keys(Naming.orch(), datetime.now(UTC))
        self.logged: list[str] = []
        take: Any = self.take
        globalLogPublisher.addObserver(take)
        self.addCleanup(globalLogPublisher.removeObserver, take)

    def take(self, event: LogEvent) -> None:
        if event["log_namespace"] == Handover.__module__ + ".Handover":
            self.logged.append(event["log_level"].name)

    def offer(self, secret: bytes = SECRET, keys: dict[str, bytes] | None = None) -> int:
        """Offer keys; the revision at which the store has some."""
        work = Handover(secret, keys or self.keys).offer(self.store, Offload(Clock()))
        self.group.wait(work)
        return self.store.revision_of(KEY)

    def test_once(self) -> None:
        """Keys are written only when none are stored, and not again after a certificate is renewed."""
        written = self.offer()
        self.assertEqual(unseal(SECRET, self.store.items[KEY].value), self.keys)
        self.assertEqual(self.offer(), written)
        self.assertEqual(self.offer(keys=self.keys | {"front-proxy-client.crt": b"renewed"}), written)
        self.assertEqual(self.logged, ["info"])

    def test_other_keys(self) -> None:
        """Keys that others have handed over stay, and the log tells that this server has other ones."""
        written = self.offer()
        self.assertEqual(self.offer(keys=common_keys(Naming.orch(), datetime.now(UTC))), written)
        self.assertEqual(self.logged, ["info", "warn"])

    def test_new_secret(self) -> None:
        """Keys sealed with another secret, or unreadable ones, are overwritten under this secret."""
        written = self.offer()
        self.assertGreater(self.offer(OTHER), written)
        self.assertEqual(unseal(OTHER, self.store.items[KEY].value), self.keys)
        self.assertEqual(self.logged, ["info", "warn", "info"])

    def test_store_that_refuses(self) -> None:
        """A store that refuses writes does not end the start."""
        self.patch(self.store, "commit", lambda op: fail(InternalError.of("full")))
        self.assertEqual(self.offer(), 0)
        self.assertEqual(self.logged, ["warn"])
