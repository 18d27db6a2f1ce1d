"""Objects of aggregated API servers, as controllers list, look up, patch and delete them (reference AGG-17)."""
# covers: orchtw.client.aggregated.items, orchtw.client.aggregated.requests

from __future__ import annotations

from typing import Any

from orchtw.client.interface import BACKGROUND
from orchtw.errors import Fenced, InternalError, NotFound, StatusError
from orchtw.registry.aggregation.backends import TooLarge
from orchtw.rules.delete_options import DeleteOptions
from tests.client.aggregated.servers import PATH, WIDGETS, AggregatedCase, listed, widget

ALL = f"{PATH}/namespaces/a/widgets"
ONE = f"{ALL}/one"
MISSING = {"kind": "Status", "reason": "NotFound", "code": 404}


def too_large() -> Any:
    """An answer that is cut off."""
    raise TooLarge(1, 200)


def page(*names: str, token: str = "") -> dict[str, Any]:
    """A part of a list."""
    return {"metadata": {"resourceVersion": "9", "continue": token}, "items": [widget(name) for name in names]}


class ReadTests(AggregatedCase):
    def test_list(self) -> None:
        """A list is asked for in parts."""
        self.server.answers |= {
            f"GET {ALL}?limit=500": page("one", token="t"),
            f"GET {ALL}?limit=500&continue=t": page("two"),
        }
        found = self.world.run(self.client.list(self.widgets, "a"))
        self.assertEqual(([item.key for item in found.items], found.version), (["a/one", "a/two"], "9"))
        self.assertEqual(found.items[0].owner_metadata().uid, "uid-one")

    def test_large(self) -> None:
        """Where a part is too large, fewer objects are asked for at a time."""
        self.server.answers |= {
            f"GET {ALL}?limit=500": too_large, f"GET {ALL}?limit=50": too_large, f"GET {ALL}?limit=5": page("one"),
        }
        self.assertEqual(len(self.world.run(self.client.list(self.widgets, "a")).items), 1)
        self.server.answers |= {f"GET {ALL}?limit={limit}": too_large for limit in (5, 1)}
        with self.assertRaises(StatusError) as raised:
            self.world.run(self.client.list(self.widgets, "a"))
        self.assertEqual(raised.exception.message, "the answer of the aggregated API server is too large")

    def test_endless(self) -> None:
        """A list whose pages continue without objects is refused."""
        self.server.answers[f"GET {ALL}?limit=500"] = page(token="t")
        with self.assertRaises(InternalError):
            self.world.run(self.client.list(self.widgets, "a"))

    def test_hostile(self) -> None:
        """A response that is not a list of objects is refused."""
        widgets = self.widgets
        answers: tuple[Any, ...] = (
            {"items": 1}, {"items": [1]}, {"items": [{}]}, {"items": [{"metadata": 1}]}, {"metadata": ["x"]},
            {"items": [widget("")]}, {"metadata": {"continue": 1}},
            {"items": [widget("x", uid=1)]}, {"items": [widget("x", finalizers=[1])]},
            {"items": [widget("x", ownerReferences=[{"uid": []}])]}, {"items": [widget("x", ownerReferences="x")]},
        )  # fmt: skip
        for answer in answers:
            self.server.answers[f"GET {ALL}?limit=500"] = answer
            with self.assertRaises(InternalError):
                self.world.run(self.client.list(widgets, "a"))

    def test_find(self) -> None:
        """A missing object is None, if the server names it or still serves its resource."""
        widgets = self.widgets
        self.server.answers[f"GET {ONE}"] = widget("one")
        found = self.world.run(self.client.find(widgets, "a", "one"))
        assert found is not None
        self.assertEqual((found.metadata()["uid"], found.version), ("uid-one", "7"))
        for missing in ((404, {**MISSING, "details": {"name": "one"}}), (404, MISSING), (404, b"no")):
            self.server.answers[f"GET {ONE}"] = missing
            self.assertIsNone(self.world.run(self.client.find(widgets, "a", "one")))
        self.server.answers[f"GET {PATH}"] = listed()
        with self.assertRaises(InternalError):
            self.world.run(self.client.find(widgets, "a", "one"))

    def test_down(self) -> None:
        """A server that does not answer says nothing about an object: that is not proof of its absence."""
        widgets = self.widgets
        self.say("v1.example.com", available=False)
        with self.assertRaises(StatusError) as raised:
            self.world.run(self.client.find(widgets, "a", "one"))
        self.assertEqual(raised.exception.code, 503)

    def test_names(self) -> None:
        """A name that leads to another path is not an object's name."""
        widgets, asked = self.widgets, len(self.server.asked)
        for name in ("..", "../../../../api/v1/secrets", "a%2fb"):
            self.server.answers[f"GET {PATH}"] = listed(WIDGETS)
            self.assertIsNone(self.world.run(self.client.find(widgets, "a", name)), name)
        self.assertEqual(len(self.server.asked), asked)

    def test_own(self) -> None:
        """A resource that this server serves itself is not requested from another server."""
        self.world.config_map("x")
        maps = self.client.resource("", "v1", "configmaps")
        asked = len(self.server.asked)
        self.assertEqual(len(self.world.run(self.client.list(maps, "a")).items), 1)
        self.assertIsNotNone(self.world.run(self.client.find(maps, "a", "x")))
        self.assertEqual(self.world.run(self.client.delete_collection(maps, "a")), 1)
        self.assertEqual(len(self.server.asked), asked)


