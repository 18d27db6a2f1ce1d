"""Quotas and limit ranges against the real server (reference PLUG-29, PLUG-33, CTRL-33)."""

from __future__ import annotations

from http.client import HTTPException
from typing import Any

from twisted.internet.defer import Deferred, gatherResults
from twisted.internet.task import deferLater
from twisted.trial.unittest import TestCase

from orchtw.testing.kubectl import Kubectl
from orchtw.testing.process import ServerProcess
from orchtw.wire.objects import Object
from tests.end_to_end.case import NO_KUBECTL, ServerCase, reactor
from tests.end_to_end.client import Answer, Client, tls_context
from tests.forked import forking

THREADS = 40
LIMIT_S = 60.0
DEFAULT = "/api/v1/namespaces/default"


def pod(name: str, cpu: str = "") -> Object:
    resources = {"requests": {"cpu": cpu}} if cpu else {}
    return {"metadata": {"name": name}, "spec": {"containers": [{"name": "c", "image": "i", "resources": resources}]}}


async def used_is(client: Client, path: str, expected: Object) -> Object:
    """The use that a quota shows, once it is as expected, or after a while."""
    shown: Object = {}
    end = reactor.seconds() + LIMIT_S
    while reactor.seconds() < end:
        shown = (await client.get(path)).json.get("status", {}).get("used", {})
        if shown == expected:
            break
        await deferLater(reactor, 0.02)
    return shown


class QuotaTests(ServerCase):
    async def quota(self, hard: Object) -> str:
        """A quota that has been counted; its path."""
        await self.created(self.core("resourcequotas"), {"metadata": {"name": "rq"}, "spec": {"hard": hard}})
        path = self.core("resourcequotas", "rq")
        await used_is(self.client, path, dict.fromkeys(hard, "0"))
        return path

    def many_threads(self) -> None:
        """Let many requests be under way at a time."""
        pool = reactor.getThreadPool()
        least, most = pool.min, pool.max
        pool.adjustPoolsize(0, THREADS)
        self.addCleanup(lambda: pool.adjustPoolsize(least, most))

    async def test_races(self) -> None:
        """Of 200 racing creates exactly as many as fit are admitted, and deletions make room for as many again."""
        self.many_threads()
        hard = {"pods": "90", "requests.cpu": "6"}
        path = await self.quota(hard)
        sent = [Deferred.fromCoroutine(self.client.post(self.core("pods"), pod(f"p{i}", "100m"))) for i in range(200)]
        answers: list[Answer] = await gatherResults(sent)
        codes = [answer.code for answer in answers]
        self.assertEqual((codes.count(201), codes.count(403)), (60, 140))
        refused = next(answer for answer in answers if answer.code == 403)
        self.assertIn("exceeded quota: rq, requested: requests.cpu=100m", refused.json["message"])
        expected = {"pods": "60", "requests.cpu": "6"}
        self.assertEqual((await self.client.get(path)).json["status"]["used"], expected)
        admitted = [answer.json["metadata"]["name"] for answer in answers if answer.code == 201]
        gone = [Deferred.fromCoroutine(self.client.delete(self.core("pods", name))) for name in admitted[:25]]
        again = [Deferred.fromCoroutine(self.client.post(self.core("pods"), pod(f"q{i}", "1m"))) for i in range(10)]
        await gatherResults(gone + again)
        live = len((await self.client.get(self.core("pods"))).json["items"])
        milli = 35 * 100 + (live - 35)
        expected = {"pods": str(live), "requests.cpu": f"{milli}m"}
        self.assertEqual(await used_is(self.client, path, expected), expected)

    async def test_failures_after_charging(self) -> None:
        """Charges of failed writes are given back."""
        path = await self.quota({"configmaps": "50"})
        for code in (201, 409, 409, 409):
            answer = await self.client.post(self.core("configmaps"), {"metadata": {"name": "m"}})
            self.assertEqual(answer.code, code)
        self.assertEqual(await used_is(self.client, path, {"configmaps": "1"}), {"configmaps": "1"})

    async def test_limit_ranges(self) -> None:
        """A limit range gives pods what a quota asks of them."""
        await self.quota({"limits.cpu": "1"})
        answer = await self.client.post(self.core("pods"), pod("a"))
        self.assertRefused(
            answer, 403, "Forbidden", 'pods "a" is forbidden: failed quota: rq: must specify limits.cpu'
        )
        limits = [{"type": "Container", "default": {"cpu": "600m"}}]
        await self.created(self.core("limitranges"), {"metadata": {"name": "lr"}, "spec": {"limits": limits}})
        await self.created(self.core("pods"), pod("a"))
        answer = await self.client.post(self.core("pods"), pod("b"))
        self.assertRefused(
            answer,
            403,
            "Forbidden",
            'pods "b" is forbidden: exceeded quota: rq, requested: limits.cpu=600m, used: limits.cpu=600m, '
            "limited: limits.cpu=1",
        )


