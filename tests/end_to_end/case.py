"""Base of the end-to-end tests: servers that outlive a test, clients, namespaces, skips."""

from __future__ import annotations

import atexit
import os
import ssl
from functools import cache
from itertools import count
from pathlib import Path
from typing import Any

from twisted.internet import reactor as installed_reactor
from twisted.internet.defer import Deferred, gatherResults
from twisted.internet.task import deferLater
from twisted.trial.unittest import TestCase

from orchtw.config import Config
from orchtw.naming.naming import Naming
from orchtw.schema.additions import Additions
from orchtw.schema.catalogue import Catalogue
from orchtw.schema.codec.codecs import Codecs
from orchtw.testing import kubectl
from orchtw.testing.process import ServerProcess
from orchtw.wire.objects import Object
from tests.end_to_end.client import Answer, Client, tls_context
from tests.forked import forking

reactor: Any = installed_reactor

NO_KUBECTL = None if kubectl.find() else "kubectl is not on the PATH (Debian package kubernetes-client): not run"
TRACEBACKS = ("Traceback", "Unhandled")

_numbers = count(1)
_shared: dict[tuple[str, ...], ServerProcess] = {}
_MOST_SHARED = 4  # servers at a time: idle ones take memory, and time of a machine that has none to spare


async def shared_server(folder: str, *flags: str) -> ServerProcess:
    """The server with these flags that serves all tests; `folder` is for its data if it is yet to be started."""
    server = _shared.pop(flags, None)
    if server is None or not server.running:
        while len(_shared) >= _MOST_SHARED:
            await _shared.pop(next(iter(_shared))).kill9()
        server = ServerProcess(forking, folder, *flags)
        await server.start()
    _shared[flags] = server
    return server


@cache
def _context(kubeconfig: Path, written_ns: int, certificate: bool) -> ssl.SSLContext:
    return tls_context(kubeconfig, certificate=certificate)


def shared_context(kubeconfig: Path, *, certificate: bool) -> ssl.SSLContext:
    """The TLS settings of a kubeconfig, as others with the same one get them: nobody changes them."""
    return _context(kubeconfig, kubeconfig.stat().st_mtime_ns, certificate)


def _end_all() -> Deferred[Any]:
    return gatherResults([Deferred.fromCoroutine(each.terminate()) for each in _shared.values() if each.running])


def _kill_all() -> None:
    for server in _shared.values():
        server.signal("KILL")


# The servers hold nothing in the reactor, so that trial does not find them; they end when it ends. The workers of
# `trial -j` end without a shutdown of their reactor.
reactor.addSystemEventTrigger("before", "shutdown", _end_all)
atexit.register(_kill_all)


class ServerCase(TestCase):
    """Tests against a server that other tests use too: each has a namespace of its own, and cluster objects' names.

    A test fails when the server logged a traceback meanwhile.
    """

    vocabulary = "orch"
    # Tests count the ConfigMaps of their namespaces; tests of the published one say so.
    flags: tuple[str, ...] = ("--controllers=*,-root-ca-cert-publisher",)
    timeout = 300

    async def setUp(self) -> None:  # type: ignore[override]
        self.server = await shared_server(self.mktemp(), f"--vocabulary={self.vocabulary}", *self.flags)
        self.naming = Naming.of(self.vocabulary)
        self._logged = len(self.server.log)
        self.addCleanup(self.no_tracebacks)
        self.client = self.new_client()
        self.namespace = await self.new_namespace()

    def new_client(self, **headers: str) -> Client:
        """A client with the administrator's certificate, closed at the end of the test."""
        client = Client(self.server.port, shared_context(self.server.kubeconfig, certificate=True), headers)
        self.addCleanup(client.close)
        return client

    def anonymous(self, **headers: str) -> Client:
        """A client that shows no certificate."""
        client = Client(self.server.port, shared_context(self.server.kubeconfig, certificate=False), headers)
        self.addCleanup(client.close)
        return client

    async def new_namespace(self) -> str:
        """A namespace that nobody else has, when all that controllers make in it is there."""
        name = self.unique("ns")
        answer = await self.client.post("/api/v1/namespaces", {"metadata": {"name": name}})
        self.assertEqual(answer.code, 201, answer)
        if not any("-serviceaccount" in flag for flag in self.flags):
            while (await self.client.get(self.core("serviceaccounts", "default", namespace=name))).code != 200:
                await deferLater(reactor, 0.01)
        return name

    def unique(self, prefix: str) -> str:
        """A name that no other test has."""
        return f"{prefix}-{next(_numbers)}"

    def core(self, plural: str, *rest: str, namespace: str = "") -> str:
        """The path of a core resource in the test's namespace."""
        return "/".join(("/api/v1/namespaces", namespace or self.namespace, plural, *rest))

    def group(self, group_version: str, plural: str, *rest: str) -> str:
        """The path of a named group's resource in the test's namespace."""
        return "/".join((f"/apis/{self.naming.api_version(group_version)}/namespaces", self.namespace, plural, *rest))

    async def created(self, path: str, obj: Object) -> Object:
        """Create an object; returns it as stored."""
        answer = await self.client.post(path, obj)
        self.assertEqual(answer.code, 201, answer)
        stored: Object = answer.json
        return stored

    def assertRefused(self, answer: Answer, code: int, reason: str, message: str) -> Object:
        """The answer is exactly this Status; returns it."""
        status: Object = answer.json
        self.assertEqual(
            (answer.code, status["kind"], status["apiVersion"], status["status"], status.get("reason", "")),
            (code, "Status", "v1", "Failure", reason),
            answer,
        )
        self.assertEqual(status["message"], message)
        self.assertEqual((status["code"], status["metadata"]), (code, {}))
        return status

    def no_tracebacks(self) -> None:
        """Whatever a client does, the server's log shows no failure of its own (reference ERR-40)."""
        logged = self.server.log[self._logged :] + self.server.errors
        for word in TRACEBACKS:
            self.assertNotIn(word, logged, logged)
        self.assertTrue(self.server.running)


_catalogues: dict[str, tuple[Catalogue, Codecs]] = {}


def surface(vocabulary: str) -> tuple[Catalogue, Codecs]:
    """The catalogue and codecs of a vocabulary, made once."""
    if vocabulary not in _catalogues:
        generic = Config.of().generic
        additions = Additions.of(generic.emulated, generic.gates, generic.gate_defaults)
        catalogue = Catalogue.load(Naming.of(vocabulary), additions)
        _catalogues[vocabulary] = catalogue, Codecs(catalogue)
    return _catalogues[vocabulary]


def full_size(name: str) -> bool:
    """Report whether the environment asks for the full size of a test."""
    return os.environ.get(name, "") not in ("", "0")
