"""Control of a real server: state, record, faults and assertions that wait."""

# covers: orchtw.testing.control.eventually, orchtw.testing.control.quiet, orchtw.testing.control.http
# covers: orchtw.testing.api_server, orchtw.testing.control.service_map

from __future__ import annotations

import threading
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import kubernetes
from twisted.trial.unittest import SynchronousTestCase

from orchtw.config.service_map import FILE_BYTES, read_mappings
from orchtw.testing.api_server import ApiServer
from orchtw.testing.control import service_map
from orchtw.testing.control.answers import ApiError
from orchtw.testing.control.failures import ConditionNotMet, NotQuiet
from orchtw.testing.control.resources import UnknownResource
from orchtw.testing.control.selectors import absent
from orchtw.testing.control.service_map import ServiceMapFile
from tests.testing.api_servers import CONFIG_MAPS, config_map, shared

MERGE = "application/merge-patch+json"
DEFINITION = {
    "metadata": {"name": "things.example.com"},
    "spec": {
        "group": "example.com",
        "scope": "Namespaced",
        "names": {"plural": "things", "kind": "Thing"},
        "versions": [
            {
                "name": "v1",
                "served": True,
                "storage": True,
                "schema": {"openAPIV3Schema": {"type": "object", "x-kubernetes-preserve-unknown-fields": True}},
            }
        ],
    },
}
DEFINITIONS = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
THINGS = "/apis/example.com/v1/namespaces/default/things"


class ControlCase(SynchronousTestCase):
    def setUp(self) -> None:
        self.server = shared()

    def create(self, path: str, obj: Any) -> Any:
        """Create an object; returns it as stored."""
        return self.server.request("POST", path, obj).checked(path).json

    def patch_data(self, name: str, **data: str) -> None:
        """Change the data of a ConfigMap."""
        self.server.request("PATCH", f"{CONFIG_MAPS}/{name}", {"data": data}, MERGE).checked(name)

    def meanwhile(self, work: Callable[[], Any]) -> None:
        """Do something in a thread, which the end of the test waits for."""
        thread = threading.Thread(target=work)
        thread.start()
        self.addCleanup(thread.join)


