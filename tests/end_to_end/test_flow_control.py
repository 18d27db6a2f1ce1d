"""Priority and fairness as clients see it, over TLS."""

from __future__ import annotations

from typing import Any

from twisted.internet.defer import Deferred, gatherResults
from twisted.internet.task import deferLater
from twisted.internet.threads import deferToThread

from orchtw.testing.kubectl import Kubectl
from orchtw.wire.objects import Object
from tests.end_to_end.case import NO_KUBECTL, ServerCase, reactor
from tests.end_to_end.client import Answer
from tests.flowcontrol.configured import level, schema
from tests.forked import forking

kubernetes: Any
try:
    import kubernetes
except ImportError:
    kubernetes = None

ANYBODY = "system:authenticated"
WRITERS = 40


def named(obj: Object) -> Object:
    """As a client sends it: without the server's metadata."""
    return {**obj, "metadata": {"name": obj["metadata"]["name"]}}


class FlowControlCase(ServerCase):
    """Requests of users who may do nothing are enough: they are refused behind the stage that limits them."""

    async def crowd(self, user: str, count: int = WRITERS) -> list[Answer]:
        """Access reviews of one user, all at once; their answers come from memory, so the crowd is a short one."""
        client = self.new_client(**{"Impersonate-User": user, "Impersonate-Group": ANYBODY})
        path = f"/apis/{self.naming.group('authorization.orch.io')}/v1/selfsubjectaccessreviews"
        body = {"spec": {"nonResourceAttributes": {"path": "/", "verb": "get"}}}
        sent = [Deferred.fromCoroutine(client.post(path, body)) for _ in range(count)]
        answers: list[Answer] = await gatherResults(sent)
        return answers

    def flow(self, plural: str, name: str = "") -> str:
        """The path of a cluster's object."""
        group = self.naming.group("flowcontrol.apiserver.orch.io")
        return f"/apis/{group}/v1beta2/{plural}" + (f"/{name}" if name else "")


class SchemaTests(FlowControlCase):
    """The objects, and what follows from them."""

    vocabulary = "kubernetes"

    async def test_kubectl(self) -> None:
        """kubectl shows the schemas, and which of them lack their level (reference FLOW-12)."""
        name = self.unique("schema")
        await self.created(self.flow("flowschemas"), named(schema(name, 7000, "missing", user="nobody")))
        kubectl = Kubectl(forking, self.server.kubeconfig, self.mktemp())
        while True:
            result = await kubectl.run("get", "flowschemas")
            self.assertEqual(result.status, 0, result)
            head, *rows = (line.split() for line in result.output.splitlines())
            missing = {row[0]: row[-1] for row in rows}
            if "?" not in missing.values():
                break
            await deferLater(reactor, 0.05)
        self.assertEqual(head[1:4], ["PRIORITYLEVEL", "MATCHINGPRECEDENCE", "DISTINGUISHERMETHOD"])
        self.assertEqual({each for each, value in missing.items() if value == "True"}, {name})
        self.assertEqual((await self.client.delete(self.flow("flowschemas", name))).code, 200)

    if NO_KUBECTL:
        test_kubectl.skip = NO_KUBECTL  # type: ignore[attr-defined]

    async def test_public_client(self) -> None:
        """The public client lists schemas in both versions, and finds their names in its answers' headers."""
        api = kubernetes.config.new_client_from_config(str(self.server.kubeconfig))
        self.addCleanup(api.close)

        def work() -> None:
            objects = kubernetes.client.CustomObjectsApi(api)
            for version in ("v1beta1", "v1beta2"):
                found, code, headers = objects.list_cluster_custom_object_with_http_info(
                    "flowcontrol.apiserver.k8s.io", version, "flowschemas"
                )
                uids = {each["metadata"]["name"]: each["metadata"]["uid"] for each in found["items"]}
                self.assertEqual(code, 200)
                self.assertEqual(headers["X-Kubernetes-Pf-Flowschema-Uid"], uids["exempt"])

        await deferToThread(work)

    if kubernetes is None:
        test_public_client.skip = "the kubernetes package is not installed (extra `test`): not run"  # type: ignore[attr-defined]

    async def test_trap(self) -> None:
        """A schema that leads all users to a level that serves nobody in time stops them, not administrators."""
        trap, narrow = self.unique("trap"), self.unique("narrow")
        await self.created(self.flow("prioritylevelconfigurations"), named(level(narrow, shares=1, queues=0)))
        await self.created(self.flow("flowschemas"), named(schema(trap, 2, narrow, user="*")))
        answers = await self.crowd("somebody")
        self.assertLessEqual({each.code for each in answers}, {201, 429})
        schemas = await self.client.get(self.flow("flowschemas"))
        uids = {each["metadata"]["name"]: each["metadata"]["uid"] for each in schemas.json["items"]}
        for answer in answers:
            self.assertEqual(answer.headers["x-kubernetes-pf-flowschema-uid"], uids[trap])
        for plural, name in (("flowschemas", trap), ("prioritylevelconfigurations", narrow)):
            self.assertEqual((await self.client.delete(self.flow(plural, name))).code, 200)


class PlainLimitTests(FlowControlCase):
    """Two plain limits, without priority and fairness."""

    flags = ("--enable-priority-and-fairness=false", "--max-mutating-requests-inflight=1")

    async def test_limit(self) -> None:
        """Of writes that come together some are refused, in plain text, and those that are answered have no uids
        (reference FLOW-1, ERR-35).
        """
        answers: list[Answer] = []
        while not any(answer.code == 429 for answer in answers):
            answers = await self.writes()
        self.assertIn(201, {answer.code for answer in answers})
        refused = next(answer for answer in answers if answer.code == 429)
        self.assertEqual(refused.body, b"Too many requests, please try again later.\n")
        self.assertEqual(refused.headers["retry-after"], "1")
        self.assertEqual(refused.headers["content-type"], "text/plain; charset=utf-8")
        self.assertNotIn("x-orch-pf-flowschema-uid", refused.headers)

    async def writes(self) -> list[Answer]:
        """ConfigMaps of a user who may make them, all at once."""
        group = self.naming.group("rbac.authorization.orch.io")
        binding = {
            "metadata": {"name": self.unique("writers")},
            "roleRef": {"apiGroup": group, "kind": "ClusterRole", "name": "edit"},
            "subjects": [{"apiGroup": group, "kind": "User", "name": "writer"}],
        }
        await self.created(f"/apis/{group}/v1/namespaces/{self.namespace}/rolebindings", binding)
        client = self.new_client(**{"Impersonate-User": "writer"})
        bodies = [{"metadata": {"name": self.unique("map")}} for _ in range(WRITERS)]
        sent = [Deferred.fromCoroutine(client.post(self.core("configmaps"), body)) for body in bodies]
        answers: list[Answer] = await gatherResults(sent)
        return answers
