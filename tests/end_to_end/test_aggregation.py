"""Two servers, one behind the other (reference AGG-2 to AGG-15)."""

from __future__ import annotations

import json
import os
import signal
from base64 import b64encode
from collections.abc import Awaitable, Callable
from datetime import UTC, datetime
from http.client import HTTPException
from itertools import count
from pathlib import Path
from typing import Any

import attrs
from twisted.internet.defer import ensureDeferred
from twisted.internet.task import deferLater
from twisted.trial.unittest import TestCase

from orchtw.pki import certificates
from orchtw.testing.kubectl import Kubectl
from orchtw.testing.process import ServerProcess
from orchtw.wire.objects import Object
from tests.end_to_end.case import NO_KUBECTL, TRACEBACKS, reactor, shared_server
from tests.end_to_end.client import Client, tls_context
from tests.forked import forking

SERVICES = "/apis/apiregistration.{}/v1/apiservices"
LOOK_S = 0.05
CONTAINER: Object = {"name": "c", "image": "example.com/job:1"}
JOB: Object = {"template": {"spec": {"restartPolicy": "Never", "containers": [CONTAINER]}}}


@attrs.frozen(slots=True)
class Pair:
    """Two servers; requests for batch/v1 pass through the front one."""

    front: ServerProcess
    back: ServerProcess
    back_flags: tuple[str, ...]
    authority: bytes

    @property
    def running(self) -> bool:
        """Report whether both servers run: unused ones are ended."""
        return self.front.running and self.back.running


_pairs: dict[str, Pair] = {}
_numbers = count(1)


async def pair(folder: Path, vocabulary: str, *more: str) -> Pair:
    """Both, started, the back one with `more` flags; the authority is that of its certificate, which is for the name
    of its Service.
    """
    folder.mkdir()
    own = f"--min-request-timeout={1800 + next(_numbers)}"  # nobody else's server has these flags
    off = "--runtime-config=batch/v1=false,batch/v1beta1=false"
    front = await shared_server(str(folder / "front"), f"--vocabulary={vocabulary}", off, own)
    chain, key, authority = certificate_for(folder, "batch.elsewhere.svc")
    flags = (
        f"--vocabulary={vocabulary}",
        f"--tls-cert-file={chain}",
        f"--tls-private-key-file={key}",
        f"--requestheader-client-ca-file={front.data_dir / 'pki' / 'front-proxy-ca.crt'}",
        "--requestheader-username-headers=X-Remote-User",
        "--requestheader-group-headers=X-Remote-Group",
        "--requestheader-extra-headers-prefix=X-Remote-Extra-",
        "--requestheader-allowed-names=front-proxy-client",
        *more,
    )
    return Pair(front, await shared_server(str(folder / "back"), *flags), flags, authority)


