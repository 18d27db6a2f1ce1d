"""Control of a real server: state, record and faults."""
# covers: orchtw.testing.api_server

from __future__ import annotations

import kubernetes

from orchtw.testing.api_server import ApiServer
from orchtw.testing.control.answers import ApiError
from orchtw.testing.control.resources import UnknownResource
from tests.testing.api_servers import CONFIG_MAPS, config_map
from tests.testing.control.case import DEFINITION, DEFINITIONS, THINGS, ControlCase


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