class StateTests(ControlCase):
    def test_reset(self) -> None:
        """The state after the start comes back, faults and mappings are gone, and revisions go on."""
        before = self.server.revision()
        self.create(CONFIG_MAPS, config_map("a"))
        self.server.faults.add(status=503, resource="configmaps")
        self.server.map_service("default/hook:443", "127.0.0.1:1")
        after = self.server.reset()
        self.assertIsNone(self.server.reader().get("configmaps/a"))
        self.assertEqual(self.server.faults.list(), [])
        self.assertGreater(after, before + 1)
        self.assertEqual(self.server.reset_revision, after)

    def test_snapshot(self) -> None:
        """A chosen state comes back as often as wanted, until it is released."""
        self.create(CONFIG_MAPS, config_map("a", x="1"))
        state = self.server.snapshot()
        for value in ("2", "3"):
            self.patch_data("a", x=value)
            self.server.restore(state)
            self.assertEqual((self.server.reader().get("configmaps/a") or {})["data"], {"x": "1"})
        self.server.release(state)
        error = self.assertRaises(ApiError, self.server.restore, state)
        self.assertEqual(error.code, 404)

    def test_ids(self) -> None:
        """A state may be named by its id."""
        state = self.server.snapshot()
        self.create(CONFIG_MAPS, config_map("a"))
        self.server.restore(state.id)
        self.assertIsNone(self.server.reader().get("configmaps/a"))
        self.server.release(state.id)
        self.assertEqual(self.assertRaises(ApiError, self.server.release, state).code, 404)

    def test_many_snapshots(self) -> None:
        """Snapshots that tests leave are released by resets, so that their limit is not met."""
        before = self.kept()
        for _ in range(200):
            self.server.snapshot()
            self.server.reset()
        self.assertEqual(self.kept(), before)

    def test_released_by_other_means(self) -> None:
        """A snapshot that a request has released does not hold up a reset."""
        state = self.server.snapshot()
        self.server.request("POST", "/debug/state", {"action": "release", "snapshot": state.id}).checked("release")
        self.server.reset()

    def test_snapshot_of_baseline(self) -> None:
        """Snapshots taken before the baseline outlive resets; later ones do not."""
        with ApiServer() as server:
            early = server.snapshot()
            server.set_baseline()
            late = server.snapshot()
            server.reset()
            server.restore(early)
            self.assertEqual(self.assertRaises(ApiError, server.restore, late).code, 404)

    def kept(self) -> list[str]:
        """Return the names of all snapshots that the server has."""
        return [each["snapshot"] for each in self.server.request("GET", "/debug/state").json]

    def test_baseline(self) -> None:
        """A baseline is what resets bring back from then on."""
        with ApiServer() as server:
            server.request("POST", CONFIG_MAPS, config_map("base"))
            server.map_service("default/hook:443", "127.0.0.1:1")
            server.set_baseline()
            server.request("POST", CONFIG_MAPS, config_map("more"))
            server.map_service("default/hook:444", "127.0.0.1:2")
            server.reset()
            names = [each["metadata"]["name"] for each in server.reader().list("configmaps", "default")]
            self.assertEqual(names, ["base", "kube-root-ca.crt"])

    def test_many_resets(self) -> None:
        """A definition comes and goes with resets, and its resource with it."""
        for _ in range(3):
            self.create(DEFINITIONS, DEFINITION)
            self.server.eventually(
                "crd/things.example.com",
                lambda found: any(each["type"] == "Established" for each in found["status"]["conditions"]),
            )
            self.create(THINGS, {"apiVersion": "example.com/v1", "kind": "Thing", "metadata": {"name": "a"}})
            self.server.reset()
            self.assertEqual(self.server.request("GET", THINGS).code, 404)


class RecordTests(ControlCase):
    def test_writes(self) -> None:
        """Writes since the reset are listed with user and changed fields, the server's own left out."""
        self.create(CONFIG_MAPS, config_map("a", x="1"))
        self.patch_data("a", x="2")
        created, changed = self.server.writes()
        self.assertEqual((created.type, created.verb, changed.verb), ("ADDED", "create", "patch"))
        (field,) = changed.changes
        self.assertEqual((field.path, field.old, field.new), ("$.data.x", "1", "2"))
        self.assertIn('$.data.x: "1" → "2"', str(changed))
        self.assertEqual(self.server.writes(since=changed.revision), [])
        self.assertEqual(self.server.writes("somebody"), [])
        self.assertEqual(self.server.writes("orch-testing", since=created.revision), [changed])

    def test_ignored_writes(self) -> None:
        """Resources are ignored by their whole names, one or several."""
        self.create(CONFIG_MAPS, config_map("a"))
        for ignore in ("configmaps", ["leases", "configmaps"]):
            self.assertEqual(self.server.writes(ignore=ignore), [])
        self.assertEqual(len(self.server.writes(ignore="configmaps.example.com")), 1)
        self.server.quiet(0.01, ignore="configmaps")

    def test_revision_as_user(self) -> None:
        """A revision in place of a user is a mistake that is told at once."""
        error = self.assertRaises(TypeError, self.server.writes, 5)
        self.assertIn("since=", str(error))

    def test_revision(self) -> None:
        """The latest revision is that of the last write, as soon as that is answered."""
        for number in range(20):
            made = self.create(CONFIG_MAPS, config_map(f"a-{number}"))
            self.assertGreaterEqual(self.server.revision(), int(made["metadata"]["resourceVersion"]))

    def test_history(self) -> None:
        """The record is filtered and bounded."""
        self.create(CONFIG_MAPS, config_map("a"))
        mark = self.server.revision()
        self.create(CONFIG_MAPS, config_map("b"))
        self.assertEqual([each.name for each in self.server.history(since=mark, resource="configmaps")], ["b"])
        self.assertEqual([each.name for each in self.server.history(limit=1, name="a")], ["a"])
        error = self.assertRaises(ApiError, self.server.history, since="yesterday")
        self.assertEqual(error.code, 400)

    def test_at(self) -> None:
        """Objects are read as of a revision: one, a list, and what was not there."""
        self.create(CONFIG_MAPS, config_map("a", x="1"))
        mark = self.server.revision()
        self.patch_data("a", x="2")
        self.create(CONFIG_MAPS, config_map("b"))
        past = self.server.at(mark)
        self.assertEqual((past.get("configmaps/a") or {})["data"], {"x": "1"})
        self.assertIsNone(past.get("configmaps/b"))
        names = [each["metadata"]["name"] for each in past.list("configmaps", "default")]
        self.assertEqual(names, ["a", "kube-root-ca.crt"])

    def test_diff(self) -> None:
        """The difference between two revisions has each object once."""
        self.create(CONFIG_MAPS, config_map("a", x="1"))
        mark = self.server.revision()
        self.patch_data("a", x="2")
        self.patch_data("a", x="3")
        (found,) = self.server.diff(mark, resource="configmaps")
        self.assertEqual((found.type, found.name, str(found.changes[0])), ("MODIFIED", "a", '$.data.x: "1" → "3"'))


