"""Discovery of aggregated API servers, and of those that do not answer at the moment (reference AGG-17)."""

from __future__ import annotations

from orchtw.errors import NotFound
from orchtw.wire.objects import Object
from tests.client.aggregated.servers import PATH, WIDGETS, AggregatedCase, listed

UNAVAILABLE = "the server is currently unable to handle the request"


class DiscoveryTests(AggregatedCase):
    def test_resources(self) -> None:
        """Each resource that a server shows, without sub-resources and what cannot stand in a path."""
        odd: list[Object] = [{"name": name, "kind": "X", "verbs": []} for name in ("widgets/scale", "../x", "A", "")]
        odd += [{"name": "x"}, {"name": "y", "kind": "Y", "verbs": 1}]
        self.server.answers[f"GET {PATH}"] = listed(*odd, WIDGETS)
        (found,), failures = self.discover()
        self.assertEqual((found.api_version, found.plural, found.namespaced), ("example.com/v1", "widgets", True))
        self.assertTrue(found.allows("delete", "list", "watch"))
        self.assertEqual(failures, {})
        self.assertEqual(self.client.resource_of("example.com/v1", "Widget"), found)

    def test_failures(self) -> None:
        """A server that is unavailable, does not answer or answers with something else is named, with the text that a
        client of the release has (reference CTRL-12).
        """
        self.serve("v1.other.example.com", available=False)
        _, failures = self.discover()
        self.assertEqual(failures, {"other.example.com/v1": UNAVAILABLE})
        self.assertEqual(len(self.server.asked), 1)
        for answer, text in (
            ((503, b"service unavailable"), UNAVAILABLE),
            ((404, b""), "the server could not find the requested resource"),
            (b"[]", "the aggregated API server returned something other than a JSON object"),
            (b"{", "the aggregated API server returned something other than a JSON object"),
            ({"resources": 1}, "discovery of example.com/v1 returned something other than an APIResourceList"),
        ):
            self.server.answers[f"GET {PATH}"] = answer
            self.assertEqual(self.discover()[1]["example.com/v1"], text)
        self.server.down = True
        self.assertEqual(self.discover()[1]["example.com/v1"], UNAVAILABLE)
        self.assertEqual(self.suspects, ["v1.example.com"])

    def test_fault(self) -> None:
        """A fault of our own is a failure too: nothing is overlooked because of it."""

        def fault() -> object:
            raise RuntimeError("fault")

        self.server.answers[f"GET {PATH}"] = fault
        self.assertEqual(self.discover()[1], {"example.com/v1": UNAVAILABLE})
        self.assertEqual(len(self.flushLoggedErrors(RuntimeError)), 1)

    def test_remembered(self) -> None:
        """A kind whose server does not answer is still known, and forgotten when the APIService leads elsewhere."""
        widgets = self.widgets
        self.server.down = True
        self.assertEqual(self.discover()[0], [])
        self.assertEqual(self.client.resource_of("example.com/v1", "Widget"), widgets)
        self.change("v1.example.com", {"spec": {"service": {"name": "another"}}})
        self.assertIsNone(self.client.resource_of("example.com/v1", "Widget"))
        with self.assertRaises(NotFound):
            self.discovery.service_of(widgets)

    def test_taken_over(self) -> None:
        """A kind of a group version that an APIService leads elsewhere with is never looked for here: its objects
        would seem to be gone (reference AGG-9, CTRL-17).
        """
        self.assertIsNotNone(self.client.resource_of("batch/v1", "Job"))
        self.serve("v1.batch", available=False)
        self.assertIsNone(self.client.resource_of("batch/v1", "Job"))

    def test_versions(self) -> None:
        """Versions of one plural are one resource, of the group's first version, whatever kind names it."""
        self.serve("v1beta1.example.com", versionPriority=5)
        gadgets = {**WIDGETS, "name": "gadgets", "kind": "Gadget"}
        self.server.answers["GET /apis/example.com/v1beta1"] = listed(WIDGETS, gadgets)
        found, _ = self.discover()
        shown = {(each.version, each.plural) for each in found}
        self.assertEqual(shown, {("v1", "widgets"), ("v1beta1", "gadgets")})
        self.assertEqual(self.client.resource_of("example.com/v1beta1", "Widget"), self.discovery.resource_of(
            "example.com/v1", "Widget"))

    def test_follow(self) -> None:
        """A follower of discovery is notified when a server comes or goes, until it unsubscribes."""
        told: list[None] = []
        leave = self.client.follow_discovery(lambda gone, come: told.append(None))
        self.say("v1.example.com", available=False)
        self.assertEqual(len(told), 1)
        leave()
        self.say("v1.example.com", available=True)
        self.assertEqual(len(told), 1)