class AggregationCase(TestCase):
    """The front does not serve batch/v1 itself: an APIService leads to a server that does."""

    vocabulary = "orch"
    domain = "orch.io"
    alone = False
    back_flags: tuple[str, ...] = ()
    timeout = 180

    async def setUp(self) -> None:  # type: ignore[override]
        name = self.id() if self.alone else self.vocabulary
        if name not in _pairs or not _pairs[name].running:
            _pairs[name] = await pair(Path(self.mktemp()), self.vocabulary, *self.back_flags)
            self.both = _pairs[name]
            await self.joined()
        self.both = _pairs[name]
        self.client, self.direct = self.client_of(self.both.front), self.client_of(self.both.back)
        self._logged = len(self.both.front.log), len(self.both.back.log)
        self.addCleanup(self.no_tracebacks)

    async def joined(self) -> None:
        """Register the one with the other."""
        self.client, self.direct = self.client_of(self.both.front), self.client_of(self.both.back)
        for client in (self.client, self.direct):
            await self.made(client, "/api/v1/namespaces", {"metadata": {"name": "elsewhere"}})
        await self.register(self.both.back.port, self.both.authority)

    @property
    def services(self) -> str:
        """The path of APIServices."""
        return SERVICES.format(self.domain)

    def no_tracebacks(self) -> None:
        for server, logged in zip((self.both.front, self.both.back), self._logged, strict=True):
            lines = server.log[logged:].splitlines()
            found = [at for at, line in enumerate(lines) if any(word in line for word in TRACEBACKS)]
            self.assertFalse(found, "\n".join(lines[found[0] :]) if found else "")

    def client_of(self, server: ServerProcess) -> Client:
        """Return the administrator's client."""
        client = Client(server.port, tls_context(server.kubeconfig))
        self.addCleanup(client.close)
        return client

    async def made(self, client: Client, path: str, obj: Object) -> Object:
        answer = await client.post(path, obj)
        self.assertEqual(answer.code, 201, answer)
        found: Object = answer.json
        return found

    async def register(self, port: int, authority: bytes) -> None:
        """Have batch/v1 served by the other one, found by a name outside of the cluster."""
        name = {"metadata": {"name": "batch"}, "spec": {"type": "ExternalName", "externalName": "localhost"}}
        await self.made(self.client, "/api/v1/namespaces/elsewhere/services", name)
        service: Object = {
            "group": "batch",
            "version": "v1",
            "groupPriorityMinimum": 17400,
            "versionPriority": 15,
            "caBundle": b64encode(authority).decode(),
            "service": {"namespace": "elsewhere", "name": "batch", "port": port},
        }
        await self.made(self.client, self.services, {"metadata": {"name": "v1.batch"}, "spec": service})
        await self.until_available("True")

    async def until(self, ask: Callable[[], Awaitable[Any]], wanted: Callable[[Any], bool]) -> Any:
        """Ask again until the answer is as wanted; the test's own time limit ends it."""
        while not wanted(found := await ask()):
            await deferLater(reactor, LOOK_S)
        return found

    async def until_available(self, status: str) -> Object:
        """The condition once it has that status."""

        async def condition() -> Object:
            found = (await self.client.get(f"{self.services}/v1.batch")).json
            conditions = found.get("status", {}).get("conditions") or [{"status": ""}]
            return dict(conditions[0])

        met: Object = await self.until(condition, lambda found: found["status"] == status)
        return met

    def jobs(self, *rest: str) -> str:
        return "/".join(("/apis/batch/v1/namespaces/elsewhere/jobs", *rest))