class FaultTests(ControlCase):
    def test_rules(self) -> None:
        """Rules are added, listed, removed and cleared; wrong ones are refused with a reason."""
        rule = self.server.faults.add(status=429, verb=("get", "list"), resource="pods", retry_after_s=2, times=1)
        self.assertEqual((rule.rule["retryAfterSeconds"], rule.struck), (2, 0))
        self.server.faults.chaos(7, namespace="default")
        self.assertGreater(len(self.server.faults.list()), 3)
        self.server.faults.remove(rule)
        self.assertNotIn(rule.id, [each.id for each in self.server.faults.list()])
        self.server.faults.clear()
        self.assertEqual(self.server.faults.list(), [])
        error = self.assertRaises(ApiError, self.server.faults.add, status=418)
        self.assertEqual((error.code, error.reason), (400, "BadRequest"))

    def test_live_count(self) -> None:
        """The count of a rule is that of now, from the moment at which it was added."""
        rule = self.server.faults.add(status=503, user="alice", resource="cm", labels={"a": "b", "c": "d"})
        self.assertEqual((rule.struck, rule.rule["labels"]), (0, "a=b,c=d"))
        client = kubernetes.config.new_client_from_config(str(self.server.user("alice", ["system:masters"])))
        with client:
            core = kubernetes.client.CoreV1Api(client)
            body = {"metadata": {"name": "a", "labels": {"a": "b", "c": "d"}}}
            self.assertRaises(kubernetes.client.ApiException, core.create_namespaced_config_map, "default", body)
        self.assertEqual((rule.struck, self.server.faults.get(rule.id).struck), (1, 1))
        self.server.faults.clear()
        self.assertEqual(self.assertRaises(ApiError, self.server.faults.get, rule).code, 404)

    def test_resources(self) -> None:
        """Resources are named as for kubectl; a rule for an unknown one is refused, as it could never strike."""
        for given, plurals, groups in (
            ("cm", ["configmaps"], None),
            ("deploy", ["deployments"], None),
            ("deployments.apps", ["deployments"], ["apps"]),
            (["Pod", "svc"], ["pods", "services"], None),
            (["pods", "rs.apps"], ["pods", "replicasets"], ["", "apps"]),
        ):
            rule = self.server.faults.add(status=503, resource=given).rule
            self.assertEqual((rule["resource"], rule.get("group")), (plurals, groups))
        self.assertEqual(self.server.faults.add(status=503, resource="po", group="").rule["resource"], ["pods"])
        for mistake in ({"resource": "configmapz"}, {"resource": "pods", "group": "apps"}, {"resource": ["po", "x"]}):
            self.assertRaises(UnknownResource, self.server.faults.add, status=503, **mistake)
        self.assertRaises(UnknownResource, self.server.faults.chaos, 7, resource="websites")


