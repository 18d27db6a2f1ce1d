"""Requests as kubectl sends them, one after the other (reference CLIENT-2, CLIENT-3, CLIENT-5)."""

from __future__ import annotations

from orchtw.testing.in_process_watch import InProcessWatch
from orchtw.wire.objects import Object
from tests.verbs.objects import config_map
from tests.verbs.served import DEFAULT, MERGE, ServedCase

STRATEGIC = {"content-type": "application/strategic-merge-patch+json"}
TABLES = {
    "accept": "application/json;as=Table;v=v1;g=meta.orch.io,application/json;as=Table;v=v1beta1;g=meta.orch.io,"
    "application/json"
}


class CommandTests(ServedCase):
    """A server with a few objects."""

    def watch(self, query: str, headers: dict[str, str] | None = None) -> InProcessWatch:
        """A watch of config maps, which ends with the test."""
        watch = self.run_async(self.server.watch(f"{DEFAULT}/configmaps?{query}", headers))
        self.addCleanup(watch.close)
        return watch

    def managers(self, obj: Object) -> set[str]:
        """The field managers of an object."""
        return {each["manager"] for each in obj["metadata"]["managedFields"]}

    def test_get(self) -> None:
        """Lists are Tables in chunks; `-w` goes on from the list's version, in Tables too (reference CLIENT-2)."""
        for name in "abc":
            self.done("POST", "configmaps", config_map(name))
        self.assertEqual(len(self.done("GET", "configmaps?limit=500", None, TABLES)["rows"]), 3)
        first = self.done("GET", "configmaps?limit=2", None, TABLES)
        token = first["metadata"]["continue"]
        second = self.done("GET", f"configmaps?limit=2&continue={token}", None, TABLES)
        names = [row["cells"][0] for table in (first, second) for row in table["rows"]]
        self.assertEqual((first["kind"], names), ("Table", ["a", "b", "c"]))
        version = second["metadata"]["resourceVersion"]
        watch = self.watch(f"resourceVersion={version}&watch=true", TABLES)
        self.done("POST", "configmaps", config_map("d"))
        event = self.run_async(watch.next())
        (row,) = event["object"]["rows"]
        self.assertEqual((event["type"], event["object"]["kind"], row["cells"][0]), ("ADDED", "Table", "d"))

    def test_writes(self) -> None:
        """Each command's manager owns what it writes; creates are strict, dry runs store nothing (CLIENT-3)."""
        create = "configmaps?fieldManager=kubectl-create&fieldValidation=Strict"
        self.assertEqual(self.code("POST", create, {**config_map(), "foo": 1}), 400)
        self.assertEqual(self.code("POST", f"{create}&dryRun=All", config_map()), 201)
        self.assertEqual(self.code("GET", "configmaps/x"), 404)
        found = self.done("POST", create, config_map())
        managers = {"kubectl-create"}
        self.assertEqual(self.managers(found), managers)
        for manager, patch, headers in (
            ("kubectl-edit", {"data": {"edited": "1"}}, STRATEGIC),
            ("kubectl-patch", {"data": {"patched": "1"}}, STRATEGIC),
            ("kubectl-label", {"metadata": {"labels": {"a": "b"}}}, MERGE),
            ("kubectl-annotate", {"metadata": {"annotations": {"a": "b"}}}, MERGE),
        ):
            path = f"configmaps/x?fieldManager={manager}"
            tried = self.done("PATCH", f"{path}&dryRun=All", patch, headers)
            self.assertEqual(self.managers(tried), managers | {manager})
            self.assertEqual(self.done("GET", "configmaps/x"), found)
            found = self.done("PATCH", path, patch, headers)
            managers.add(manager)
            self.assertEqual(self.managers(found), managers)
        replaced = {**found, "data": {**found["data"], "key": "new"}}
        found = self.done("PUT", "configmaps/x?fieldManager=kubectl-replace&fieldValidation=Strict", replaced)
        self.assertIn("kubectl-replace", self.managers(found))

    def test_delete(self) -> None:
        """After the DELETE an object is waited for by its name until it is gone (reference CLIENT-5)."""
        self.done("POST", "configmaps", config_map(finalizers=["example.com/wait"]))
        self.done("DELETE", "configmaps/x", {"propagationPolicy": "Background"})
        listed = self.done("GET", "configmaps?fieldSelector=metadata.name%3Dx")
        (live,) = listed["items"]
        self.assertIn("deletionTimestamp", live["metadata"])
        version = listed["metadata"]["resourceVersion"]
        watch = self.watch(f"fieldSelector=metadata.name%3Dx&resourceVersion={version}&watch=true")
        self.done("POST", "configmaps", config_map("other"))
        self.done("PATCH", "configmaps/x", {"metadata": {"finalizers": None}}, MERGE)
        kinds = []
        while "DELETED" not in kinds:
            event = self.run_async(watch.next())
            self.assertEqual(event["object"]["metadata"]["name"], "x")
            kinds.append(event["type"])
        self.assertEqual(self.code("GET", "configmaps/x"), 404)