class ServedTests(AggregationCase):
    async def test_served(self) -> None:
        """Writes in front are stored behind, in the user's name; requests for this server's own groups
        stay here (reference AGG-4, AGG-5).
        """
        made = await self.made(self.client, self.jobs(), {"metadata": {"name": "one"}, "spec": JOB})
        self.assertEqual((await self.direct.get(self.jobs("one"))).json["metadata"]["uid"], made["metadata"]["uid"])
        changed = await self.client.merge(self.jobs("one"), {"metadata": {"labels": {"a": "b"}}})
        self.assertEqual(changed.json["metadata"]["labels"]["a"], "b")
        listed = await self.client.get(f"{self.jobs()}?labelSelector=a%3Db&limit=5")
        self.assertEqual([each["metadata"]["name"] for each in listed.json["items"]], ["one"])
        self.assertEqual((await self.client.delete(f"{self.jobs('one')}?propagationPolicy=Background")).code, 200)
        refused = await self.client.get(self.jobs("one"))
        self.assertEqual((refused.code, refused.json["message"]), (404, 'jobs.batch "one" not found'))
        bad = await self.client.post(self.jobs(), {"metadata": {"name": "Bad"}, "spec": JOB})
        self.assertEqual(bad.code, 422)
        self.assertEqual((await self.client.get("/apis/batch/v1beta1/cronjobs")).code, 404)

    async def test_watch(self) -> None:
        """Events pass as they happen (reference AGG-4)."""
        version = (await self.client.get(self.jobs())).version
        watch = await self.client.watch(f"{self.jobs()}?watch=1&resourceVersion={version}")
        await self.made(self.direct, self.jobs(), {"metadata": {"name": "one"}, "spec": JOB})
        self.assertEqual(await watch.types(1), [("ADDED", "one")])
        await self.direct.delete(f"{self.jobs('one')}?propagationPolicy=Background")
        self.assertEqual((await watch.types(1))[0][1], "one")

    async def test_described(self) -> None:
        """Discovery and OpenAPI show the other server's part (reference AGG-9, AGG-13)."""
        groups = (await self.client.get("/apis")).json["groups"]
        versions = {group["name"]: [each["version"] for each in group["versions"]] for group in groups}
        self.assertEqual(versions["batch"], ["v1"])
        found = (await self.client.get("/apis/batch/v1")).json
        self.assertIn("cronjobs", [each["name"] for each in found["resources"]])

        async def index() -> Object:
            paths: Object = (await self.client.get("/openapi/v3")).json["paths"]
            return paths

        paths = await self.until(index, lambda paths: "apis/batch/v1" in paths)
        document = await self.client.get(paths["apis/batch/v1"]["serverRelativeURL"])
        self.assertIn("/apis/batch/v1/namespaces/{namespace}/jobs", document.json["paths"])
        both = (await self.client.get("/openapi/v2")).json
        self.assertIn("/apis/batch/v1/namespaces/{namespace}/jobs", both["paths"])
        self.assertIn("/apis/apps/v1/namespaces/{namespace}/deployments", both["paths"])
        binary = await self.client.get("/openapi/v2", "application/com.github.proto-openapi.spec.v2.v1.0+protobuf")
        self.assertIn(b"/apis/batch/v1/namespaces/{namespace}/jobs", binary.body)

    async def test_headers_of_others(self) -> None:
        """User headers of clients are not trusted, neither here nor behind (reference AGG-5, AUTHN-38)."""
        lies = {"X-Remote-User": "somebody", "X-Remote-Group": "system:masters", "X-Remote-Extra-A": "b"}
        direct = Client(self.both.back.port, tls_context(self.both.back.kubeconfig, certificate=False), lies)
        self.addCleanup(direct.close)
        self.assertEqual((await direct.get(self.jobs())).code, 403)
        front = Client(self.both.front.port, tls_context(self.both.front.kubeconfig, certificate=False), lies)
        self.addCleanup(front.close)
        self.assertIn("system:anonymous", (await front.get(self.jobs())).json["message"])

    async def test_kubectl(self) -> None:
        """Unmodified, through both (reference CLIENT-1)."""
        if NO_KUBECTL:
            self.skipTest(NO_KUBECTL)
        run = Kubectl(forking, self.both.front.kubeconfig, self.mktemp()).run
        manifest = {"apiVersion": "batch/v1", "kind": "Job", "metadata": {"name": "one"}, "spec": JOB}
        for arguments, stdin, text in (
            (("apply", "-f", "-"), json.dumps(manifest), "job.batch/one created"),
            (("get", "jobs"), "", "one "),
            (("label", "job", "one", "a=b"), "", "job.batch/one labeled"),
            (("get", "job", "one", "-o", "jsonpath={.metadata.labels.a}"), "", "b"),
            (("delete", "job", "one", "--wait=false"), "", 'job.batch "one" deleted'),
        ):
            result = await run("--namespace=elsewhere", *arguments, stdin=stdin)
            self.assertEqual(result.status, 0, result)
            self.assertIn(text, result.output)


class KubernetesServedTests(ServedTests):
    """The same under the other names."""

    vocabulary = "kubernetes"
    domain = "k8s.io"


class GoneTests(AggregationCase):
    alone = True

    async def test_gone_and_back(self) -> None:
        """A server that is killed is unavailable: 503, and no part of discovery; it comes back by itself
        (reference AGG-3, AGG-6).
        """
        watch = await self.client.watch(f"{self.jobs()}?watch=1")
        back, port = self.both.back, self.both.back.port
        await back.kill9()
        with self.assertRaises((OSError, HTTPException)):
            await watch.rest()

        async def refusal() -> str:
            answer = await self.client.get(self.jobs())
            self.assertEqual((answer.code, answer.headers["content-type"]), (503, "text/plain; charset=utf-8"))
            return answer.body.decode()

        # A failing request within a second of a check causes no further one: go on asking, as clients do.
        while (found := await refusal()) != "service unavailable\n":
            self.assertRegex(found, r"\Aerror trying to reach service: .*\n\Z")
            await deferLater(reactor, LOOK_S)
        met = await self.until_available("False")
        self.assertEqual(met["reason"], "FailedDiscoveryCheck")
        self.assertEqual((await self.client.get(self.jobs())).body, b"service unavailable\n")
        self.assertNotIn("batch", [each["name"] for each in (await self.client.get("/apis")).json["groups"]])
        self.assertEqual((await self.client.get("/api/v1/namespaces/elsewhere/configmaps")).code, 200)
        server = ServerProcess(forking, back.data_dir, *self.both.back_flags, f"--secure-port={port}")
        await server.start()
        self.addCleanup(lambda: ensureDeferred(server.terminate()))
        await self.until_available("True")
        self.assertEqual((await self.client.get(self.jobs())).code, 200)


