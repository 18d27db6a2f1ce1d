"""Flow control in a whole server: its objects, their upkeep, and its effect on clients."""
# covers: orchtw.flowcontrol.conditions, orchtw.registry.groups.flowcontrol.suggested

from __future__ import annotations

from typing import Any

from twisted.internet import reactor as installed_reactor
from twisted.internet.defer import Deferred
from twisted.internet.task import deferLater
from twisted.trial.unittest import TestCase

from orchtw.bootstrap.ensurer import Ensurer
from orchtw.bootstrap.flow_control import keep_flow_objects, renewed
from orchtw.flowcontrol.conditions import DELAY_S
from orchtw.naming.naming import Naming
from orchtw.registry.groups.flowcontrol import mandatory, suggested
from orchtw.testing.in_process import ClientAnswer
from orchtw.wire.objects import Object
from tests.flowcontrol.configured import level, schema
from tests.in_process import InProcessServer

reactor: Any = installed_reactor

ANNOTATION = "apf.orch.io/autoupdate-spec"
OTHER_USER = {"impersonate-user": "alice", "impersonate-group": "system:authenticated"}


class FlowControlTests(TestCase):
    """Priority and fairness objects of one server."""

    timeout = 180

    async def serve(self, **settings: Any) -> InProcessServer:
        server = InProcessServer(reactor, self.mktemp(), **settings)
        await server.start()
        self.addCleanup(server.stop)
        return server

    def path(self, server: InProcessServer, plural: str, name: str = "", version: str = "v1beta2") -> str:
        group = server.naming.group("flowcontrol.apiserver.orch.io")
        return f"/apis/{group}/{version}/{plural}" + (f"/{name}" if name else "")

    async def condition(self, server: InProcessServer, name: str, status: str) -> Object:
        """The condition Dangling, once it has this status."""
        while True:
            answer = await server.request("GET", self.path(server, "flowschemas", name))
            for each in answer.json["status"].get("conditions", ()):
                if (each["type"], each["status"]) == ("Dangling", status):
                    found: Object = each
                    return found
            await deferLater(reactor, 0.02)

    async def versions(self, server: InProcessServer) -> list[str]:
        """The versions of all schemas."""
        found = await server.request("GET", self.path(server, "flowschemas"))
        return [each["metadata"]["resourceVersion"] for each in found.json["items"]]

    async def upkeep(self, server: InProcessServer) -> None:
        """Run the server's once-a-minute upkeep."""
        instance = server.instance
        await keep_flow_objects(
            Ensurer(targets=instance.resources.targets, writes=instance.writes, naming=server.naming)
        )

    async def test_objects(self) -> None:
        """Every installation has the release's levels and schemas, in both versions (reference FLOW-5, FLOW-6)."""
        server = await self.serve()
        begun = await self.versions(server)
        for version in ("v1beta1", "v1beta2"):
            found = await server.request("GET", self.path(server, "flowschemas", version=version))
            shown = {
                (
                    each["spec"]["matchingPrecedence"],
                    each["metadata"]["name"],
                    each["spec"]["priorityLevelConfiguration"]["name"],
                    each["spec"].get("distinguisherMethod", {}).get("type"),
                )
                for each in found.json["items"]
            }
            self.assertEqual(
                shown,
                {
                    (1, "exempt", "exempt", None),
                    (2, "probes", "exempt", None),
                    (100, "system-leader-election", "leader-election", "ByUser"),
                    (150, "endpoint-controller", "workload-high", "ByUser"),
                    (200, "workload-leader-election", "leader-election", "ByUser"),
                    (400, "system-node-high", "node-high", "ByUser"),
                    (500, "system-nodes", "system", "ByUser"),
                    (800, "orch-controller-manager", "workload-high", "ByNamespace"),
                    (800, "orch-scheduler", "workload-high", "ByNamespace"),
                    (900, "orch-system-service-accounts", "workload-high", "ByNamespace"),
                    (9000, "service-accounts", "workload-low", "ByUser"),
                    (9900, "global-default", "global-default", "ByUser"),
                    (10000, "catch-all", "catch-all", "ByUser"),
                },
            )
        found = await server.request("GET", self.path(server, "prioritylevelconfigurations"))
        limits = {
            each["metadata"]["name"]: each["spec"]["limited"]["assuredConcurrencyShares"]
            for each in found.json["items"]
            if each["spec"]["type"] == "Limited"
        }
        self.assertEqual(
            limits,
            {
                "system": 30,
                "node-high": 40,
                "leader-election": 10,
                "workload-high": 40,
                "workload-low": 100,
                "global-default": 20,
                "catch-all": 5,
            },
        )
        for each in found.json["items"]:
            self.assertEqual(each["metadata"]["annotations"], {ANNOTATION: "true"})
        await deferLater(reactor, 3 * DELAY_S)
        self.assertEqual(await self.versions(server), begun, "written after the start")

    async def test_other_vocabulary(self) -> None:
        """With the other vocabulary no neutral name is left, in objects and answers."""
        server = await self.serve(vocabulary="kubernetes")
        found = await server.request("GET", self.path(server, "flowschemas"))
        self.assertNotIn(b"orch", found.body)
        self.assertIn("x-kubernetes-pf-flowschema-uid", found.headers)
        names = {each["metadata"]["name"] for each in found.json["items"]}
        self.assertLess({"kube-controller-manager", "kube-scheduler", "kube-system-service-accounts"}, names)

    async def test_answers(self) -> None:
        """Every answer names its schema and level by uid, refusals too (reference FLOW-8)."""
        server = await self.serve()
        uids = {}
        for plural in ("flowschemas", "prioritylevelconfigurations"):
            found = await server.request("GET", self.path(server, plural))
            uids[plural] = {each["metadata"]["name"]: each["metadata"]["uid"] for each in found.json["items"]}
        cases: tuple[tuple[str, str, dict[str, str], int], ...] = (
            ("exempt", "/api/v1/namespaces", {}, 200),
            ("exempt", "/api/v1/namespaces/none", {}, 404),
            ("global-default", "/api/v1/namespaces", OTHER_USER, 403),
        )
        for name, url, headers, code in cases:
            answer = await server.request("GET", url, headers=headers)
            self.assertEqual(answer.code, code)
            self.assertEqual(answer.headers["x-orch-pf-flowschema-uid"], uids["flowschemas"][name])
            level_uid = uids["prioritylevelconfigurations"][name]
            self.assertEqual(answer.headers["x-orch-pf-prioritylevel-uid"], level_uid)

    async def test_upkeep(self) -> None:
        """Deleted and changed defaults are restored, unless their annotation opts out (reference FLOW-7)."""
        server = await self.serve()
        levels = "prioritylevelconfigurations"
        for plural, name in (("flowschemas", "exempt"), (levels, "catch-all"), ("flowschemas", "probes")):
            answer = await server.request("DELETE", self.path(server, plural, name))
            self.assertEqual(answer.code, 200, answer)
        for name, said in (("system", "true"), ("workload-low", "false")):
            obj = (await server.request("GET", self.path(server, levels, name))).json
            obj["spec"]["limited"]["assuredConcurrencyShares"] = 7
            obj["metadata"]["annotations"][ANNOTATION] = said
            self.assertEqual((await server.request("PUT", self.path(server, levels, name), obj)).code, 200)
        await self.upkeep(server)
        for plural, name in (("flowschemas", "exempt"), (levels, "catch-all"), ("flowschemas", "probes")):
            self.assertEqual((await server.request("GET", self.path(server, plural, name))).code, 200)
        for name, shares in (("system", 30), ("workload-low", 7)):
            obj = (await server.request("GET", self.path(server, levels, name))).json
            self.assertEqual(obj["spec"]["limited"]["assuredConcurrencyShares"], shares)

    async def test_older_releases(self) -> None:
        """Objects that an older release kept up and this one does not have are removed; others' stay (FLOW-7)."""
        server = await self.serve()
        for name, said in (("old", "true"), ("mine", "false"), ("ours", "")):
            obj = level(name)
            obj["metadata"] = {"name": name, "annotations": {ANNOTATION: said} if said else {}}
            answer = await server.request("POST", self.path(server, "prioritylevelconfigurations"), obj)
            self.assertEqual(answer.code, 201, answer)
        await self.upkeep(server)
        found = await server.request("GET", self.path(server, "prioritylevelconfigurations"))
        names = {each["metadata"]["name"] for each in found.json["items"]}
        self.assertEqual(names & {"old", "mine", "ours"}, {"mine", "ours"})

    async def test_second_start(self) -> None:
        """A restart changes nothing of what is as it should be."""
        folder = self.mktemp()
        versions = []
        for _ in range(2):
            server = InProcessServer(reactor, folder)
            await server.start()
            await self.condition(server, "workload-leader-election", "False")
            await deferLater(reactor, 0.3)
            versions.append(await self.versions(server))
            await server.stop()
        self.assertEqual(versions[0], versions[1])

    async def test_dangling(self) -> None:
        """A schema says whether its level is there, as soon as that changes (reference FLOW-12)."""
        server = await self.serve()
        obj = schema("lost", 3000, "later", user="alice")
        obj["metadata"] = {"name": "lost"}
        self.assertEqual((await server.request("POST", self.path(server, "flowschemas"), obj)).code, 201)
        found = await self.condition(server, "lost", "True")
        about = 'This FlowSchema references the PriorityLevelConfiguration object named "later"'
        self.assertEqual(
            (found["reason"], found["message"]), ("NotFound", f"{about} but there is no such object")
        )
        later = level("later")
        later["metadata"] = {"name": "later"}
        answer = await server.request("POST", self.path(server, "prioritylevelconfigurations"), later)
        self.assertEqual(answer.code, 201)
        found = await self.condition(server, "lost", "False")
        self.assertEqual((found["reason"], found["message"]), ("Found", f"{about} and it exists"))

    async def test_wrong_schema(self) -> None:
        """A schema that sends everybody to a level without room locks others out, never administrators."""
        server = await self.serve(max_requests_inflight=1, max_mutating_requests_inflight=0)
        narrow, trap = level("narrow", shares=1, queues=0), schema("aaa", 2, "narrow", user="*")
        for plural, obj in (("prioritylevelconfigurations", narrow), ("flowschemas", trap)):
            obj["metadata"] = {"name": obj["metadata"]["name"]}
            self.assertEqual((await server.request("POST", self.path(server, plural), obj)).code, 201)
        control = server.instance.lifecycle.limiting.control
        assert control is not None
        control.live.settled()
        seating = control.live.levels["narrow"].seating
        assert seating is not None
        seating.in_use = seating.limit
        url = "/api/v1/namespaces"
        self.assertEqual((await server.request("GET", url, headers=OTHER_USER)).code, 429)
        self.assertEqual((await server.request("GET", url)).code, 200)
        self.assertEqual((await server.request("DELETE", self.path(server, "flowschemas", "aaa"))).code, 200)
        self.assertEqual((await server.request("GET", url, headers=OTHER_USER)).code, 403)

    async def test_dumps(self) -> None:
        """The dump tables are plain text, for users with the right to them (reference FLOW-13)."""
        server = await self.serve()
        base = "/debug/api_priority_and_fairness/dump_"
        for name, first in (("priority_levels", 8), ("queues", 2), ("requests?includeRequestDetails=1", 1)):
            answer = await server.request("GET", base + name)
            self.assertEqual((answer.code, answer.headers["content-type"]), (200, "text/plain; charset=utf-8"))
            self.assertTrue(answer.body.startswith(b"PriorityLevelName,"))
            self.assertGreaterEqual(answer.body.count(b"\n"), first)
            self.assertEqual((await server.request("GET", base + name, headers=OTHER_USER)).code, 403)

    async def test_metrics(self) -> None:
        """The metrics of levels and of requests at a time are there (reference METRIC-5, METRIC-11)."""
        server = await self.serve()
        body = (await server.request("GET", "/metrics")).body.decode()
        for line in (
            'apiserver_flowcontrol_request_concurrency_limit{priority_level="global-default"} 49',
            'apiserver_current_inflight_requests{request_kind="readOnly"} 1',
            'apiserver_dropped_requests_total{request_kind="mutating"} 0',
            'apiserver_flowcontrol_current_executing_requests{flow_schema="exempt",priority_level="exempt"} 1',
        ):
            self.assertIn(line, body)

    async def test_off(self) -> None:
        """Without priority and fairness there are two limits, no headers and no tables; the objects are there
        (reference FLOW-1).
        """
        gate = (("APIPriorityAndFairness", "false"),)
        for settings in ({"enable_priority_and_fairness": False}, {"feature_gates": gate}):
            server = await self.serve(max_mutating_requests_inflight=1, **settings)
            answer = await server.request("GET", self.path(server, "flowschemas", "exempt"))
            self.assertEqual(answer.code, 200)
            self.assertNotIn("x-orch-pf-flowschema-uid", answer.headers)
            answer = await server.request("GET", "/debug/api_priority_and_fairness/dump_queues")
            self.assertEqual(answer.code, 404)
            body = {"spec": {"nonResourceAttributes": {"path": "/", "verb": "get"}}}
            review = "/apis/authorization.orch.io/v1/selfsubjectaccessreviews"
            answers: list[Deferred[ClientAnswer]] = []
            for _ in range(2):
                answers.append(Deferred.fromCoroutine(server.request("POST", review, body)))
            self.assertEqual([(await answer).code for answer in answers], [201, 201])


