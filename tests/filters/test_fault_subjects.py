"""Objects that fault rules select."""

from __future__ import annotations

from orchtw.filters.fault_subjects import FaultSubjects
from orchtw.naming.naming import Naming
from orchtw.registry.offload import Offload
from orchtw.request import Peer, Request
from orchtw.rules.negotiation import Negotiator
from orchtw.rules.request_info import parse
from tests.client.world import WorldTestCase

MAPS = "/api/v1/namespaces/a/configmaps"


class FaultSubjectTests(WorldTestCase):
    """Names and labels of the objects of requests."""

    def subject(self, method: str, path: str, body: bytes = b"") -> tuple[str, dict[str, str]]:
        headers = {"content-type": "application/json"}
        request = Request(method=method, path=path, headers=headers, body=body, peer=Peer(address="", port=0))
        subjects = FaultSubjects(self.world.targets, Offload(None), Negotiator(Naming.orch()))
        found = self.world.run(subjects.of(request, parse(request.method, request.path, {})))
        return found.name, dict(found.labels)

    def test_stored(self) -> None:
        """A request for an object is for the stored one; one that is missing or unknown has no labels."""
        self.world.config_map("m", labels={"a": "b"})
        self.assertEqual(self.subject("GET", f"{MAPS}/m"), ("m", {"a": "b"}))
        self.assertEqual(self.subject("GET", f"{MAPS}/missing"), ("missing", {}))
        self.assertEqual(self.subject("GET", "/apis/x.y/v1/foos/f"), ("f", {}))

    def test_create(self) -> None:
        """A create is for the object in its body, if that can be read."""
        body = b'{"metadata": {"name": "new", "labels": {"c": "d"}}}'
        self.assertEqual(self.subject("POST", MAPS, body), ("new", {"c": "d"}))
        self.assertEqual(self.subject("POST", MAPS, b"{"), ("", {}))