class ContentsCase(AggregationCase):
    """The other server runs no controllers: whatever becomes of its objects, the front one has done."""

    alone = True
    back_flags = ("--controllers=-*",)

    async def answered(self, path: str) -> int:
        """The code of an answer."""
        return (await self.client.get(path)).code


class NamespaceContentsTests(ContentsCase):
    async def test_contents_go(self) -> None:
        """Objects of an aggregated server go with their namespace (reference CTRL-10)."""
        for name in ("one", "two"):
            await self.made(self.client, self.jobs(), {"metadata": {"name": name}, "spec": JOB})
        await self.made(self.direct, "/api/v1/namespaces", {"metadata": {"name": "other"}})
        other = self.jobs().replace("elsewhere", "other")
        await self.made(self.direct, other, {"metadata": {"name": "one"}, "spec": JOB})
        await self.register_elsewhere()
        self.assertEqual((await self.client.delete("/api/v1/namespaces/elsewhere")).code, 200)
        await self.until(lambda: self.answered("/api/v1/namespaces/elsewhere"), lambda code: code == 404)
        self.assertEqual((await self.direct.get(self.jobs())).json["items"], [])
        self.assertEqual(len((await self.direct.get(other)).json["items"]), 1)

    async def test_failing_discovery(self) -> None:
        """While a group cannot be asked the namespace stays, and says so; then it goes (reference CTRL-10,
        CTRL-12).
        """
        await self.made(self.client, self.jobs(), {"metadata": {"name": "one"}, "spec": JOB})
        await self.register_elsewhere()
        back, port = self.both.back, self.both.back.port
        await back.kill9()
        self.assertEqual((await self.client.delete("/api/v1/namespaces/elsewhere")).code, 200)

        async def condition() -> Object:
            found = (await self.client.get("/api/v1/namespaces/elsewhere")).json
            conditions = {each["type"]: each for each in found["status"].get("conditions") or ()}
            return dict(conditions.get("NamespaceDeletionDiscoveryFailure") or {"status": ""})

        met = await self.until(condition, lambda found: found["status"] == "True")
        text = (
            "Discovery failed for some groups, 1 failing: unable to retrieve the complete list of server APIs: "
            "batch/v1: the server is currently unable to handle the request"
        )
        self.assertEqual((met["reason"], met["message"]), ("DiscoveryFailed", text))
        server = ServerProcess(forking, back.data_dir, *self.both.back_flags, f"--secure-port={port}")
        await server.start()
        self.addCleanup(lambda: ensureDeferred(server.terminate()))
        await self.until(lambda: self.answered("/api/v1/namespaces/elsewhere"), lambda code: code == 404)
        self.assertEqual((await self.direct.get(self.jobs())).json["items"], [])

    async def register_elsewhere(self) -> None:
        """Have the other server found by a Service of another namespace: this one is to go."""
        await self.made(self.client, "/api/v1/namespaces", {"metadata": {"name": "kept"}})
        name = {"metadata": {"name": "batch"}, "spec": {"type": "ExternalName", "externalName": "localhost"}}
        await self.made(self.client, "/api/v1/namespaces/kept/services", name)
        service: Object = {"caBundle": None, "insecureSkipTLSVerify": True, "service": {"namespace": "kept"}}
        changed = await self.client.merge(f"{self.services}/v1.batch", {"spec": service})
        self.assertEqual(changed.code, 200, changed)
        await self.until(lambda: self.answered(self.jobs()), lambda code: code == 200)


class KubernetesNamespaceContentsTests(NamespaceContentsTests):
    """The same under the other names."""

    vocabulary = "kubernetes"
    domain = "k8s.io"


