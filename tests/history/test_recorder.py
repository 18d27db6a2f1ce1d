"""Recorded writes: their origin, and what they changed."""
# covers: orchtw.history.origin, orchtw.history.rendering, orchtw.history.resource

from __future__ import annotations

from twisted.trial.unittest import SynchronousTestCase

from orchtw.errors import TooManyRequests
from orchtw.history.origin import MOST_CHARACTERS, WriteOrigin, origin_of
from orchtw.history.query import Filters, RecordQuery, Span
from orchtw.history.recorder import MOST_READERS, Readers
from orchtw.history.redaction import REDACTED
from orchtw.history.rendering import last_manager, record_line
from orchtw.registry.write import Write
from orchtw.request import Peer, Request, UserInfo
from tests.history.case import MAPS, SECRETS, RecordingCase, lines_of, turn
from tests.history.records import TARGETS, record, value_of

EVERYTHING = RecordQuery(filters=Filters(), span=Span())
DEFINITION = {
    "metadata": {"name": "things.example.com"},
    "spec": {
        "group": "example.com",
        "names": {"plural": "things", "kind": "Thing"},
        "scope": "Namespaced",
        "versions": [{
            "name": "v1", "served": True, "storage": True, "subresources": {"status": {}},
            "schema": {"openAPIV3Schema": {"type": "object", "properties": {
                "spec": {"type": "object", "properties": {
                    "parts": {
                        "type": "array", "x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": ["id"],
                        "items": {"type": "object", "required": ["id"], "properties": {
                            "id": {"type": "string"}, "size": {"type": "integer"}}}}}},
                "status": {"type": "object", "x-kubernetes-preserve-unknown-fields": True}}}},
        }],
    },
}  # fmt: skip


