"""Events of both groups (reference KIND-31)."""
# covers: orchtw.registry.groups.core.event_validation

from __future__ import annotations

from typing import Any

from twisted.trial.unittest import SynchronousTestCase

from orchtw.naming.naming import Naming
from orchtw.registry.groups.core.event_validation import validate_event
from orchtw.wire.objects import Object
from tests.validation import case
from tests.validation.examples import GONE, Accepted, Base, Changes, Refused, Shown, Stored

CORE = "/api/v1/namespaces/default/events"
EVENTS = "/apis/events.orch.io/v1/namespaces/default/events"
BETA = "/apis/events.orch.io/v1beta1/namespaces/default/events"
TIME = "2022-05-03T12:00:00.000000Z"
CORE_EVENT = {
    "apiVersion": "v1",
    "kind": "Event",
    "metadata": {"name": "a"},
    "involvedObject": {"kind": "Pod", "namespace": "default", "name": "p"},
}
EVENT: Object = {
    "apiVersion": "events.orch.io/v1",
    "kind": "Event",
    "metadata": {"name": "a"},
    "eventTime": TIME,
    "reportingController": "example.com/c",
    "reportingInstance": "c-1",
    "action": "Binding",
    "reason": "Bound",
    "type": "Normal",
    "regarding": {"kind": "Pod", "namespace": "default", "name": "p"},
}
SERIES = {"count": 2, "lastObservedTime": TIME}
LONG = "x" * 129
CHANGES: dict[str, Changes] = {
    "involvedObject": {"regarding.name": "other"},
    "reason": {"reason": "Other"},
    "message": {"note": "other"},
    "source": {"deprecatedSource": {"host": "a"}},
    "firstTimestamp": {"deprecatedFirstTimestamp": "2022-05-03T12:00:00Z"},
    "lastTimestamp": {"deprecatedLastTimestamp": "2022-05-03T12:00:00Z"},
    "count": {"deprecatedCount": 1},
    "type": {"type": "Warning"},
    "eventTime": {"eventTime": "2022-05-03T12:00:01.000000Z"},
    "action": {"action": "Other"},
    "related": {"related": {"kind": "Pod"}},
    "reportingController": {"reportingController": "other"},
    "reportingInstance": {"reportingInstance": "other"},
}
"""What an update may not change, by the name in the cause."""


