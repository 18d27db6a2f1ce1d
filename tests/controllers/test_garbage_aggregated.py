"""The garbage collector and what aggregated API servers store (reference CTRL-13, CTRL-17)."""

from __future__ import annotations

import attrs

from orchtw.client.aggregated.watch import LEAST_S
from orchtw.controllers.garbage_collector import DISCOVERY_PERIOD_S, GarbageCollector
from orchtw.rules.delete_options import DeleteOptions, Propagation
from orchtw.wire.objects import Object
from tests.client.aggregated.servers import PATH, AggregatedCase, widget
from tests.client.aggregated.test_watch import event
from tests.controllers.controlled import host

LIST = f"GET {PATH}/widgets?limit=500"
ITEMS = f"{PATH}/namespaces/a/widgets"


class AggregatedGarbageTests(AggregatedCase):
    def setUp(self) -> None:
        super().setUp()
        self.server.answers[LIST] = {"metadata": {"resourceVersion": "9"}, "items": []}
        self.collector = self.made()
        self.addCleanup(lambda: self.world.run(self.collector.stopService()))

    def made(self) -> GarbageCollector:
        """A collector that has not begun."""
        return GarbageCollector(attrs.evolve(host(self.world), joined=lambda client, account, tenure: self.client), 4)

    def begin(self) -> None:
        """Start, and let everything happen."""
        self.collector.startService()
        self.world.settle(1)

    def owned(self, name: str, owner: Object) -> None:
        """A config map with an owner."""
        self.world.config_map(name, owner)
        self.world.settle(1)

    def delete(self, name: str, policy: Propagation = "Background") -> None:
        maps = self.world.resource("configmaps")
        self.world.run(self.world.client.delete(maps, "a", name, DeleteOptions(propagation=policy)))
        self.world.settle(30)

    def left(self) -> list[str]:
        return self.world.names("configmaps")

    def test_failing_owner(self) -> None:
        """While the owner's group fails, dependents stay; they go once the owner is known to be gone."""
        self.begin()
        self.server.down = True
        self.world.settle(2 * DISCOVERY_PERIOD_S)
        self.owned("dependent", widget("one"))
        self.world.settle(60)
        self.assertEqual(self.left(), ["dependent"])
        self.server.down = False
        self.server.answers[f"GET {ITEMS}/one"] = (404, {"kind": "Status", "code": 404, "details": {"name": "one"}})
        self.world.settle(1000, 5)
        self.assertEqual(self.left(), [])

    def test_unknown_owner(self) -> None:
        """A kind of a group that has never answered keeps dependents as well."""
        self.server.down = True
        self.begin()
        self.owned("dependent", widget("one"))
        self.world.settle(60)
        self.assertEqual(self.left(), ["dependent"])

    def test_unlisted(self) -> None:
        """A server whose lists fail blocks only the deletion of owners that may have dependents there."""
        self.server.answers[LIST] = (503, b"")
        self.begin()
        for name in ("plain", "orphaning"):
            self.owned(f"of-{name}", self.world.config_map(name))
        self.delete("plain")
        self.assertEqual(self.left(), ["of-orphaning", "orphaning"])
        self.delete("orphaning", "Orphan")
        self.assertEqual(self.left(), ["of-orphaning", "orphaning"])
        self.server.answers[LIST] = {"metadata": {"resourceVersion": "9"}, "items": []}
        self.world.settle(1000, 5)
        self.assertEqual(self.left(), ["of-orphaning"])
        dependent = self.world.get("configmaps", "of-orphaning")
        assert dependent is not None
        self.assertNotIn("ownerReferences", dependent["metadata"])

    def test_unlistable(self) -> None:
        """A server that refuses its lists for good blocks no deletion."""
        for code in (403, 404, 405):
            self.server.answers[LIST] = (code, b"")
            self.begin()
            self.owned("dependent", self.world.config_map("owner"))
            self.delete("owner", "Foreground")
            self.assertEqual(self.left(), [])
            self.world.run(self.collector.stopService())
            self.collector = self.made()

    def test_claimed_uid(self) -> None:
        """A remote server's claim to the UID of an object stored here deletes no dependents."""
        self.begin()
        owner = self.world.config_map("owner")
        self.owned("dependent", owner)
        claimed = widget("one", uid=owner["metadata"]["uid"])
        for kind in ("DELETED", "ADDED", "DELETED"):
            self.server.streams[-1].send(event(kind, claimed))
            self.world.settle(LEAST_S)
        self.assertEqual(self.left(), ["dependent", "owner"])

    def test_no_uid(self) -> None:
        """An object without a UID is neither owner nor dependent."""
        self.begin()
        owner = {"apiVersion": "v1", "kind": "ConfigMap", "name": "x", "uid": "gone"}
        self.server.streams[-1].send(event("ADDED", widget("one", uid=None, ownerReferences=[owner])))
        self.world.settle(1)
        self.assertNotIn(f"DELETE {ITEMS}/one", [asked for asked, _ in self.server.asked])

    def test_dependents_there(self) -> None:
        """A dependent that another server stores is looked up there, and deleted with its uid and version."""
        self.begin()
        owner = {"apiVersion": "v1", "kind": "ConfigMap", "name": "x", "uid": "gone"}
        stray = widget("one", ownerReferences=[owner])
        self.server.answers |= {f"GET {ITEMS}/one": stray, f"DELETE {ITEMS}/one": {"kind": "Status"}}
        self.server.streams[-1].send(event("ADDED", stray))
        self.world.settle(1)
        bodies = [body for asked, body in self.server.asked if asked == f"DELETE {ITEMS}/one"]
        self.assertEqual(bodies[0]["preconditions"], {"uid": "uid-one", "resourceVersion": "7"})
