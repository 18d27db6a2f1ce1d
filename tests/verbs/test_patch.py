"""Patches in requests, applied to objects (reference PATCH-2)."""

from __future__ import annotations

from orchtw.errors import BadRequest, Invalid
from orchtw.request import Peer, Request
from orchtw.verbs.patch import Changes
from orchtw.wire.objects import Object
from tests.client.world import WorldTestCase


class ChangesTests(WorldTestCase):
    """Merge patches for a ConfigMap at revision 5."""

    def changes(self, body: bytes) -> Changes:
        headers = {"content-type": "application/merge-patch+json"}
        request = Request(method="PATCH", path="/", headers=headers, body=body, peer=Peer(address="", port=0))
        return Changes(request, self.world.targets.stored_target("", "v1", "configmaps").codec)

    def live(self) -> Object:
        meta = {"name": "x", "namespace": "a", "resourceVersion": "5"}
        return {"kind": "ConfigMap", "apiVersion": "v1", "metadata": meta, "data": {"c": "d"}}

    def test_again(self) -> None:
        """A patch is applied again after a conflict, with the same result."""
        changes = self.changes(b'{"data": {"a": "b"}}')
        for _ in range(2):
            self.assertEqual(changes.of(self.live())["data"], {"a": "b", "c": "d"})

    def test_precondition(self) -> None:
        """The result has a resourceVersion only if the patch changed it."""
        self.assertNotIn("resourceVersion", self.changes(b"{}").of(self.live())["metadata"])
        changed = self.changes(b'{"metadata": {"resourceVersion": "4"}}').of(self.live())
        self.assertEqual(changed["metadata"]["resourceVersion"], "4")

    def test_wrong(self) -> None:
        """A body that is not JSON is a 400, a result that is not an object of the kind a 422."""
        self.assertRaises(BadRequest, self.changes, b"{")
        self.assertRaises(Invalid, self.changes(b'{"data": 5}').of, self.live())