class TesterTests(ControlCase):
    def test_not_struck(self) -> None:
        """The test's own reads and writes use up no fault that is meant for others."""
        rule = self.server.faults.add(status=503, times=1)
        self.create(CONFIG_MAPS, config_map("a"))
        self.server.eventually("configmaps/a")
        (found,) = self.server.faults.list()
        self.assertEqual((found.id, found.struck), (rule.id, 0))


class EventuallyTests(ControlCase):
    def fail_with(self, *arguments: Any, **settings: Any) -> str:
        """Return the text of a wait in vain."""
        return str(self.assertRaises(ConditionNotMet, self.server.eventually, *arguments, timeout_s=0.1, **settings))

    def test_already_met(self) -> None:
        """A condition that is met already ends the wait with the object."""
        self.create(CONFIG_MAPS, config_map("a", x="1"))
        found = self.server.eventually("configmaps/a", lambda found: found["data"]["x"] == "1")
        self.assertEqual((found["kind"], found["metadata"]["name"]), ("ConfigMap", "a"))

    def test_wakes(self) -> None:
        """An event ends the wait, and no state is missed however short it lasts."""
        looked = threading.Event()
        self.create(CONFIG_MAPS, config_map("a", x="1"))

        def work() -> None:
            looked.wait()
            for value in ("2", "3"):
                self.patch_data("a", x=value)

        def second(found: Any) -> bool:
            looked.set()
            return bool(found["data"]["x"] == "2")

        self.meanwhile(work)
        found = self.server.eventually("cm/a", second)
        self.assertEqual(found["data"], {"x": "2"})

    def test_collection(self) -> None:
        """Of a selection any object may meet the predicate."""
        for name, colour in (("a", "red"), ("b", "blue")):
            self.create(CONFIG_MAPS, {"metadata": {"name": name, "labels": {"colour": colour}}})
        self.assertEqual(self.server.eventually("configmaps", labels="colour=blue")["metadata"]["name"], "b")
        self.assertEqual(
            self.server.eventually("configmaps", namespace="default", fields="metadata.name=a")["metadata"]["name"],
            "a",
        )

    def test_absent(self) -> None:
        """The end of the last selected object is a condition too, and so is that there never was one."""
        self.assertEqual(self.server.eventually("configmaps/a", absent), {})
        self.create(CONFIG_MAPS, config_map("a", x="1"))
        self.meanwhile(lambda: self.server.request("DELETE", f"{CONFIG_MAPS}/a"))
        self.assertIn(self.server.eventually("configmaps/a", absent).get("data"), (None, {"x": "1"}))

    def test_function(self) -> None:
        """A function that reads is called again after each write; its value is the result."""
        self.meanwhile(lambda: [self.create(CONFIG_MAPS, config_map(name)) for name in "abc"])
        found = self.server.eventually(
            lambda read: len(read.list("configmaps", "default")) == 4 and read.get("configmaps/c")
        )
        assert found
        self.assertEqual(found["metadata"]["name"], "c")

    def test_state_of_the_test(self) -> None:
        """A function may look at what no write tells of."""
        calls: list[int] = []
        self.assertTrue(self.server.eventually(lambda read: calls.append(1) or len(calls) > 2))

    def test_reset_meanwhile(self) -> None:
        """A wait goes on across resets."""

        def work() -> None:
            self.server.reset()
            self.create(CONFIG_MAPS, config_map("a"))

        self.meanwhile(work)
        self.server.eventually("configmaps/a")

    def test_definition_to_come(self) -> None:
        """A resource that is not served yet is waited for."""

        def work() -> None:
            self.create(DEFINITIONS, DEFINITION)
            self.server.eventually(lambda read: self.server.request("GET", THINGS).code == 200)
            self.create(THINGS, {"apiVersion": "example.com/v1", "kind": "Thing", "metadata": {"name": "a"}})

        self.meanwhile(work)
        self.assertEqual(self.server.eventually("things.example.com/a")["kind"], "Thing")

    def test_failure(self) -> None:
        """The failure shows the object as it was last seen, why the predicate did not hold, and the writers."""
        self.create(CONFIG_MAPS, config_map("a", x="1"))
        text = self.fail_with("configmaps/a", lambda found: found["status"]["ready"])
        for part in (
            "configmaps/a: the condition was not met within 0.1 s",
            "the condition raised KeyError: 'status'",
            "    x: '1'",
            "ADDED configmaps default/a at ",
            "by orch-testing (orchtw-testing), create",
        ):
            self.assertIn(part, text)
        self.assertNotIn("managedFields", text)

    def test_failure_without_object(self) -> None:
        """Where there is nothing, the failure says so."""
        self.assertIn("last seen: nothing", self.fail_with("configmaps/none"))
        self.assertIn("has no resource 'nonsense'", self.fail_with("nonsense/a"))

    def test_failure_of_a_function(self) -> None:
        """A function is named with its place, its last result, and the writes meanwhile."""
        text = self.fail_with(lambda read: len(read.list("pods")) > 5)
        self.assertIn("test_server_control.py:", text)
        self.assertIn("last result: False", text)

    def test_timeout_in_second_place(self) -> None:
        """A number in the predicate's place is the timeout, of both kinds of conditions."""
        for condition in ("configmaps/none", lambda read: False):
            error = self.assertRaises(ConditionNotMet, self.server.eventually, condition, 0.1)
            self.assertIn("within 0.1 s", str(error))
        self.assertRaises(TypeError, self.server.eventually, "configmaps/none", 1, timeout_s=2)

    def test_mistakes(self) -> None:
        """Conditions that could never be met, or always would, are refused at once."""

        async def coroutine(_given: object) -> bool:
            return True

        def one(_given: object) -> bool:
            return True

        mistakes: tuple[tuple[Any, ...], ...] = (
            ("pods", "Running"), ("pods", True), ("pods", lambda: True), ("pods", lambda a, b: True),
            ("pods", coroutine), (one, one), (lambda: True,), (lambda a, b: True,), (coroutine,), (None,),
        )  # fmt: skip
        for arguments in mistakes:
            self.assertRaises(TypeError, self.server.eventually, *arguments)
        self.assertRaises(TypeError, self.server.eventually, one, namespace="default")
        self.assertRaises(TypeError, self.server.eventually, "pods", timeout_s="1")

    def test_not_found(self) -> None:
        """A client library's 404 means "not yet", wherever it has the code; its other errors end the wait."""

        class Refused(Exception):
            def __init__(self, **members: Any) -> None:
                self.__dict__ |= members

        for members in ({"status": 404}, {"code": 404}, {"response": SimpleNamespace(status_code=404)}):
            errors = [Refused(**members)]

            def read(_reader: Any, errors: list[Refused] = errors) -> bool:
                if errors:
                    raise errors.pop()
                return True

            self.assertTrue(self.server.eventually(read, 5))

        def forbidden(_reader: Any) -> bool:
            raise Refused(status=403)

        self.assertRaises(Refused, self.server.eventually, forbidden)

    def test_other_errors(self) -> None:
        """Errors that are no "not yet" end the wait at once."""
        self.create(CONFIG_MAPS, config_map("a"))
        self.assertRaises(ZeroDivisionError, self.server.eventually, "configmaps/a", lambda found: 1 / 0)
        self.assertRaises(ValueError, self.server.eventually, "configmaps/")
        self.assertRaises(ValueError, self.server.eventually, "configmaps/a", labels="a=b")

    def test_under_chaos(self) -> None:
        """Faults that strike everybody do not fail an assertion."""
        self.server.faults.chaos(3)
        self.meanwhile(lambda: [self.server.request("POST", CONFIG_MAPS, config_map(f"a-{n}")) for n in range(5)])
        self.server.eventually("configmaps/a-4")


