"""ResourceQuota (reference PLUG-25 to PLUG-31, PLUG-60, PLUG-61)."""
# covers: orchtw.admission.plugins.resource_quota.charging, orchtw.admission.plugins.resource_quota.rounds
# covers: orchtw.assembly.writes

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any, ClassVar

from twisted.internet.defer import Deferred
from twisted.trial.unittest import SynchronousTestCase

from orchtw.admission.plugins.resource_quota import rounds
from orchtw.assembly import writes
from orchtw.errors import ConfigError, InternalError
from orchtw.quota.amounts import amounts, texts
from orchtw.quota.evaluators import CountEvaluator
from orchtw.quota.quotas import AskedUsage
from orchtw.quota.unsettled import Unsettled
from orchtw.quota.usage import Usage
from orchtw.storage.store import Op, WriteOutcome
from tests.admission.plugins.resource_quota.case import (
    CLAIMS,
    LIMITED,
    MAPS,
    PODS,
    QUOTAS,
    SERVICES,
    QuotaCase,
    claim,
    config_map,
    pod,
)
from tests.emulated import since
from tests.registry.widgets import GROUP, versions
from tests.verbs.served import DEFAULT, MERGE


class ChargeTests(QuotaCase):
    def test_exceeded(self) -> None:
        """Exceeding a quota is refused, with the exceeded names (reference PLUG-28)."""
        self.quota("rq", {"requests.cpu": "1", "pods": "1", "requests.memory": "1Gi"})
        self.done("POST", PODS, pod("a", {"cpu": "500m", "memory": "1Mi"}))
        self.assertEqual(self.used(), {"pods": "1", "requests.cpu": "500m", "requests.memory": "1Mi"})
        self.assertEqual(
            self.refusal(PODS, pod("b", {"cpu": "2", "memory": "1Mi"})),
            'pods "b" is forbidden: exceeded quota: rq, requested: pods=1,requests.cpu=2, '
            "used: pods=1,requests.cpu=500m, limited: pods=1,requests.cpu=1",
        )

    def test_must_specify(self) -> None:
        """Containers say what a quota limits (reference PLUG-28)."""
        self.quota("rq", {"requests.cpu": "1"})
        self.assertEqual(
            self.refusal(PODS, pod("a")), 'pods "a" is forbidden: failed quota: rq: must specify requests.cpu'
        )

    def test_all_quotas(self) -> None:
        """All quotas of the namespace count, and none of them is charged for what another refuses."""
        self.quota("few", {"count/configmaps": "1"})
        self.quota("many", {"count/configmaps": "5", "configmaps": "5"})
        self.done("POST", MAPS, config_map("a"))
        self.assertIn("exceeded quota: few", self.refusal(MAPS, config_map("b")))
        self.assertEqual(self.used("many"), {"configmaps": "1", "count/configmaps": "1"})

    def test_other_namespaces(self) -> None:
        """Quotas are of their namespace, and cluster objects have none."""
        self.quota("rq", {"configmaps": "0"})
        self.done("POST", "/api/v1/namespaces", {"metadata": {"name": "other"}})
        self.done("POST", "/api/v1/namespaces/other/configmaps", config_map("a"))

    def test_custom(self) -> None:
        """Custom resources are counted by resource and group (reference PLUG-26)."""
        targets = self.server.instance.resources.targets
        codecs = self.server.instance.resources.codecs
        self.run_async(targets.add(versions(codecs.schemas)))
        name = f"count/widgets.{GROUP}"
        self.quota("rq", {name: "1"})
        path = f"/apis/{GROUP}/v1/namespaces/default/widgets"
        widget = {"apiVersion": f"{GROUP}/v1", "kind": "Widget"}
        self.done("POST", path, {**widget, "metadata": {"name": "a"}})
        self.assertEqual(
            self.refusal(path, {**widget, "metadata": {"name": "b"}}),
            f'widgets.{GROUP} "b" is forbidden: exceeded quota: rq, requested: {name}=1, used: {name}=1, '
            f"limited: {name}=1",
        )

    def test_quotas_of_quotas(self) -> None:
        """Quotas are counted themselves."""
        self.quota("rq", {"resourcequotas": "1"}, {"resourcequotas": "1"})
        self.assertIn("exceeded quota: rq, requested: resourcequotas=1", self.refusal(QUOTAS, config_map("b")))

    def test_generated_name(self) -> None:
        """A refusal names what has no name yet (reference ADM-9)."""
        self.quota("rq", {"configmaps": "0"})
        self.assertIn('configmaps "a-', self.refusal(MAPS, {"metadata": {"generateName": "a-"}}))

    def test_updates(self) -> None:
        """Growth of a Service or claim is charged, shrinking is not given back (reference PLUG-27)."""
        self.quota("rq", {"services.nodeports": "3", "requests.storage": "5Gi"})
        port = {"name": "a", "port": 1}
        service = {"metadata": {"name": "s"}, "spec": {"type": "NodePort", "ports": [port]}}
        self.done("POST", SERVICES, service)
        more = {"spec": {"ports": [port, {"name": "b", "port": 2}]}}
        self.done("PATCH", f"{SERVICES}/s", more, MERGE)
        self.assertEqual(self.used()["services.nodeports"], "2")
        self.done("PATCH", f"{SERVICES}/s", {"spec": {"ports": [port]}}, MERGE)
        self.assertEqual(self.used()["services.nodeports"], "2")
        too_many = {"spec": {"ports": [{"name": f"p{i}", "port": i} for i in range(1, 5)]}}
        answer = self.send("PATCH", f"{SERVICES}/s", too_many, MERGE)
        self.assertEqual(
            answer.json["message"],
            'services "s" is forbidden: exceeded quota: rq, requested: services.nodeports=3, '
            "used: services.nodeports=2, limited: services.nodeports=3",
        )
        self.done("POST", CLAIMS, claim("c", "3Gi"))
        self.assertEqual(self.used()["requests.storage"], "3Gi")

    def test_pods_do_not_grow(self) -> None:
        """Updates of pods and of their status are not charged."""
        self.quota("rq", {"pods": "1", "count/configmaps": "1"})
        self.done("POST", PODS, pod("a"))
        self.done("POST", MAPS, config_map("a"))
        self.done("PATCH", f"{PODS}/a", {"metadata": {"labels": {"a": "b"}}}, MERGE)
        self.done("PATCH", f"{PODS}/a/status", {"status": {"phase": "Running"}}, MERGE)
        self.done("PATCH", f"{MAPS}/a", {"data": {"a": "b"}}, MERGE)
        self.assertEqual(self.used(), {"count/configmaps": "1", "pods": "1"})

    def test_dry_run(self) -> None:
        """A dry run is checked and not charged (reference PLUG-30, WRITE-22)."""
        self.quota("rq", {"configmaps": "1"})
        self.done("POST", f"{MAPS}?dryRun=All", config_map("a"))
        self.assertEqual(self.used(), {"configmaps": "0"})
        self.done("POST", MAPS, config_map("a"))
        self.assertIn("exceeded quota", self.refusal(f"{MAPS}?dryRun=All", config_map("b")))

    def test_events(self) -> None:
        """Events and reviews are not counted."""
        self.quota("rq", {"count/events": "0", "count/localsubjectaccessreviews.authorization.orch.io": "0"})
        event = {"metadata": {"name": "e"}, "involvedObject": {"namespace": "default"}, "reason": "r"}
        self.done("POST", f"{DEFAULT}/events", event)
        review = {"spec": {"user": "u", "resourceAttributes": {"namespace": "default", "verb": "get"}}}
        self.done(
            "POST", "/apis/authorization.orch.io/v1/namespaces/default/localsubjectaccessreviews", review
        )

    def test_owner(self) -> None:
        """The server owns what it has charged."""
        self.quota("rq", {"configmaps": "1"})
        self.done("POST", MAPS, config_map("a"))
        meta = self.done("GET", f"{QUOTAS}/rq")["metadata"]
        owned = {each["manager"]: each["fieldsV1"] for each in meta["managedFields"]}
        self.assertEqual(owned["orch-apiserver"], {"f:status": {"f:used": {"f:configmaps": {}}}})

    def test_scopes(self) -> None:
        """The scopes are those of the pod as it is stored, with the class that it has been given."""
        path = "/apis/scheduling.orch.io/v1/priorityclasses"
        self.done("POST", path, {"metadata": {"name": "usual"}, "value": 1, "globalDefault": True})
        term = {"scopeName": "PriorityClass", "operator": "In", "values": ["usual"]}
        self.quota("rq", {"pods": "1"}, scopeSelector={"matchExpressions": [term]})
        self.done("POST", PODS, pod("a"))
        self.assertEqual(self.used(), {"pods": "1"})


