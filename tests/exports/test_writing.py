"""Writes of exported objects to another server: their order, their form and their pace."""
# covers: orchtw.exports.importing, orchtw.exports.replaying

from __future__ import annotations

from typing import Any

from twisted.internet.defer import Deferred
from twisted.internet.task import Clock
from twisted.trial.unittest import SynchronousTestCase

from orchtw.commands.record.pace import ReactorPace
from orchtw.errors import ConfigError
from orchtw.exports.client import MERGE_PATCH, Params, ServerAnswer
from orchtw.exports.importing import ESTABLISHED_S, import_objects, in_order
from orchtw.exports.replaying import PATIENCE_S, Replay
from orchtw.exports.writing import WITHHELD, ExportWriter, path_of
from orchtw.wire.objects import Object
from tests.exports.records import existing, record


class Server:
    """A `Connection` that keeps objects by path, and notes the requests."""

    def __init__(self) -> None:
        self.objects: dict[str, Object] = {}
        self.asked: list[tuple[str, str]] = []
        self.bodies: list[Object | None] = []
        self.refusals: dict[tuple[str, str], list[int]] = {}

    async def ask(
        self, method: str, path: str, params: Params = (), obj: Object | None = None, content: str = ""
    ) -> ServerAnswer:
        """Answer as a server does, or as `refusals` say."""
        self.asked.append((method, path))
        self.bodies.append(obj)
        if codes := self.refusals.get((method, path)):
            return ServerAnswer(codes.pop(0), {"message": "refused"})
        if method == "POST":
            assert obj is not None
            path = f"{path}/{obj['metadata']['name']}"
            if path in self.objects:
                return ServerAnswer(409, {"message": "exists"})
            made = {"uid": f"new-{len(self.objects)}", "resourceVersion": "9"}
            self.objects[path] = {**obj, "metadata": {**obj["metadata"], **made}}
            return ServerAnswer(201, self.objects[path])
        if path not in self.objects:
            return ServerAnswer(404, {"message": "not found"})
        if method == "PATCH":
            assert content == MERGE_PATCH
        if method == "DELETE":
            return ServerAnswer(200, self.objects.pop(path))
        return ServerAnswer(200, self.objects[path])


class WritingCase(SynchronousTestCase):
    """A writer to a server that is not there."""

    def setUp(self) -> None:
        self.server = Server()
        connection: Any = self.server
        self.writer = ExportWriter(connection)
        self.clock = Clock()
        self.pace = ReactorPace(self.clock)
        self.complaints: list[str] = []

    def imported(self, *lines: Object) -> str:
        """The result of an import."""
        done = Deferred.fromCoroutine(import_objects(lines, self.writer, self.pace, self.complaints.append))
        return str(self.successResultOf(done))


class OrderTests(SynchronousTestCase):
    """The order in which objects are created."""

    def names(self, *lines: Object) -> list[str]:
        """The names in that order."""
        return [each["name"] for each in in_order(lines)]

    def test_resources(self) -> None:
        """Namespaces and definitions come first, webhooks last, and pods after what they use."""
        plurals = ("validatingwebhookconfigurations", "pods", "things", "configmaps", "serviceaccounts",
                   "customresourcedefinitions", "namespaces", "apiservices")  # fmt: skip
        self.assertEqual(self.names(*(existing(plural, plural) for plural in plurals)), [
            "namespaces", "customresourcedefinitions", "serviceaccounts", "configmaps", "things", "pods",
            "apiservices", "validatingwebhookconfigurations",
        ])  # fmt: skip

    def test_owners(self) -> None:
        """Owners come before what they own, whatever their resources are."""
        lines = [existing("configmaps", "a", owners=("b",)), existing("things", "b", owners=("c",))]
        lines.append(existing("pods", "c"))
        self.assertEqual(self.names(*lines), ["c", "b", "a"])

    def test_strange_owners(self) -> None:
        """Owners that are not there, oneself, and circles hold nothing up."""
        lines = [existing("pods", "a", owners=("x", "a")), existing("pods", "b", owners=("c",)),
                 existing("pods", "c", owners=("b",))]  # fmt: skip
        self.assertEqual(self.names(*lines), ["a", "b", "c"])