class RenewedTests(TestCase):
    """Renewal of stored flow control objects (reference FLOW-7)."""

    def renew(self, said: str, generation: int, *, fixed: bool = False) -> Object | None:
        annotations = {ANNOTATION: said} if said else {}
        live = {"metadata": {"name": "x", "generation": generation, "annotations": annotations}, "spec": {"old": 1}}
        return renewed(live, {"spec": {"new": 1}}, annotation=ANNOTATION, fixed=fixed)

    def test_annotation(self) -> None:
        """The annotation decides; without one the generation does, and the annotation is made."""
        for said, generation, follows in (("true", 5, True), ("", 1, True), ("odd", 1, True), ("", 2, False)):
            found = self.renew(said, generation)
            assert found is not None
            self.assertEqual(found["spec"], {"new": 1} if follows else {"old": 1})
            self.assertEqual(found["metadata"]["annotations"], {ANNOTATION: "true" if follows else "false"})
        self.assertIsNone(self.renew("false", 1))

    def test_mandatory(self) -> None:
        """Mandatory objects always follow, whatever their annotation says."""
        found = self.renew("false", 3, fixed=True)
        assert found is not None
        self.assertEqual((found["spec"], found["metadata"]["annotations"]), ({"new": 1}, {ANNOTATION: "true"}))

    def test_names(self) -> None:
        """No suggested object has the name of a mandatory one."""
        names = {name for name, _ in suggested.flow_schemas(Naming.orch())}
        self.assertFalse(names & set(mandatory.FLOW_SCHEMAS))
        self.assertFalse(set(suggested.PRIORITY_LEVELS) & set(mandatory.PRIORITY_LEVELS))