GOLD = {"scopeName": "VolumeAttributesClass", "operator": "In", "values": ["gold"]}
SCOPED = {"scopeSelector": {"matchExpressions": [GOLD]}}


@since((1, 33))
class ClassTests(QuotaCase):
    """Quotas for claims of a class of volume attributes (reference PLUG-25)."""

    more: ClassVar = {"controllers": ("resourcequota",)}

    def test_counted(self) -> None:
        """Claims of the class are counted and held to the quota, others are not (reference PLUG-25)."""
        spec = {"hard": {"requests.storage": "5Gi"}, **SCOPED}
        self.done("POST", QUOTAS, {"metadata": {"name": "rq"}, "spec": spec})
        self.settle(1)
        gold = claim("gold", "3Gi")
        gold["spec"]["volumeAttributesClassName"] = "gold"
        self.done("POST", CLAIMS, gold)
        self.done("POST", CLAIMS, claim("plain", "9Gi"))
        self.settle(10)
        self.assertEqual(self.used(), {"requests.storage": "3Gi"})
        gold["metadata"]["name"] = "more"
        self.assertIn("exceeded quota: rq, requested: requests.storage=3Gi", self.refusal(CLAIMS, gold))

    def test_changed(self) -> None:
        """A claim that comes to the class is charged as a whole, one that stays in it not at all (PLUG-27)."""
        self.quota("rq", {"requests.storage": "5Gi"}, **SCOPED)
        into = {"spec": {"volumeAttributesClassName": "gold"}}
        for name in ("a", "b"):
            self.done("POST", CLAIMS, claim(name, "3Gi"))
            self.done("PATCH", f"{CLAIMS}/{name}/status", {"status": {"phase": "Bound"}}, MERGE)
        self.assertEqual(self.used(), {"requests.storage": "0"})
        self.done("PATCH", f"{CLAIMS}/a", into, MERGE)
        self.done("PATCH", f"{CLAIMS}/a", {"metadata": {"labels": {"a": "b"}}}, MERGE)
        self.assertEqual(self.used(), {"requests.storage": "3Gi"})
        refused = self.send("PATCH", f"{CLAIMS}/b", into, MERGE)
        self.assertIn("exceeded quota: rq, requested: requests.storage=3Gi", refused.json["message"])

    def test_resources(self) -> None:
        """The scope fits number and storage of claims alone (reference PLUG-25)."""
        for name, code in (("persistentvolumeclaims", 201), ("requests.storage", 201), ("pods", 422), ("cpu", 422)):
            quota = {"metadata": {"generateName": "q"}, "spec": {"hard": {name: "1"}, **SCOPED}}
            self.assertEqual(self.code("POST", QUOTAS, quota), code, name)
        scopes = {"hard": {"requests.storage": "1"}, "scopes": ["VolumeAttributesClass"]}
        self.assertEqual(self.code("POST", QUOTAS, {"metadata": {"name": "s"}, "spec": scopes}), 201)


