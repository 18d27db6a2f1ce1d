"""Watches that begin with the state: `sendInitialEvents` (reference WATCH-20, WATCH-21)."""

from __future__ import annotations

from typing import Any

from twisted.internet.defer import Deferred

from orchtw.testing.in_process_watch import InProcessWatch
from tests.emulated import since
from tests.verbs.served import DEFAULT, MERGE, ServedCase

MAPS = f"{DEFAULT}/configmaps"
EVENTS = f"{MAPS}?watch=1&sendInitialEvents=true&resourceVersionMatch=NotOlderThan"
MARK = {"orch.io/initial-events-end": "true"}


@since((1, 27))
class WatchListTests(ServedCase):
    def sent(self, method: str, url: str, body: Any = None, **headers: str) -> Any:
        answer = self.run_async(self.server.request(method, url, body, headers or None))
        return answer.json

    def watch(self, url: str, **headers: str) -> InProcessWatch:
        found = self.run_async(self.server.watch(url, headers or None))
        self.addCleanup(found.close)
        return found

    def make(self, *names: str) -> str:
        """Make config maps; return the version of the last one."""
        version = ""
        for name in names:
            made = self.sent("POST", MAPS, {"metadata": {"name": name, "labels": {"name": name}}})
            version = made["metadata"]["resourceVersion"]
        return version

    def shown(self, watch: InProcessWatch, count: int) -> list[tuple[str, str, Any]]:
        """Return type, name and annotations of the next events."""
        found = []
        for _ in range(count):
            event = self.run_async(watch.next())
            meta = event["object"]["metadata"]
            found.append((event["type"], meta.get("name", ""), meta.get("annotations")))
        return found

    def test_state_mark_changes(self) -> None:
        """The selected state comes as ADDED, then the annotated bookmark with its version, then changes (reference
        WATCH-20).
        """
        version = self.make("a", "b")
        for more in ("", "&resourceVersion=0", f"&resourceVersion={version}"):
            watch = self.watch(f"{EVENTS}&allowWatchBookmarks=true&labelSelector=name%21%3Da{more}")
            first, mark = self.run_async(watch.next()), self.run_async(watch.next())
            self.assertEqual((first["type"], first["object"]["metadata"]["name"]), ("ADDED", "b"))
            self.assertEqual((mark["type"], mark["object"]["kind"]), ("BOOKMARK", "ConfigMap"))
            self.assertEqual(mark["object"]["metadata"]["annotations"], MARK)
            self.assertGreaterEqual(int(mark["object"]["metadata"]["resourceVersion"]), int(version))
            self.sent("PATCH", f"{MAPS}/b", {"data": {"more": more}}, **MERGE)
            self.assertEqual(self.shown(watch, 1), [("MODIFIED", "b", None)])

    def test_without_bookmarks(self) -> None:
        """A client that takes no bookmarks gets no mark (reference WATCH-20)."""
        self.make("a")
        watch = self.watch(f"{EVENTS}&labelSelector=name")
        self.make("b")
        self.assertEqual(self.shown(watch, 2), [("ADDED", "a", None), ("ADDED", "b", None)])

    def test_no_state(self) -> None:
        """With false a watch begins with the next change, whatever the version (reference WATCH-20)."""
        version = self.make("a")
        events = EVENTS.replace("=true", "=false")
        watches = [
            self.watch(f"{events}&allowWatchBookmarks=true{more}")
            for more in ("", "&resourceVersion=0", f"&resourceVersion={version}")
        ]
        self.make("b")
        for watch in watches:
            self.assertEqual(self.shown(watch, 1), [("ADDED", "b", None)])

    def test_metadata(self) -> None:
        """Partial metadata is marked like whole objects; in a Table the object of a row is (reference WATCH-20)."""
        url = f"{EVENTS}&allowWatchBookmarks=true&labelSelector=name"
        form = "application/json;as=PartialObjectMetadata;g=meta.orch.io;v=v1"
        mark = self.run_async(self.watch(url, accept=form).next())
        self.assertEqual(
            (mark["object"]["kind"], mark["object"]["metadata"]["annotations"]), ("PartialObjectMetadata", MARK)
        )
        mark = self.run_async(self.watch(url, accept="application/json;as=Table;g=meta.orch.io;v=v1").next())
        (row,) = mark["object"]["rows"]
        self.assertEqual(row["object"]["metadata"]["annotations"], MARK)

    def test_future(self) -> None:
        """A version that does not come is a 504, as for lists (reference WATCH-20, READ-8)."""
        answer: list[Any] = []
        asked = self.server.request("GET", f"{EVENTS}&resourceVersion=99999999")
        Deferred.fromCoroutine(asked).addBoth(answer.append)
        self.clock.pump([0.1] * 40)
        self.assertEqual((answer[0].code, answer[0].json["reason"]), (504, "Timeout"))


@since((1, 27))
class RefusalTests(ServedCase):
    more = {"feature_gates": (("WatchList", "false"),)}

    def test_gate_off(self) -> None:
        """Without the gate the client is told, so that it lists (reference WATCH-21)."""
        answer = self.run_async(self.server.request("GET", EVENTS))
        self.assertEqual(answer.code, 422)
        self.assertEqual(
            answer.json["message"],
            'ListOptions.meta.orch.io "" is invalid: sendInitialEvents: Forbidden: sendInitialEvents is forbidden '
            "for watch unless the WatchList feature gate is enabled",
        )


class OlderReleaseTests(ServedCase):
    more = {"emulated_version": "1.24"}

    def test_1_24(self) -> None:
        """1.24 refuses the match and does not know the parameter (reference WATCH-21, READ-6)."""
        answer = self.run_async(self.server.request("GET", EVENTS))
        self.assertEqual(answer.code, 422)
        self.assertIn(
            "resourceVersionMatch: Forbidden: resourceVersionMatch is forbidden for watch", answer.json["message"]
        )
        self.assertNotIn("sendInitialEvents", answer.json["message"])
        review = "/apis/authentication.orch.io/v1/selfsubjectreviews"
        self.assertEqual(self.run_async(self.server.request("POST", review, {})).code, 404)