class WriteTests(AggregatedCase):
    def test_delete(self) -> None:
        """A delete carries its preconditions; what ends is not gone."""
        widgets = self.widgets
        self.server.answers[f"DELETE {ONE}"] = {"kind": "Status", "status": "Success"}
        options = DeleteOptions(propagation="Foreground", precondition_uid="u", precondition_version="7")
        self.assertTrue(self.world.run(self.client.delete(widgets, "a", "one", options)))
        body = {
            "kind": "DeleteOptions", "apiVersion": "v1", "propagationPolicy": "Foreground",
            "preconditions": {"uid": "u", "resourceVersion": "7"},
        }  # fmt: skip
        self.assertEqual(self.server.asked[-1], (f"DELETE {ONE}", body))
        self.server.answers[f"DELETE {ONE}"] = widget("one", deletionTimestamp="2024-01-01T00:00:00Z")
        self.assertFalse(self.world.run(self.client.delete(widgets, "a", "one")))
        self.assertEqual(self.server.users, {"collector"})

    def test_without_the_lease(self) -> None:
        """A client that has lost the Lease sends no writes to other servers, but still reads (CTRL-51)."""
        widgets = self.widgets
        self.server.answers |= {f"GET {ONE}": widget("one"), f"DELETE {ONE}": {"kind": "Status"}}
        self.fenced = True
        before = len(self.server.asked)
        for write in (
            self.client.delete(widgets, "a", "one"),
            self.client.patch(widgets, "a", "one", {"metadata": {}}),
            self.client.delete_collection(widgets, "a"),
        ):
            with self.assertRaises(Fenced):
                self.world.run(write)
        self.assertEqual(len(self.server.asked), before)
        self.world.run(self.client.get(widgets, "a", "one"))

    def test_patch(self) -> None:
        """A patch is a merge patch, and its answer the object."""
        widgets = self.widgets
        self.server.answers[f"PATCH {ONE}"] = widget("one", resourceVersion="8")
        found = self.world.run(self.client.patch(widgets, "a", "one", {"metadata": {"finalizers": None}}))
        self.assertEqual(found["metadata"]["resourceVersion"], "8")
        self.assertEqual(self.server.asked[-1], (f"PATCH {ONE}", {"metadata": {"finalizers": None}}))

    def test_together(self) -> None:
        """All of a namespace go in one request, however long its answer is."""
        widgets = self.widgets
        for answer in (page("one"), too_large):
            self.server.answers[f"DELETE {ALL}"] = answer
            self.world.run(self.client.delete_collection(widgets, "a", BACKGROUND))
            asked, body = self.server.asked[-1]
            self.assertEqual((asked, body["propagationPolicy"]), (f"DELETE {ALL}", "Background"))

    def test_one_by_one(self) -> None:
        """Where there is no verb for that, or the server does not know it, they go one by one; one that is gone
        already causes no trouble.
        """
        for verbs, refusal in ((WIDGETS["verbs"], (405, b"")), (["delete", "list"], (200, b"{}"))):
            self.server.answers |= {
                f"GET {PATH}": listed({**WIDGETS, "verbs": verbs}),
                f"DELETE {ALL}": refusal,
                f"GET {ALL}?limit=500": page("one", "two"),
                f"DELETE {ONE}": {"kind": "Status"},
            }
            self.server.asked.clear()
            self.assertEqual(self.world.run(self.client.delete_collection(self.widgets, "a", BACKGROUND)), 1)
            self.assertIn(f"DELETE {ALL}/two", [asked for asked, _ in self.server.asked])

    def test_refused(self) -> None:
        """A refusal is raised unchanged."""
        self.server.answers[f"DELETE {ALL}"] = (403, {"kind": "Status", "reason": "Forbidden", "message": "no"})
        with self.assertRaises(StatusError) as raised:
            self.world.run(self.client.delete_collection(self.widgets, "a"))
        self.assertEqual((raised.exception.code, raised.exception.message), (403, "no"))
        self.server.answers[f"DELETE {ONE}"] = (404, MISSING)
        with self.assertRaises(NotFound):
            self.world.run(self.client.delete(self.widgets, "a", "one"))