class OlderClassTests(QuotaCase):
    more: ClassVar = {"emulated_version": "1.32"}

    def test_unknown(self) -> None:
        """Releases before 1.33 do not have the scope (reference PLUG-25)."""
        quota = {"metadata": {"name": "q"}, "spec": {"hard": {"requests.storage": "1"}, **SCOPED}}
        self.assertIn("unsupported scope", self.refusal(QUOTAS, quota, 422))


class WaiterTests(SynchronousTestCase):
    def test_late_charge(self) -> None:
        """A charge for a write that has ended meanwhile is for nothing, and not said to be on its way."""
        unsettled = Unsettled()
        usage = Usage.of({})
        asked = AskedUsage(evaluator=CountEvaluator("x"), usage=usage, grows={}, used={})
        waiter = rounds.Waiter(asked, "a", unsettled, dry_run=False)
        waiter.charge("rq", amounts({"x": "1"}))
        waiter.charge("other", amounts({"x": "1"}))
        waiter.discharge("other")
        self.assertEqual((texts(unsettled.of(("a", "rq"))), unsettled.of(("a", "other"))), ({"x": "1"}, {}))
        waiter.end()
        waiter.charge("rq", amounts({"x": "1"}))
        waiter.discharge("rq")
        self.assertEqual(unsettled.of(("a", "rq")), {})