class OriginTests(RecordingCase):
    """Records of a server's writes."""

    async def test_request(self) -> None:
        """A record has the request's user, user agent, audit id, verb and field manager, and the store's revision."""
        answer = await self.asked("POST", MAPS, {"metadata": {"name": "a"}, "data": {"x": "1"}}, user_agent="tool/1")
        (found,) = await self.records(name="a")
        self.assertRegex(found.pop("time"), r"^20\d\d-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{6}Z$")
        meta = answer.json["metadata"]
        self.assertEqual(found, {
            "revision": int(meta["resourceVersion"]), "type": "ADDED", "group": "", "version": "v1",
            "resource": "configmaps", "kind": "ConfigMap", "namespace": "default", "name": "a", "uid": meta["uid"],
            "user": "admin", "userAgent": "tool/1", "manager": "tool", "auditID": answer.headers["audit-id"],
            "verb": "create", "subresource": "",
            "changes": [{"op": "add", "path": "$.data", "old": None, "new": {"x": "1"}}],
        })  # fmt: skip

    async def test_verbs(self) -> None:
        """Each verb that writes is named, with its sub-resource; a manager may be given."""
        await self.created("a", data={"x": "1"})
        await self.put("a", data={"x": "2"})
        merge = {"content_type": "application/merge-patch+json"}
        await self.asked("PATCH", f"{MAPS}/a?fieldManager=me", {"data": {"x": "3"}}, **merge)
        await self.asked("DELETE", f"{MAPS}/a")
        await self.created("n", "/api/v1/namespaces")
        await self.asked("PATCH", "/api/v1/namespaces/n/status", {"status": {"conditions": []}}, **merge)
        await self.created("b", data={})
        await self.asked("DELETE", MAPS)
        records = await self.records(resource="configmaps")
        found = [(each["verb"], each["type"], each["subresource"]) for each in records]
        self.assertEqual(found[-6:], [
            ("create", "ADDED", ""), ("update", "MODIFIED", ""), ("patch", "MODIFIED", ""), ("delete", "DELETED", ""),
            ("create", "ADDED", ""), ("deletecollection", "DELETED", ""),
        ])  # fmt: skip
        managers = [each["manager"] for each in await self.records(name="a")]
        self.assertEqual(managers, ["unknown", "unknown", "me", "unknown"])
        self.assertEqual([each["name"] for each in await self.records(manager="me")], ["a"])

    async def test_subresource(self) -> None:
        """A write of a status names the sub-resource."""
        pod = {"metadata": {"name": "p"}, "spec": {"containers": [{"name": "c", "image": "i"}]}}
        await self.asked("POST", "/api/v1/namespaces/default/serviceaccounts", {"metadata": {"name": "default"}})
        await self.asked("POST", "/api/v1/namespaces/default/pods", pod)
        merge = {"content_type": "application/merge-patch+json"}
        await self.asked("PATCH", "/api/v1/namespaces/default/pods/p/status", {"status": {"message": "m"}}, **merge)
        found = (await self.records(name="p"))[-1]
        self.assertEqual((found["subresource"], found["verb"]), ("status", "patch"))
        self.assertEqual([each["path"] for each in found["changes"]], ["$.status.message"])

    async def test_nothing_written(self) -> None:
        """Dry runs, refused writes and updates that change nothing are not recorded."""
        await self.created("a", data={"x": "1"})
        before = self.recorder.head
        await self.asked("POST", f"{MAPS}?dryRun=All", {"metadata": {"name": "b"}})
        await self.put("a", data={"x": "1"})
        self.assertEqual((await self.server.request("POST", MAPS, {"metadata": {"name": "a"}})).code, 409)
        self.assertEqual(await self.records(since=before), [])

    async def test_own_writes(self) -> None:
        """The server's own writes at its start are recorded with its user."""
        users = {each["user"] for each in await self.records(resource="namespaces")}
        self.assertEqual(users, {"system:apiserver"})

    async def test_secrets(self) -> None:
        """Data of Secrets are redacted, in the annotation that repeats them too; the names of keys are not."""
        applied = '{"stringData":{"k":"geheim"}}'
        annotations = {"kubectl.kubernetes.io/last-applied-configuration": applied, "a": "b"}
        secret = {"metadata": {"name": "s", "annotations": annotations}, "stringData": {"k": "geheim"}}
        await self.asked("POST", SECRETS, secret)
        secret["stringData"]["k"] = "geheim2"  # type: ignore[index]
        annotations["kubectl.kubernetes.io/last-applied-configuration"] = applied.replace("geheim", "geheim2")
        await self.asked("PUT", f"{SECRETS}/s", secret)
        await self.asked("DELETE", f"{SECRETS}/s")
        created, updated, deleted = await self.records(resource="secrets", objects="1")
        hidden = {"kubectl.kubernetes.io/last-applied-configuration": REDACTED, "a": "b"}
        self.assertEqual([each["new"] for each in created["changes"][:2]], [hidden, {"k": REDACTED}])
        self.assertEqual([(each["path"], each["old"], each["new"]) for each in updated["changes"]], [
            ('$.metadata.annotations["kubectl.kubernetes.io/last-applied-configuration"]', REDACTED, REDACTED),
            ("$.data.k", REDACTED, REDACTED),
        ])  # fmt: skip
        self.assertEqual(deleted["previous"]["data"], {"k": REDACTED})
        for path in ("?objects=1", f"/at?resource=secrets&revision={updated['revision']}",
                     f"/at?path={SECRETS}&revision={updated['revision']}", f"/diff?from={created['revision']}",
                     f"/at?path={SECRETS}/s&revision={updated['revision']}"):  # fmt: skip
            body = (await self.asked("GET", f"/debug/history{path}")).body
            self.assertIn(b"<redacted>", body)
            for text in (b"geheim", b"Z2VoZWlt"):
                self.assertNotIn(text, body)

    async def test_objects(self) -> None:
        """With `objects` a record has the whole object before and after; with `generation` that changes too."""
        first = await self.created("a", data={"x": "1"})
        second = await self.put("a", data={"x": "2"})
        await self.asked("DELETE", f"{MAPS}/a")
        found = [(each["previous"], each["object"]) for each in await self.records(name="a", objects="true")]
        versions = [
            [None if obj is None else (obj["kind"], int(obj["metadata"]["resourceVersion"])) for obj in pair]
            for pair in found
        ]
        one, two = ("ConfigMap", first), ("ConfigMap", second)
        self.assertEqual(versions, [[None, one], [one, two], [two, None]])


class DefinitionTests(RecordingCase):
    """Records of custom objects, whose definitions come and go."""

    settings = {"controllers": ("-*", "garbagecollector")}

    async def test_custom_objects(self) -> None:
        """Lists of custom objects are compared by their keys, also once the definition is gone."""
        definitions = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
        await self.asked("POST", definitions, DEFINITION)
        things = "/apis/example.com/v1/namespaces/default/things"
        thing = {"apiVersion": "example.com/v1", "kind": "Thing", "metadata": {"name": "t"}}
        while (await self.server.request("GET", things)).code != 200:
            await turn()
        answer = await self.asked("POST", things, {**thing, "spec": {"parts": [{"id": "a", "size": 1}, {"id": "b"}]}})
        meta = {"metadata": {"name": "t", "resourceVersion": answer.json["metadata"]["resourceVersion"]}}
        changed = {**thing, **meta, "spec": {"parts": [{"id": "a", "size": 2}, {"id": "c"}]}}
        revision = (await self.asked("PUT", f"{things}/t", changed)).json["metadata"]["resourceVersion"]
        await self.asked("DELETE", f"{definitions}/things.example.com")
        while (await self.server.request("GET", things)).code != 404:
            await turn()
        records = await self.records(resource="things.example.com")
        self.assertEqual([each["type"] for each in records], ["ADDED", "MODIFIED", "DELETED"])
        self.assertEqual([(each["path"], each["op"]) for each in records[1]["changes"]], [
            ('$.spec.parts[id="a"].size', "replace"), ('$.spec.parts[id="b"]', "remove"),
            ('$.spec.parts[id="c"]', "add"),
        ])  # fmt: skip
        (state,) = await self.lines("/at", revision=revision, group="example.com")
        self.assertEqual((state["kind"], state["object"]["spec"]), ("Thing", changed["spec"]))


