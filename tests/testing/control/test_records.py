"""Texts of writes, differences and objects."""

# covers: orchtw.testing.control.failures, orchtw.testing.control.selectors

from __future__ import annotations

from twisted.trial.unittest import SynchronousTestCase

from orchtw.testing.control.calls import AddedFault
from orchtw.testing.control.failures import MOST_LINES, object_text
from orchtw.testing.control.quiet import counted
from orchtw.testing.control.records import MOST_CHANGES, ObjectDifference, RecordedWrite, writes_text
from orchtw.testing.control.selectors import Selected
from orchtw.testing.last_writes import COUNT, report

RECORD = {
    "revision": 7,
    "time": "2026-01-02T03:04:05.000006Z",
    "type": "MODIFIED",
    "group": "apps",
    "resource": "deployments",
    "namespace": "shop",
    "name": "web",
    "user": "operator",
    "manager": "kopf",
    "verb": "patch",
    "subresource": "status",
    "changes": [{"path": "$.status.ready", "old": None, "new": True}],
}


class TextTests(SynchronousTestCase):
    def test_write(self) -> None:
        """A write says when, what, by whom, how, and which fields it changed."""
        self.assertEqual(
            str(RecordedWrite.of(RECORD)),
            "03:04:05.000006 MODIFIED deployments.apps shop/web at 7 by operator (kopf), patch status\n"
            "    $.status.ready: (none) → true",
        )

    def test_ids(self) -> None:
        """A write has uid, audit id and the fault that struck the request, which the text shows."""
        write = RecordedWrite.of({**RECORD, "uid": "u-1", "auditID": "id-1", "fault": "fault-3"})
        self.assertEqual((write.uid, write.audit_id, write.fault), ("u-1", "id-1", "fault-3"))
        self.assertIn(", patch status [fault fault-3]\n", str(write))

    def test_long(self) -> None:
        """Long values and many changes are cut."""
        changes = [{"path": f"$.{number}", "old": None, "new": "x" * 1000} for number in range(MOST_CHANGES + 2)]
        text = str(RecordedWrite.of({**RECORD, "changes": changes}))
        self.assertTrue(text.endswith("… and 2 more"))
        self.assertLess(max(map(len, text.splitlines())), 120)

    def test_difference(self) -> None:
        """A difference names its object."""
        self.assertEqual(str(ObjectDifference.of(RECORD)).splitlines()[0], "MODIFIED deployments.apps shop/web")

    def test_no_writes(self) -> None:
        """An empty list says so."""
        self.assertEqual(writes_text([]), "no writes")

    def test_object(self) -> None:
        """An object is abbreviated YAML without managed fields."""
        text = object_text({"metadata": {"name": "a", "managedFields": [1]}, "data": {str(n): "" for n in range(99)}})
        self.assertNotIn("managedFields", text)
        self.assertEqual(len(text.splitlines()), MOST_LINES + 1)
        self.assertTrue(text.endswith("more lines"))

    def test_report(self) -> None:
        """A report has the last writes, without Leases and Events."""
        writes = [RecordedWrite.of({**RECORD, "name": f"w-{number}"}) for number in range(30)]
        writes += [RecordedWrite.of({**RECORD, "resource": "leases"})] * 5
        text = report(writes)
        self.assertIn("shop/w-29 ", text)
        self.assertNotIn("shop/w-9 ", text)
        self.assertEqual(text.count("MODIFIED"), COUNT)

    def test_report_of_namespace(self) -> None:
        """Objects that the server creates in each namespace are left out; a tester's change of one is shown."""
        own = {"name": "default", "resource": "serviceaccounts", "group": ""}
        users = ("system:serviceaccount:kube-system:service-account-controller", "alice")
        text = report([RecordedWrite.of({**RECORD, **own, "user": user}) for user in users])
        self.assertEqual((text.count("serviceaccounts shop/default"), "by alice" in text), (1, True))

    def test_report_of_faults(self) -> None:
        """Faults that struck are named with their rules; the others are not."""
        rules = [{"id": each, "fault": "failing", "status": 503, "verb": ["get", "list"], "matched": 5,
                  "struck": count} for each, count in (("f1", 2), ("f2", 0))]  # fmt: skip
        text = report([], [AddedFault(str(rule["id"]), rule) for rule in rules])
        wanted = "faults that struck:\n    f1: 2 of 5 requests: fault=failing status=503 verb=get,list"
        self.assertEqual(text, f"no writes\n{wanted}")


class CountedTests(SynchronousTestCase):
    def names(self, user: str = "", ignore: tuple[str, ...] = ()) -> list[str]:
        """Return the users whose writes count."""
        users = (
            *("operator", "", "system:apiserver", "system:kube-controller-manager"),
            *("system:serviceaccount:kube-system:namespace-controller", "system:serviceaccount:shop:operator"),
        )
        writes = [RecordedWrite.of({**RECORD, "user": each}) for each in users]
        return [each.user for each in counted(writes, user, ignore)]

    def test_own(self) -> None:
        """The server's own writes do not count, unless a user is asked for."""
        self.assertEqual(self.names(), ["operator", "system:serviceaccount:shop:operator"])
        self.assertEqual(len(self.names(user="x")), 6)

    def test_ignored(self) -> None:
        """Resources are ignored by plural, with or without group."""
        for each in ("deployments", "deployments.apps"):
            self.assertEqual(self.names(ignore=(each,)), [])
        self.assertEqual(len(self.names(ignore=("deployments.example.com", "pods"))), 2)


class SelectedTests(SynchronousTestCase):
    def test_texts(self) -> None:
        """A selection is an object by name, or all that match."""
        named = Selected.of("deployments.apps/web", "shop", "", "")
        self.assertEqual(
            (named.resource, named.name, named.field_selector), ("deployments.apps", "web", "metadata.name=web")
        )
        self.assertEqual(str(named), "deployments.apps/web in namespace shop")
        some = Selected.of("pods", "", "app=web", "status.phase=Running")
        self.assertEqual(some.field_selector, "status.phase=Running")
        self.assertEqual(str(some), "pods with labels app=web with fields status.phase=Running")

    def test_wrong(self) -> None:
        """Other texts, and a name with selectors, are rejected."""
        for text, labels in (("", ""), ("/web", ""), ("pods/", ""), ("pods/web", "a=b")):
            self.assertRaises(ValueError, Selected.of, text, "", labels, "")