class UncountedTests(QuotaCase):
    """Quotas that nobody has counted yet, where nobody is known to count (reference PLUG-60)."""

    def test_refused(self) -> None:
        """A write is refused at once."""
        self.done("POST", QUOTAS, {"metadata": {"name": "rq"}, "spec": {"hard": {"pods": "1", "secrets": "1"}}})
        sent = self.begin("POST", PODS, pod("a"))
        self.settle()
        self.assertEqual(
            sent[0].json["message"],
            'pods "a" is forbidden: status unknown for quota: rq, resources: pods',
        )


class CountedTests(QuotaCase):
    """Quotas in a server that counts them (reference PLUG-60)."""

    more: ClassVar = {"controllers": ("resourcequota",)}

    def test_new(self) -> None:
        """A write right behind the quota waits for its count, and for nothing else."""
        for kind, path, obj in (("pods", PODS, pod("a")), ("count/configmaps", MAPS, config_map("a"))):
            self.done("POST", QUOTAS, {"metadata": {"name": kind.replace("/", "-")}, "spec": {"hard": {kind: "1"}}})
            began, sent = self.clock.seconds(), self.begin("POST", path, obj)
            while not sent and self.clock.seconds() < began + 0.1:
                self.clock.advance(0.001)
            self.assertEqual(sent[0].code, 201, sent[0].body)


class AwaitedTests(QuotaCase):
    """Quotas that are to be counted, and are not yet (reference PLUG-60)."""

    def setUp(self) -> None:
        self.patch(writes, "chosen", lambda asked: {"resourcequota"})
        super().setUp()

    def test_refused(self) -> None:
        """After two seconds a write is refused."""
        self.done("POST", QUOTAS, {"metadata": {"name": "rq"}, "spec": {"hard": {"pods": "1", "secrets": "1"}}})
        sent = self.begin("POST", PODS, pod("a"))
        self.settle(1.9)
        self.assertEqual(sent, [])
        self.settle(0.3)
        self.assertEqual(
            sent[0].json["message"],
            'pods "a" is forbidden: status unknown for quota: rq, resources: pods',
        )

    def test_counted_in_time(self) -> None:
        """It goes on when the first count has been written."""
        self.done("POST", QUOTAS, {"metadata": {"name": "rq"}, "spec": {"hard": {"pods": "1"}}})
        sent = self.begin("POST", PODS, pod("a"))
        self.settle(1)
        self.count("rq", {"pods": "1"}, {"pods": "0"})
        self.settle()
        self.assertEqual(sent[0].code, 201, sent[0].body)
        self.assertEqual(self.used(), {"pods": "1"})

    def test_gone(self) -> None:
        """It goes on when the quota is gone."""
        self.done("POST", QUOTAS, {"metadata": {"name": "rq"}, "spec": {"hard": {"pods": "1"}}})
        sent = self.begin("POST", PODS, pod("a"))
        self.settle(1)
        self.done("DELETE", f"{QUOTAS}/rq")
        self.settle()
        self.assertEqual(sent[0].code, 201)


