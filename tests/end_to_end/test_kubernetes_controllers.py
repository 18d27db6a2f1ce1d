"""A day's work of Kubernetes' own controller manager and scheduler, on imitated nodes."""

from __future__ import annotations

import shutil
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

from twisted.internet.defer import Deferred
from twisted.internet.protocol import ProcessProtocol
from twisted.internet.task import deferLater
from twisted.trial.unittest import TestCase

from orchtw.testing.process import ServerProcess, environment
from orchtw.wire.objects import Object
from tests.end_to_end.case import reactor
from tests.end_to_end.client import Client, tls_context
from tests.end_to_end.node_agents import NodeAgents
from tests.forked import forking

MANAGER, SCHEDULER = "kube-controller-manager", "kube-scheduler"
NODES = ("node-a", "node-b", "node-c")
APPS = "/apis/apps/v1/namespaces/work"
BATCH = "/apis/batch/v1/namespaces/work"
CORE = "/api/v1/namespaces/work"
LOOK_S = 0.5
PATIENCE_S = 120.0


def _template(app: str, **spec: Any) -> Object:
    containers = [{"name": "c", "image": "example.com/web:1", "ports": [{"containerPort": 80}]}]
    return {"metadata": {"labels": {"app": app}}, "spec": {"containers": containers, **spec}}


def _workload(app: str, **spec: Any) -> Object:
    selector = {"matchLabels": {"app": app}}
    return {"metadata": {"name": app}, "spec": {"selector": selector, "template": _template(app), **spec}}


class _Program(ProcessProtocol):
    """Its output goes to a file."""

    def __init__(self, log: Path) -> None:
        self._log = log.open("ab")
        self._ended: Deferred[None] = Deferred()

    def kill(self) -> Deferred[None]:
        """Fires when it has ended."""
        assert self.transport is not None
        if not self._ended.called:
            self.transport.signalProcess("KILL")
        return self._ended

    def outReceived(self, data: bytes) -> None:
        self._log.write(data)

    errReceived = outReceived

    def processEnded(self, reason: Any) -> None:
        self._log.close()
        self._ended.callback(None)