class EventTests(case.EntryCase):
    file = "events.json"
    bases = {
        "Event": Base(path=EVENTS, obj=EVENT),
        "core": Base(path=CORE, obj=CORE_EVENT),
        "beta": Base(path=BETA, obj={**EVENT, "apiVersion": "events.orch.io/v1beta1"}),
    }
    examples = {
        0: Shown(f"{__name__}.NamespaceTests.test_form"),
        1: [
            Refused(kind="core", change={"involvedObject.namespace": "other"}),
            Accepted(kind="core", change={"involvedObject.namespace": "default"}),
            Accepted(change={"regarding.namespace": "other"}),
        ],
        2: Shown(f"{__name__}.NamespaceTests.test_of_the_cluster"),
        3: Shown(f"{__name__}.NamespaceTests.test_of_the_cluster_with_time"),
        4: Refused(change={"reportingController": ""}, accepts={"reportingController": "a"}),
        5: Refused(change={"reportingController": "a b"}, accepts={"reportingController": "a.b/c"}),
        6: Refused(change={"reportingInstance": ""}),
        7: Refused(change={"reportingInstance": LONG}, accepts={"reportingInstance": LONG[:128]}),
        8: Refused(change={"action": ""}),
        9: Refused(change={"action": LONG}, accepts={"action": LONG[:128]}),
        10: Refused(change={"reason": ""}),
        11: Refused(change={"reason": LONG}, accepts={"reason": LONG[:128]}),
        12: Refused(change={"note": "é" * 513}, accepts={"note": "é" * 512}),
        13: Refused(change={"series": {**SERIES, "count": 1}}, accepts={"series": SERIES}),
        14: Refused(change={"series": {"count": 2}}, accepts={"series": SERIES}),
        15: [
            Refused(change={"eventTime": GONE}),
            Accepted(kind="beta", change={"eventTime": GONE}),
            Accepted(kind="core", change={}),
        ],
        16: [
            Refused(change={"type": "x"}, accepts={"type": "Warning"}),
            Accepted(kind="beta", change={"type": "x"}),
        ],
        17: Refused(change={"deprecatedFirstTimestamp": "2022-05-03T12:00:00Z"}),
        18: Refused(change={"deprecatedLastTimestamp": "2022-05-03T12:00:00Z"}),
        19: [Refused(change={"deprecatedCount": 1}), Accepted(kind="beta", change={"deprecatedCount": 1})],
        20: [
            Refused(change={"deprecatedSource": {name: "a"}}, accepts={"deprecatedSource": {}})
            for name in ("component", "host")
        ],
        21: [
            Refused(change={"series": {**SERIES, "count": 1}}, accepts={"series": SERIES}, field="series.count"),
            Refused(before={"series": SERIES}, change={"series.count": 1}, field="series.count"),
            Accepted(before={"series": SERIES}, change={"series": GONE}),
        ],
        22: [
            Refused(change=change, accepts={"series": SERIES}, field=field)
            for field, change in CHANGES.items()
        ]
        + [Accepted(kind="beta", change={"reason": "Other"})],
        23: [
            Accepted(kind="core", change={"reason": "Other", "count": 2, "message": "other"}),
            Refused(
                kind="core", change={"involvedObject.namespace": "x"}, field="involvedObject.namespace", detail="does"
            ),
        ],
        24: Shown(f"{__name__}.EventTests.test_create_by_update"),
        25: Shown(f"{__name__}.EventTests.test_end"),
        26: Shown(f"{__name__}.EventTests.test_no_finalizers"),
        27: Stored(on="update", change={"series": SERIES}, expected={"metadata.generation": GONE}),
        28: Shown("tests.schema.conversion.test_conversion.EventTests.test_pair"),
    }

    def test_create_by_update(self) -> None:
        """A PUT of a name that is not there creates it."""
        for path, event in ((CORE, CORE_EVENT), (EVENTS, EVENT)):
            answer = self.send("PUT", f"{path}/new", {**event, "metadata": {"name": "new"}})
            self.assertEqual(answer.code, 201, answer.body)
            self.done("DELETE", f"{path}/new")

    def test_end(self) -> None:
        """An event ends an hour after it was last written, and watchers are told (reference STORE-15)."""
        self.done("POST", CORE, CORE_EVENT)
        self.clock.advance(3599)
        self.done("PATCH", f"{CORE}/a", {"reason": "Other"}, {"content-type": "application/merge-patch+json"})
        self.clock.advance(3599)
        watch = self.run_async(self.server.watch(f"{CORE}?watch=1"))
        self.addCleanup(watch.close)
        self.done("GET", f"{CORE}/a")
        self.clock.advance(1)
        self.clock.advance(0)
        self.assertEqual(self.code("GET", f"{CORE}/a"), 404)
        self.assertEqual([self.run_async(watch.next())["type"] for _ in range(2)], ["ADDED", "DELETED"])

    def test_no_finalizers(self) -> None:
        """The garbage collector has no say: whatever the policy, a deleted event is gone."""
        for policy in ("Orphan", "Foreground", "Background"):
            self.done("POST", CORE, CORE_EVENT)
            self.done("DELETE", f"{CORE}/a", {"propagationPolicy": policy})
            self.assertEqual(self.code("GET", f"{CORE}/a"), 404)


class NamespaceTests(SynchronousTestCase):
    """Where an event is."""

    def fields(self, namespace: str, about: str = "", **fields: Any) -> list[str]:
        event: Object = {"metadata": {"namespace": namespace}, "involvedObject": {"namespace": about}, **fields}
        return [cause.field for cause in validate_event(event, None, Naming.orch())]

    def test_form(self) -> None:
        """The namespace has the form of a subdomain."""
        self.assertEqual(self.fields("a b", "a b"), ["namespace"])
        self.assertEqual(self.fields("a.b", "a.b"), [])

    def test_of_the_cluster(self) -> None:
        """Without time, an event about something in no namespace is in namespace default."""
        self.assertEqual(self.fields("orch-system"), ["involvedObject.namespace"])
        self.assertEqual(self.fields("default"), [])

    def test_of_the_cluster_with_time(self) -> None:
        """With time, it may be in the system's, too."""
        full = {name: EVENT[name] for name in ("eventTime", "reportingInstance", "action", "reason")}
        full["reportingComponent"] = "a"
        self.assertEqual(self.fields("other", **full), ["involvedObject.namespace"])
        for namespace in ("orch-system", "default"):
            self.assertEqual(self.fields(namespace, **full), [])