class ImportTests(WritingCase):
    """Objects that are created."""

    def test_paths(self) -> None:
        """Objects are written to the path of their resource, with names that cannot lead elsewhere."""
        line = existing("things", "t", group="example.com", version="v2", namespace="n/../m")
        self.assertEqual(path_of(line, "t", "status"), "/apis/example.com/v2/namespaces/n%2F..%2Fm/things/t/status")
        self.assertEqual(path_of(existing("nodes", "x")), "/api/v1/nodes")

    def test_fields(self) -> None:
        """Fields that a server sets are left out; owners are those that the server has here."""
        owner = existing("things", "owner", uid="old")
        line = existing("configmaps", "a", owners=("old", "gone"))
        line["object"]["metadata"] |= {"labels": {"a": "b"}, "generation": 3, "managedFields": [{}], "selfLink": "x"}
        self.assertEqual(self.imported(line, owner), "2 objects created, 0 already present, 0 refused")
        metadata = self.server.objects["/api/v1/configmaps/a"]["metadata"]
        owned = [{"kind": "K", "name": "old", "uid": "new-0"}]
        self.assertEqual(metadata, {"name": "a", "labels": {"a": "b"}, "ownerReferences": owned,
                                    "uid": "new-1", "resourceVersion": "9"})  # fmt: skip

    def test_there_already(self) -> None:
        """An object that is there stays as it is, and owns what it owned."""
        self.server.objects["/api/v1/things/owner"] = {"metadata": {"name": "owner", "uid": "here"}}
        owner, line = existing("things", "owner", uid="old"), existing("configmaps", "a", owners=("old",))
        self.assertEqual(self.imported(owner, line), "1 objects created, 1 already present, 0 refused")
        owners = self.server.objects["/api/v1/configmaps/a"]["metadata"]["ownerReferences"]
        self.assertEqual([each["uid"] for each in owners], ["here"])

    def test_secrets(self) -> None:
        """A Secret without its data is left out with a complaint, unless it is there already."""
        line = existing("secrets", "s")
        line["object"] |= {"kind": "Secret", "data": {"k": "<redacted>", "l": "AAEC"}}
        self.assertEqual(self.imported(line), "0 objects created, 0 already present, 0 refused, 1 left out")
        self.assertEqual(self.server.objects, {})
        self.assertEqual(self.complaints, [f"kind s: {WITHHELD}"])
        self.server.objects["/api/v1/secrets/s"] = {"metadata": {"name": "s", "uid": "here"}}
        self.assertEqual(self.imported(line), "0 objects created, 1 already present, 0 refused")
        self.assertEqual(self.writer.uids, {"s": "here"})

    def test_other_secrets(self) -> None:
        """A Secret without data is created; annotations that were redacted are left out."""
        line = existing("secrets", "s")
        line["object"] |= {"kind": "Secret", "type": "t"}
        line["object"]["metadata"]["annotations"] = {"a": "<redacted>", "b": "c"}
        self.imported(line)
        self.assertEqual(self.server.objects["/api/v1/secrets/s"]["metadata"]["annotations"], {"b": "c"})

    def test_status(self) -> None:
        """The status is written behind the object, where the kind has such a sub-resource."""
        pod, thing, empty = (existing(plural, plural) for plural in ("pods", "things", "nodes"))
        self.server.objects["/api/v1/pods/pods/status"] = {}
        pod["object"]["status"] = thing["object"]["status"] = {"a": "b"}
        self.assertEqual(self.imported(pod, thing, empty), "3 objects created, 0 already present, 0 refused")
        patches = [path for method, path in self.server.asked if method == "PATCH"]
        self.assertEqual(sorted(patches), ["/api/v1/pods/pods/status", "/api/v1/things/things/status"])
        self.assertEqual(self.complaints, [])

    def test_terminating(self) -> None:
        """An object that was being deleted is deleted again, and waits for its finalizers."""
        line = existing("things", "t")
        line["object"]["metadata"] |= {"deletionTimestamp": "2024-01-01T00:00:00Z", "finalizers": ["a/b"]}
        self.imported(line)
        self.assertEqual(self.server.asked[-1], ("DELETE", "/api/v1/things/t"))

    def test_refused(self) -> None:
        """Each refusal is told with the object's name, and the others go on."""
        self.server.refusals["POST", "/api/v1/pods"] = [422]
        result = self.imported(existing("pods", "p", namespace=""), existing("nodes", "n"))
        self.assertEqual(result, "1 objects created, 0 already present, 1 refused")
        self.assertEqual(self.complaints, ["kind p: refused"])

    def test_definitions(self) -> None:
        """Objects wait until a definition is served, for a limited time."""
        plural, path = "customresourcedefinitions", "/api/v1/customresourcedefinitions/d"
        lines = [existing(plural, "d"), existing("things", "t")]
        done = Deferred.fromCoroutine(import_objects(lines, self.writer, self.pace, self.complaints.append))
        self.clock.advance(1)
        self.assertNoResult(done)
        self.server.objects[path]["status"] = {"conditions": [{"type": "Established", "status": "True"}]}
        self.clock.advance(1)
        self.assertEqual(self.successResultOf(done).created, 2)
        del self.server.objects[path]
        done = Deferred.fromCoroutine(import_objects(lines[:1], self.writer, self.pace, self.complaints.append))
        self.clock.pump([0.1] * int(ESTABLISHED_S * 10 + 5))
        self.successResultOf(done)
        self.assertIn("its resource is not served after 20 s", self.complaints[0])