class QuietTests(ControlCase):
    def test_quiet(self) -> None:
        """Silence, and the server's own writes, pass."""
        self.server.quiet(0.05)
        self.server.quiet(0.01, user="operator")

    def test_hot_loop(self) -> None:
        """A user that goes on writing fails the assertion, which names the writes."""
        self.create(CONFIG_MAPS, config_map("a"))
        ended = threading.Event()

        def write() -> None:
            number = 0
            while not ended.is_set():
                number += 1
                self.patch_data("a", x=str(number))

        self.meanwhile(write)
        self.addCleanup(ended.set)
        error = self.assertRaises(NotQuiet, self.server.quiet, 60, user="orch-testing")
        self.assertEqual(len(error.writes), 20)
        self.assertIn("20 or more writes by orch-testing within 60 s", str(error))
        self.assertIn("MODIFIED configmaps default/a", str(error))

    def test_ignored(self) -> None:
        """Writes to ignored resources, and those that the filters leave out, pass."""
        self.meanwhile(lambda: self.create(CONFIG_MAPS, config_map("a")))
        self.server.quiet(0.1, ignore=["configmaps"])
        self.meanwhile(lambda: self.create(CONFIG_MAPS, config_map("b")))
        self.server.quiet(0.1, namespace="kube-system", resource="secrets")