class GarbageTests(ContentsCase):
    async def owned(self, client: Client, path: str, name: str, owner: Object, **more: object) -> Object:
        """An object that is made with an owner."""
        reference = {key: owner[key] for key in ("apiVersion", "kind")} | {
            key: owner["metadata"][key] for key in ("name", "uid")
        }
        return await self.made(client, path, {"metadata": {"name": name, "ownerReferences": [reference]}, **more})

    async def test_owners_here(self) -> None:
        """Objects of an aggregated server go after an owner in this one (reference CTRL-13)."""
        maps = "/api/v1/namespaces/elsewhere/configmaps"
        owners = [await self.made(self.client, maps, {"metadata": {"name": name}}) for name in ("a", "b")]
        for owner in owners:
            await self.owned(self.client, self.jobs(), f"of-{owner['metadata']['name']}", owner, spec=JOB)
        await self.client.delete(f"{maps}/a")
        await self.until(lambda: self.answered(self.jobs("of-a")), lambda code: code == 404)
        self.assertEqual(await self.answered(self.jobs("of-b")), 200)

    async def test_owners_there(self) -> None:
        """Objects of this server go after an owner in an aggregated one, and not while that one
        cannot be asked (reference CTRL-13, CTRL-17).
        """
        maps = "/api/v1/namespaces/elsewhere/configmaps"
        job = await self.made(self.client, self.jobs(), {"metadata": {"name": "a"}, "spec": JOB})
        gone = {**job, "metadata": {**job["metadata"], "uid": "11111111-2222-3333-4444-555555555555"}}
        await self.owned(self.client, maps, "kept", job)
        await self.owned(self.client, maps, "stray", gone)
        await self.until(lambda: self.answered(f"{maps}/stray"), lambda code: code == 404)
        back, port = self.both.back, self.both.back.port
        await back.kill9()
        await self.owned(self.client, maps, "late", gone)
        local = await self.made(self.client, maps, {"metadata": {"name": "local"}})
        await self.owned(self.client, maps, "dependent", local)
        await self.client.delete(f"{maps}/local")
        await self.until(lambda: self.answered(f"{maps}/dependent"), lambda code: code == 404)
        self.assertEqual([await self.answered(f"{maps}/{name}") for name in ("kept", "late")], [200, 200])
        server = ServerProcess(forking, back.data_dir, *self.both.back_flags, f"--secure-port={port}")
        await server.start()
        self.addCleanup(lambda: ensureDeferred(server.terminate()))
        await self.until(lambda: self.answered(f"{maps}/late"), lambda code: code == 404)
        self.assertEqual(await self.answered(f"{maps}/kept"), 200)
        await self.direct.delete(f"{self.jobs('a')}?propagationPolicy=Background")
        await self.until(lambda: self.answered(f"{maps}/kept"), lambda code: code == 404)


class EndTests(AggregationCase):
    alone = True

    async def test_front_ends(self) -> None:
        """A server that ends does not wait for the watches that it passes on (reference OPS-14)."""
        watch = await self.client.watch(f"{self.jobs()}?watch=1")
        self.assertEqual(await self.both.front.terminate(), 0)
        self.assertEqual(await watch.rest(), [])


class SlowTests(AggregationCase):
    async def test_slow(self) -> None:
        """A server that does not answer holds up its own requests alone (reference AGG-11)."""
        os.kill(self.both.back.pid, signal.SIGSTOP)
        self.addCleanup(os.kill, self.both.back.pid, signal.SIGCONT)
        waiting = [ensureDeferred(self.client.get(f"{self.jobs()}?timeout=2s")) for _ in range(3)]
        for _ in range(20):
            self.assertEqual((await self.client.get("/api/v1/namespaces/elsewhere")).code, 200)
        self.assertFalse(any(each.called for each in waiting))
        self.assertEqual([(await each).code for each in waiting], [504] * 3)
        os.kill(self.both.back.pid, signal.SIGCONT)
        self.assertEqual((await self.client.get(self.jobs())).code, 200)

def certificate_for(folder: Path, name: str) -> tuple[Path, Path, bytes]:
    """Files of a serving certificate with its authority behind it, and of its key; the authority as PEM."""
    now = datetime.now(UTC)
    authority, key = certificates.new_authority("test", now), certificates.new_key()
    hosts = (name, "localhost", "127.0.0.1")
    own = certificates.issue(authority, key, "test", certificates.SERVER, now, hosts=hosts)
    pem = certificates.pem(authority.certificate)
    chain, private = folder / "serving.crt", folder / "serving.key"
    chain.write_bytes(certificates.pem(own) + pem)
    private.write_bytes(certificates.key_pem(key))
    private.chmod(0o600)
    return chain.absolute(), private.absolute(), pem