class ReplayTests(WritingCase):
    """Writes that are repeated."""

    def begin(self, *records: Object, speed: float = 1.0, users: tuple[str, ...] = ()) -> Deferred[Any]:
        """Begin the replay of records."""
        self.shown: list[int] = []
        replay = Replay(
            writer=self.writer, pace=self.pace, speed=speed, users=users,
            show=lambda record: self.shown.append(record["revision"]), complain=self.complaints.append,
        )  # fmt: skip
        return Deferred.fromCoroutine(replay.run(records))

    def write(self, kind: str, at: int = 0, **members: Any) -> Object:
        """A record `at` seconds after noon, by a request."""
        obj = {"metadata": {"name": "x", "uid": "old"}, "data": {"at": at}}
        side = {"previous": obj, "object": None} if kind == "DELETED" else {"object": obj, "previous": None}
        time = f"2024-05-01T12:00:{at:02}.000000Z"
        verb = {"ADDED": "create", "MODIFIED": "update", "DELETED": "delete"}[kind]
        return record(kind, **{"time": time, "verb": verb, "revision": at, **side, **members})

    def test_pace(self) -> None:
        """Writes keep their order and their distances, divided by the speed."""
        done = self.begin(self.write("ADDED", 0), self.write("MODIFIED", 10), self.write("DELETED", 30), speed=10)
        shown = []
        for _ in range(4):
            shown.append(list(self.shown))
            self.clock.advance(1)
        self.assertEqual(shown, [[0], [0, 10], [0, 10], [0, 10, 30]])
        self.assertEqual(str(self.successResultOf(done)), "3 writes replayed, 0 skipped, 0 refused")

    def test_requests(self) -> None:
        """An update takes the revision that is there; managers and sub-resources are those of the record."""
        writes = [self.write("MODIFIED", subresource=each) for each in ("status", "scale")]
        self.successResultOf(self.begin(self.write("ADDED"), *writes))
        base = "/api/v1/namespaces/a/configmaps"
        self.assertEqual(self.server.asked, [
            ("POST", base), ("GET", f"{base}/x"), ("PUT", f"{base}/x/status"),
            ("GET", f"{base}/x"), ("PUT", f"{base}/x"),
        ])  # fmt: skip
        self.assertEqual((self.server.bodies[2] or {})["metadata"], {"name": "x", "resourceVersion": "9"})

    def test_left_out(self) -> None:
        """Writes of the server's own controllers are left to it, and those of other users if some are named."""
        writes = [self.write("ADDED", auditID=""), self.write("ADDED", user="joe"), self.write("ADDED", 1)]
        done = self.begin(*writes, users=("jane",))
        self.assertEqual(str(self.successResultOf(done)), "1 writes replayed, 2 skipped, 0 refused")
        self.assertEqual(self.shown, [1])

    def test_secrets(self) -> None:
        """Writes of a Secret's data are left out with a complaint; its deletion is repeated."""
        secret = {"kind": "Secret", "metadata": {"name": "x"}, "data": {"a": "<redacted>"}}
        writes = [self.write(kind, object=secret) for kind in ("ADDED", "MODIFIED")]
        done = self.begin(*writes, self.write("DELETED", previous=secret))
        self.assertEqual(str(self.successResultOf(done)), "1 writes replayed, 2 skipped, 0 refused")
        self.assertEqual([method for method, _ in self.server.asked], ["DELETE"])
        self.assertEqual(self.complaints, [f"revision 0: configmap a/x: {WITHHELD}"] * 2)

    def test_differences(self) -> None:
        """Objects that are there already are replaced, missing ones are created, and deleted ones may be gone."""
        done = self.begin(self.write("MODIFIED"), self.write("ADDED"), self.write("DELETED"), self.write("DELETED"))
        self.assertEqual(str(self.successResultOf(done)), "4 writes replayed, 0 skipped, 0 refused")
        methods = [method for method, _ in self.server.asked]
        self.assertEqual(methods, ["GET", "POST", "POST", "GET", "GET", "PUT", "DELETE", "DELETE"])

    def test_finalizers(self) -> None:
        """A deletion that waited is a deletion; the write of the last finalizer ends the object."""
        deletions = [self.write("MODIFIED", verb="delete"), self.write("DELETED", verb="patch")]
        self.successResultOf(self.begin(self.write("ADDED"), deletions[0], self.write("ADDED"), deletions[1]))
        self.assertEqual([method for method, _ in self.server.asked], ["POST", "DELETE", "POST", "PATCH", "DELETE"])

    def test_too_early(self) -> None:
        """A creation that the server is not ready for is tried again, for a limited time."""
        path = "/api/v1/namespaces/a/configmaps"
        self.server.refusals["POST", path] = [403, 404]
        done = self.begin(self.write("ADDED"))
        self.clock.pump([0.1] * 5)
        self.assertEqual(self.successResultOf(done).written, 1)
        self.server.refusals["POST", path] = [403] * 1000
        self.server.objects.clear()
        done = self.begin(self.write("ADDED"))
        self.clock.pump([0.1] * int(PATIENCE_S * 10 + 5))
        self.assertEqual(self.successResultOf(done).failed, 1)
        self.assertEqual(self.complaints, ["revision 0: configmap a/x: refused"])

    def test_bad_time(self) -> None:
        """A record without a readable time ends the replay with one line."""
        self.failureResultOf(self.begin({**self.write("ADDED"), "time": "noon"}), ConfigError)
