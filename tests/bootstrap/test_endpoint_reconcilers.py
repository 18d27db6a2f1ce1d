"""Endpoints of the servers' Service by each reconciler (CTRL-49)."""

from __future__ import annotations

from typing import Any

from twisted.trial.unittest import SynchronousTestCase

from orchtw.bootstrap.endpoint_reconcilers import RECONCILERS, EndpointReconciler
from orchtw.bootstrap.server_leases import ServerLeases, ServerPlace
from orchtw.config.checks import RECONCILER_TYPES
from tests.registry.allocation.processes import Group, Link


def endpoints(*hosts: int) -> dict[str, Any]:
    subset = {"addresses": [{"ip": f"192.0.2.{host}"} for host in hosts], "ports": [{"port": 6443}]}
    return {"subsets": [subset]}


class ReconcilerTests(SynchronousTestCase):
    """A server on 192.0.2.2, and what it finds."""

    def setUp(self) -> None:
        self.group = Group(0)
        self.leases = ServerLeases(Link(self.group.store, shared=True), ServerPlace("192.0.2.2", 6443), "two")

    def of(self, kind: str, count: int = 1) -> EndpointReconciler:
        return RECONCILERS[kind](self.leases, count)

    def named(self, reconciler: EndpointReconciler, present: dict[str, Any] | None) -> list[int] | None:
        """The last parts of the addresses."""
        places = self.group.wait(reconciler.places(present))
        return None if places is None else [int(each.address.rpartition(".")[2]) for each in places]

    def test_types(self) -> None:
        """There is one for each value of the flag (CTRL-49)."""
        self.assertEqual(sorted(RECONCILERS), sorted(RECONCILER_TYPES))

    def test_lease(self) -> None:
        """Endpoints are the servers that are alive and may serve (CTRL-49, CTRL-52)."""
        self.group.wait(self.leases.renew())
        self.assertEqual(self.named(self.of("lease"), endpoints(1, 9)), [])
        self.group.wait(self.leases.accept(True))
        self.assertEqual(self.named(self.of("lease"), endpoints(1, 9)), [2])

    def test_nobody(self) -> None:
        """The endpoints are left alone (CTRL-49)."""
        self.assertIsNone(self.named(self.of("none"), endpoints(1)))

    def test_count(self) -> None:
        """A server enters itself, once, where it may have been named already or nobody was (CTRL-49)."""
        three = self.of("master-count", 3)
        self.assertEqual(self.named(three, None), [2])
        self.assertEqual(self.named(three, endpoints(2)), [2])
        self.assertEqual(self.named(three, endpoints(3, 1)), [1, 2, 3])

    def test_too_many(self) -> None:
        """A server that enters removes the ones behind it, in a ring (CTRL-49)."""
        self.assertEqual(self.named(self.of("master-count", 2), endpoints(1, 3)), [1, 2])
        self.assertEqual(self.named(self.of("master-count", 2), endpoints(0, 1)), [1, 2])
        self.assertEqual(self.named(self.of("master-count"), endpoints(1, 3, 4)), [2])

    def test_end(self) -> None:
        """A server that ends takes itself out, and nobody else (CTRL-49)."""
        self.group.wait(self.leases.leave())
        self.assertEqual(self.named(self.of("master-count", 3), endpoints(1, 2, 3)), [1, 3])