class ResourceTests(RecordingCase):
    """Resources by the keys of their objects."""

    async def test_removed_resources(self) -> None:
        """Resources that are gone are forgotten, but for what records hold of them."""
        known = self.recorder.resources
        self.assertIsNone(known.of("/registry/example.com/things/a/b"))
        self.assertIsNone(known.of("/registry/ranges/serviceips"))
        self.assertIsNone(known.of(""))
        self.assertEqual(known.of("/registry/apps/deployments/a/b").qualified, "deployments.apps")
        self.assertEqual(known.of("/registry/namespaces/a").names("/registry/namespaces/a"), ("", "a"))


class UnitTests(SynchronousTestCase):
    """Parts of records without a server."""

    def write(self, request: Request | None, manager: str = "") -> Write:
        """A write by a request."""
        target, user = TARGETS.stored_target("", "v1", "configmaps"), UserInfo(name="jane")
        return Write(target=target, namespace="a", name="x", user=user, request=request, manager=manager)

    def test_long_texts(self) -> None:
        """Names and user agents that clients choose are truncated."""
        request = Request(method="PUT", path="/", headers={"user-agent": "a" * 10_000}, peer=Peer(address="", port=0))
        origin = origin_of(self.write(request, "m" * 1000))
        self.assertEqual((len(origin.user_agent), len(origin.manager)), (MOST_CHARACTERS, MOST_CHARACTERS))

    def test_fault(self) -> None:
        """A record names the fault that struck the write's request, even if it did so after the write."""
        request = Request(method="PUT", path="/", peer=Peer(address="", port=0))
        request.annotations["a/rule"] = request.annotations["faults.orch.io/other"] = "x"
        origin = origin_of(self.write(request))
        self.assertEqual(origin.fault, "")
        request.annotations["faults.orch.io/rule"] = "rule-7"
        self.assertEqual(origin.fault, "rule-7")
        (line,) = lines_of(record_line(record(5, value=value_of("x"), origin=origin), EVERYTHING))
        self.assertEqual(line["fault"], "rule-7")
        (line,) = lines_of(record_line(record(5, value=value_of("x"), origin=WriteOrigin("a")), EVERYTHING))
        self.assertNotIn("fault", line)

    def test_unreadable(self) -> None:
        """A record whose value cannot be read says why, and has no changes."""
        for made, why in (
            (record(5, value=b"x"), "cannot be decoded"),
            (record(5, value=value_of("x"), previous=b""), "damaged"),
            (record(5, value=value_of("x"), unreadable="no key"), "no key"),
        ):
            (line,) = lines_of(record_line(made, EVERYTHING))
            self.assertIn(why, line["unreadable"])
            self.assertEqual((line["changes"], line["name"], line["user"]), ([], "x", "jane"))

    def test_manager(self) -> None:
        """Without a manager of the request, it is that of the newest managed fields."""
        times = {"a": "2024-01-01T00:00:00Z", "b": "2024-01-02T00:00:00Z"}
        entries = [*({"manager": name, "time": time} for name, time in times.items()), {"manager": "c"}]
        self.assertEqual(last_manager({"metadata": {"managedFields": entries}}), "b")
        self.assertEqual(last_manager({}), "")

    def test_surrogates(self) -> None:
        """Texts that are not Unicode do not keep a record from being shown."""
        (line,) = lines_of(record_line(record(5, value=value_of("x"), origin=WriteOrigin("\udc80")), EVERYTHING))
        self.assertEqual(line["user"], "\ufffd")

    def test_readers(self) -> None:
        """Readers are limited in number."""
        readers = Readers(MOST_READERS)
        leave = [readers.enter() for _ in range(MOST_READERS)]
        self.assertRaises(TooManyRequests, readers.enter)
        leave.pop()()
        readers.enter()