class ServiceMapTests(ControlCase):
    def test_forms(self) -> None:
        """A mapping that the server would refuse is rejected, with the reason."""
        good, address = "a/hook:443", "127.0.0.1:1"
        for service, to in (
            ("hook:443", address), ("a/hook", address), ("Shop/w:443", address), ("a/hook:0", address),
            ("a/hook:99999", address), (f"{good}\nb/c:1", address), ("", address),
            (good, "127.0.0.1"), (good, ":80"), (good, "127.0.0.1:99999"), (good, "a=b:80"), (good, ""),
        ):  # fmt: skip
            self.assertRaises(ValueError, self.server.map_service, service, to)
        error = self.assertRaises(ValueError, self.server.map_service, "Shop/w:443", address)
        self.assertIn('"Shop"', str(error))

    def test_earlier_mappings(self) -> None:
        """A rejected mapping leaves the earlier ones in force, and the same port may be mapped anew."""
        path = Path(self.mktemp())
        services = ServiceMapFile(path)
        services.add("a/hook:443", "127.0.0.1:1")
        self.assertRaises(ValueError, services.add, "A/hook:443", "127.0.0.1:2")
        self.assertEqual([str(each) for each in read_mappings(path)], ["a/hook:443=127.0.0.1:1"])
        services.add("a/hook:0443", "[::1]:2")
        self.assertEqual([str(each) for each in read_mappings(path)], ["a/hook:443=[::1]:2"])

    def test_too_many(self) -> None:
        """A file that the server would not read is not written."""
        self.assertEqual(service_map.FILE_BYTES, FILE_BYTES)
        services = ServiceMapFile(Path(self.mktemp()))
        services.add("a/hook:443", "127.0.0.1:1")
        self.patch(service_map, "FILE_BYTES", 30)
        self.assertRaises(ValueError, services.add, "b/hook:443", "127.0.0.1:1")
        self.assertEqual(len(read_mappings(services.path)), 1)

    def test_file(self) -> None:
        """The server takes the mapping over."""
        self.server.map_service("default/hook:443", "127.0.0.1:10250")
        self.server.eventually(lambda read: "service-map-file: now using" in self.server.log())