class KubernetesControllerTests(TestCase):
    """Skipped where the two programs are not on the PATH."""

    timeout = 600
    if not (shutil.which(MANAGER) and shutil.which(SCHEDULER)):
        skip = f"{MANAGER} and {SCHEDULER} are not on the PATH"

    async def setUp(self) -> None:  # type: ignore[override]
        self.server = ServerProcess(forking, self.mktemp(), "--vocabulary=kubernetes", "--controllers=-*")
        await self.server.start()
        self.addCleanup(self.server.kill9)
        self.client = Client(self.server.port, tls_context(self.server.kubeconfig))
        self.addCleanup(self.client.close)
        self.agents = NodeAgents(self.client, NODES)
        await self.agents.start()
        self.addCleanup(self.agents.stop)
        self.program(MANAGER, "--controllers=*,-csrsigning,-attachdetach", "--leader-elect=false", "--v=2")
        self.program(SCHEDULER, "--leader-elect=false", "--v=2")
        await self.created("/api/v1/namespaces", {"metadata": {"name": "work"}})

    def program(self, name: str, *flags: str) -> None:
        """Start one of Kubernetes' programs; it ends with the test."""
        access = f"--kubeconfig={self.server.kubeconfig}"
        command = (shutil.which(name) or name, access, *flags, "--port=0", "--secure-port=0")
        folder = Path(self.mktemp())
        folder.mkdir()
        program = _Program(folder / "log")
        reactor.spawnProcess(program, command[0], command, environment(), str(folder))
        self.addCleanup(program.kill)

    async def created(self, path: str, obj: Object) -> Object:
        answer = await self.client.post(path, obj)
        self.assertEqual(answer.code, 201, answer)
        made: Object = answer.json
        return made

    async def until(self, what: str, true: Callable[[], Awaitable[bool]]) -> None:
        """Wait for the world to become so."""
        for _ in range(int(PATIENCE_S / LOOK_S)):
            if await true():
                return
            await deferLater(reactor, LOOK_S, lambda: None)
        events = [event.get("message") for event in (await self.client.get(f"{CORE}/events")).json["items"]]
        self.fail(f"not in time: {what}; {self.agents.failures[:3]}; {events[-10:]}")

    async def status(self, path: str) -> Object:
        status: Object = (await self.client.get(path)).json.get("status", {})
        return status

    async def test_day(self) -> None:
        """Daily work of the controllers ends as on any cluster."""
        await self.roll_out()
        await self.complete_jobs()
        await self.fill_nodes()
        await self.clean_up()
        self.assertEqual(self.agents.failures, [])

    async def roll_out(self) -> None:
        """A deployment comes up, its endpoints follow, and a new version replaces the old one pod by pod."""
        await self.created(f"{APPS}/deployments", _workload("web", replicas=3))
        service = {"selector": {"app": "web"}, "ports": [{"port": 80}]}
        await self.created(f"{CORE}/services", {"metadata": {"name": "web"}, "spec": service})
        path = f"{APPS}/deployments/web"

        async def available() -> bool:
            status = await self.status(path)
            return status.get("availableReplicas") == status.get("updatedReplicas") == status.get("replicas") == 3

        async def endpoints() -> bool:
            subsets = (await self.client.get(f"{CORE}/endpoints/web")).json.get("subsets") or []
            return sum(len(subset.get("addresses") or ()) for subset in subsets) == 3

        await self.until("three pods", available)
        await self.until("three endpoints", endpoints)
        change = {"spec": {"template": {"metadata": {"annotations": {"version": "2"}}}}}
        self.assertEqual((await self.client.merge(path, change)).code, 200)

        async def replaced() -> bool:
            sets = (await self.client.get(f"{APPS}/replicasets?labelSelector=app%3Dweb")).json["items"]
            sizes = sorted(each["status"]["replicas"] for each in sets)
            return sizes == [0, 3] and await available()

        await self.until("the new version", replaced)

    async def complete_jobs(self) -> None:
        """A job with several completions ends, and a cron job makes jobs."""
        job = {"parallelism": 2, "completions": 4, "template": _template("sum", restartPolicy="Never")}
        await self.created(f"{BATCH}/jobs", {"metadata": {"name": "sum"}, "spec": job})

        async def complete() -> bool:
            status = await self.status(f"{BATCH}/jobs/sum")
            kinds = {each["type"] for each in status.get("conditions") or () if each["status"] == "True"}
            return status.get("succeeded") == 4 and "Complete" in kinds

        await self.until("the job's end", complete)
        made = {"spec": {"template": _template("cron", restartPolicy="Never")}}
        cron = {"schedule": "* * * * *", "jobTemplate": made}
        await self.created(f"{BATCH}/cronjobs", {"metadata": {"name": "cron"}, "spec": cron})

        async def ran() -> bool:
            return bool((await self.status(f"{BATCH}/cronjobs/cron")).get("lastScheduleTime"))

        await self.until("a run of the cron job", ran)

    async def fill_nodes(self) -> None:
        """A daemon set has a pod on each node, a stateful set's pods come up one after the other."""
        await self.created(f"{APPS}/daemonsets", _workload("agent"))
        await self.created(f"{APPS}/statefulsets", _workload("db", replicas=3, serviceName="db"))

        async def up() -> bool:
            daemons = await self.status(f"{APPS}/daemonsets/agent")
            ordered = await self.status(f"{APPS}/statefulsets/db")
            return daemons.get("numberReady") == len(NODES) and ordered.get("readyReplicas") == 3

        await self.until("daemons and ordered pods", up)
        pods = (await self.client.get(f"{CORE}/pods?labelSelector=app%3Ddb")).json["items"]
        self.assertEqual({pod["metadata"]["name"] for pod in pods}, {"db-0", "db-1", "db-2"})
        scale = {"spec": {"replicas": 1}}
        self.assertEqual((await self.client.merge(f"{APPS}/statefulsets/db/scale", scale)).code, 200)

        async def smaller() -> bool:
            return (await self.status(f"{APPS}/statefulsets/db")).get("replicas") == 1

        await self.until("one pod left", smaller)

    async def clean_up(self) -> None:
        """The pods of a deleted deployment go, and the namespace with all that is left."""
        await self.client.delete(f"{APPS}/deployments/web")

        async def gone() -> bool:
            return not (await self.client.get(f"{CORE}/pods?labelSelector=app%3Dweb")).json["items"]

        await self.until("no pods of the deployment", gone)
        await self.client.delete("/api/v1/namespaces/work")

        async def no_namespace() -> bool:
            return (await self.client.get("/api/v1/namespaces/work")).code == 404

        await self.until("the end of the namespace", no_namespace)