class RaceTests(QuotaCase):
    """Writes at the same time (reference PLUG-29, PLUG-61)."""

    def quota_writes(self) -> list[Op]:
        """Notes what is written of quotas from now on."""
        noted: list[Op] = []
        commit = self.store.commit

        def watch(op: Op) -> Deferred[WriteOutcome]:
            if op.key.startswith("/registry/resourcequotas/"):
                noted.append(op)
            return commit(op)

        self.patch(self.store, "commit", watch)
        return noted

    def test_two_hundred(self) -> None:
        """Of 200 creates as many as fit are admitted, exactly, with a few writes of the quota."""
        self.quota("rq", {"pods": "150", "requests.cpu": "12"})
        writes = self.quota_writes()
        sent = [self.begin("POST", PODS, pod(f"p{i}", {"cpu": "100m"})) for i in range(200)]
        self.settle()
        self.assertEqual(self.codes(sent), {201: 120, 403: 80})
        self.assertEqual(self.used(), {"pods": "120", "requests.cpu": "12"})
        self.assertEqual(len(self.done("GET", PODS)["items"]), 120)
        self.assertLess(len(writes), 6)
        self.assertEqual(self.server.instance.resources.unsettled.of(("default", "rq")), {})

    def test_other_writer(self) -> None:
        """An overtaken evaluation is repeated from the stored quota."""
        self.quota("rq", {"configmaps": "5"})
        first = self.begin("POST", MAPS, config_map("a"))
        self.clock.advance(0)
        commit = self.store.commit
        overtaken: list[Op] = []

        def overtake(op: Op) -> Deferred[WriteOutcome]:
            if op.key.startswith("/registry/resourcequotas/") and len(overtaken) < 5:
                overtaken.append(op)
                live = self.store.items[op.key]
                commit(Op(op.key, live.value, live.revision))
            return commit(op)

        self.patch(self.store, "commit", overtake)
        second = self.begin("POST", MAPS, config_map("b"))
        self.settle()
        self.assertEqual((first[0].code, second[0].code), (201, 201))
        self.assertEqual(self.used(), {"configmaps": "2"})
        self.assertEqual(len(overtaken), 5)

    def test_livelock(self) -> None:
        """A write whose quota keeps changing is refused in the end."""
        self.patch(rounds, "MAX_ROUNDS", 4)
        self.quota("rq", {"configmaps": "5"})
        commit = self.store.commit

        def lose(op: Op) -> Deferred[WriteOutcome]:
            if op.key.startswith("/registry/resourcequotas/"):
                live = self.store.items[op.key]
                commit(Op(op.key, live.value, live.revision))
            return commit(op)

        self.patch(self.store, "commit", lose)
        self.assertEqual(
            self.refusal(MAPS, config_map("b"), 409),
            'Operation cannot be fulfilled on resourcequotas "rq": the object has been modified; please apply your '
            "changes to the latest version and try again",
        )

    def test_one_of_two_quotas(self) -> None:
        """Of two quotas only the one that was overtaken is charged again."""
        self.quota("one", {"configmaps": "5"})
        self.quota("two", {"configmaps": "5"})
        commit = self.store.commit
        overtaken: list[Op] = []

        def overtake(op: Op) -> Deferred[WriteOutcome]:
            if op.key.endswith("/two") and not overtaken:
                overtaken.append(op)
                live = self.store.items[op.key]
                commit(Op(op.key, live.value, live.revision))
            return commit(op)

        self.patch(self.store, "commit", overtake)
        self.done("POST", MAPS, config_map("a"))
        self.assertEqual((self.used("one"), self.used("two")), ({"configmaps": "1"}, {"configmaps": "1"}))
        self.assertEqual(len(overtaken), 1)

    def test_deleted_quota(self) -> None:
        """A quota that is deleted while it is charged binds nobody any more."""
        self.quota("rq", {"configmaps": "5"})
        commit = self.store.commit

        def remove(op: Op) -> Deferred[WriteOutcome]:
            if op.key.startswith("/registry/resourcequotas/") and op.value is not None:
                commit(Op(op.key, None))
            return commit(op)

        self.patch(self.store, "commit", remove)
        self.done("POST", MAPS, config_map("a"))

    def test_timeout(self) -> None:
        """After ten seconds nobody waits any more; what is charged then is not for anything."""
        self.quota("rq", {"configmaps": "5"})
        commit = self.store.commit
        held: list[Callable[[], Any]] = []

        def hold(op: Op) -> Deferred[WriteOutcome]:
            if not op.key.startswith("/registry/resourcequotas/"):
                return commit(op)
            answer: Deferred[WriteOutcome] = Deferred()
            held.append(lambda: commit(op).chainDeferred(answer))
            return answer

        self.patch(self.store, "commit", hold)
        first, second = (self.begin("POST", MAPS, config_map(name)) for name in "ab")
        self.settle(9.8)
        self.assertEqual(first + second, [])
        self.settle(0.4)
        for answers in (first, second):
            self.assertEqual(answers[0].code, 500)
            expected = "Internal error occurred: resource quota evaluation timed out"
            self.assertEqual(answers[0].json["message"], expected)
        self.patch(self.store, "commit", commit)
        held[0]()
        self.settle()
        self.assertEqual(self.used(), {"configmaps": "1"})
        self.assertEqual(self.server.instance.resources.unsettled.of(("default", "rq")), {})
        self.done("POST", MAPS, config_map("c"))

    def test_store_fails(self) -> None:
        """Where the quota cannot be written nothing is, and everybody who waits hears of it."""
        self.quota("rq", {"configmaps": "5"})
        commit = self.store.commit

        def fail(op: Op) -> Deferred[WriteOutcome]:
            if not op.key.startswith("/registry/resourcequotas/"):
                return commit(op)
            answer: Deferred[WriteOutcome] = Deferred()
            self.clock.callLater(0, answer.errback, InternalError.of("the disk is full"))
            return answer

        self.patch(self.store, "commit", fail)
        sent = [self.begin("POST", MAPS, config_map(f"m{i}")) for i in range(3)]
        self.settle()
        self.assertEqual(self.codes(sent), {500: 3})
        self.assertEqual(sent[0][0].json["message"], "Internal error occurred: the disk is full")
        self.assertEqual(self.done("GET", MAPS)["items"], [])

    def test_many(self) -> None:
        """However many wait, others have their turn."""
        self.patch(rounds, "TURN_S", 0.0)
        self.quota("rq", {"configmaps": "10"})
        sent = [self.begin("POST", MAPS, config_map(f"m{i}")) for i in range(40)]
        self.settle(1)
        self.assertEqual(self.codes(sent), {201: 10, 403: 30})
        self.assertEqual(self.used(), {"configmaps": "10"})


class StartTests(QuotaCase):
    """A server whose file is wrong."""

    def setUp(self) -> None:
        """Start no server yet."""

    def test_refused(self) -> None:
        """The start ends with one line that names file and place."""
        path = Path(self.mktemp())
        path.write_text(LIMITED.replace("matchContains", "contains"))
        self.more = {"admission_control_config_file": path}  # type: ignore[misc]
        error = self.assertRaises(ConfigError, super().setUp)
        (line,) = error.problems
        self.assertIn(f"{path}: plugins[0].configuration.limitedResources[0]", line)
        self.assertIn('unknown field "contains"', line)