class KubernetesQuotaTests(QuotaTests):
    vocabulary = "kubernetes"


class KubectlTests(ServerCase):
    vocabulary = "kubernetes"
    if NO_KUBECTL:
        skip = NO_KUBECTL

    async def test_quota(self) -> None:
        """`kubectl` makes a quota, shows what is used, and is refused what does not fit."""
        kubectl = Kubectl(forking, self.server.kubeconfig, self.mktemp())

        async def run(*arguments: str) -> Any:
            return await kubectl.run(f"--namespace={self.namespace}", *arguments)

        made = await run("create", "quota", "rq", "--hard=pods=1,requests.cpu=1,count/deployments.apps=2")
        self.assertEqual(made.output, "resourcequota/rq created\n", made)
        zero = {"count/deployments.apps": "0", "pods": "0", "requests.cpu": "0"}
        self.assertEqual(await used_is(self.client, self.core("resourcequotas", "rq"), zero), zero)
        limits = [{"type": "Container", "defaultRequest": {"cpu": "250m"}}]
        await self.created(self.core("limitranges"), {"metadata": {"name": "lr"}, "spec": {"limits": limits}})
        first = await run("run", "a", "--image=i")
        self.assertEqual(first.output, "pod/a created\n", first)
        second = await run("run", "b", "--image=i")
        self.assertEqual(second.status, 1)
        self.assertEqual(
            second.errors,
            'Error from server (Forbidden): pods "b" is forbidden: exceeded quota: rq, requested: pods=1, '
            "used: pods=1, limited: pods=1\n",
        )
        shown = (await run("describe", "quota", "rq")).output.split("\n")
        rows = [line.split() for line in shown if line]
        self.assertIn(["pods", "1", "1"], rows)
        self.assertIn(["requests.cpu", "250m", "1"], rows)
        self.assertIn(["count/deployments.apps", "0", "2"], rows)
        described = (await run("describe", "pod", "a")).output
        self.assertIn("kubernetes.io/limit-ranger: LimitRanger plugin set: cpu request for container a", described)


class RestartTests(TestCase):
    """kill -9 under writers: the use is exact again after the next start."""

    timeout = 120

    async def test_kill_9(self) -> None:
        """Whatever was on its way, what is used is what is there (reference CTRL-33)."""
        server = ServerProcess(forking, self.mktemp())
        self.addCleanup(server.kill9)
        await server.start()
        client = Client(server.port, tls_context(server.kubeconfig))
        self.addCleanup(client.close)
        hard = {"configmaps": "1000", "count/configmaps": "1000"}
        await client.post(f"{DEFAULT}/resourcequotas", {"metadata": {"name": "rq"}, "spec": {"hard": hard}})
        for round_ in range(2):
            await self.write_until_killed(server, client, round_)
            await server.start()
            client = Client(server.port, tls_context(server.kubeconfig))
            self.addCleanup(client.close)
            live = len((await client.get(f"{DEFAULT}/configmaps")).json["items"])
            expected = dict.fromkeys(hard, str(live))
            self.assertEqual(await used_is(client, f"{DEFAULT}/resourcequotas/rq", expected), expected)
        self.assertEqual(await server.terminate(), 0)
        self.assertNotIn("Traceback", server.log)

    async def write_until_killed(self, server: ServerProcess, client: Client, round_: int) -> None:
        answered: list[int] = []

        async def write(writer: int) -> None:
            for number in range(1000):
                name = f"r{round_}-w{writer}-{number}"
                try:
                    answer = await client.post(f"{DEFAULT}/configmaps", {"metadata": {"name": name}})
                    if number % 3 == 2:
                        await client.delete(f"{DEFAULT}/configmaps/{name}")
                except (OSError, HTTPException):
                    return
                answered.append(answer.code)
                if len(answered) == 60:
                    await server.kill9()

        await gatherResults([Deferred.fromCoroutine(write(writer)) for writer in range(8)])
        self.assertEqual(set(answered), {201})
