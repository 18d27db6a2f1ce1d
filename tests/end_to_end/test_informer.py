"""Followers that fall behind a compaction list again and come to the right end (reference READ-9)."""

from __future__ import annotations

import os
from typing import Any

from twisted.internet.threads import deferToThread

from orchtw.testing.kubectl import Kubectl
from tests.end_to_end.case import NO_KUBECTL, ServerCase
from tests.end_to_end.test_public_client import kubernetes
from tests.forked import forking

BURST = 150
"""Writes at a time: more than the 100 events that are kept however old they are (reference WATCH-4)."""

MAX_BURSTS = 40
LAST = "last"


class Informer:
    """Informers: list, watch from there, list again after a 410."""

    def __init__(self, v1: Any, namespace: str) -> None:
        self._v1 = v1
        self._namespace = namespace
        self.known: dict[str, str] = {}
        self.version = ""
        self.lists = 0

    def list(self) -> None:
        """Begin with a new list."""
        found = self._v1.list_namespaced_config_map(self._namespace)
        self.known = {item.metadata.name: item.metadata.resource_version for item in found.items}
        self.version = found.metadata.resource_version
        self.lists += 1

    def follow(self) -> bool:
        """Watch until the last object appears; False: the history is gone, list again."""
        watch = kubernetes.watch.Watch()
        stream = watch.stream(
            self._v1.list_namespaced_config_map,
            self._namespace,
            resource_version=self.version,
            timeout_seconds=30,
        )
        try:
            for event in stream:
                meta = event["object"].metadata
                self.version = meta.resource_version
                if event["type"] == "DELETED":
                    del self.known[meta.name]
                else:
                    self.known[meta.name] = meta.resource_version
                if meta.name == LAST:
                    watch.stop()
                    return True
        except kubernetes.client.ApiException as error:
            if error.status != 410:
                raise
            return False
        raise AssertionError("the watch ended before the last object came")


class InformerTests(ServerCase):
    """A server that keeps a quarter of a second of history."""

    vocabulary = "kubernetes"
    flags = ("--etcd-compaction-interval=250ms",)
    if kubernetes is None:
        skip = "the kubernetes package is not installed (extra `test`): not run"

    async def setUp(self) -> None:  # type: ignore[override]
        await super().setUp()
        api = kubernetes.config.new_client_from_config(str(self.server.kubeconfig))
        self.addCleanup(api.close)
        self.v1: Any = kubernetes.client.CoreV1Api(api)

    def write(self, name: str, number: int) -> None:
        """Create, or replace every second time, so that versions move."""
        body = {"metadata": {"name": name}, "data": {"n": str(number)}}
        try:
            self.v1.replace_namespaced_config_map(name, self.namespace, body)
        except kubernetes.client.ApiException as error:
            if error.status != 404:
                raise
            self.v1.create_namespaced_config_map(self.namespace, body)

    def storm(self, burst: int) -> None:
        """One burst of writes and a few removals."""
        for number in range(BURST):
            self.write(f"c{number % 20}", burst * BURST + number)
        self.v1.delete_namespaced_config_map(f"c{burst % 20}", self.namespace)

    async def test_converges(self) -> None:
        """An informer whose version has been compacted lists again and ends with what the server has."""
        await deferToThread(self._converge)

    def _converge(self) -> None:
        informer = Informer(self.v1, self.namespace)
        informer.list()
        behind = informer.version
        for burst in range(MAX_BURSTS):
            self.storm(burst)
            informer.version = behind
            informer.known = {}
            if self._gone(informer):
                break
        else:
            self.fail("the history was never cut")
        informer.list()
        self.storm(MAX_BURSTS)
        self.write(LAST, 0)
        # A list after a 410 may hold the last object already: then there is nothing left to wait for.
        while LAST not in informer.known and not informer.follow():
            informer.list()
        found = self.v1.list_namespaced_config_map(self.namespace)
        held = {item.metadata.name: item.metadata.resource_version for item in found.items}
        self.assertEqual(informer.known, held)
        self.assertGreater(informer.lists, 1)

    def _gone(self, informer: Informer) -> bool:
        """Report whether a watch from the informer's version is refused, within a second."""
        watch = kubernetes.watch.Watch()
        try:
            for _ in watch.stream(
                self.v1.list_namespaced_config_map,
                self.namespace,
                resource_version=informer.version,
                timeout_seconds=1,
            ):
                watch.stop()
        except kubernetes.client.ApiException as error:
            self.assertEqual(error.status, 410)
            return True
        return False

    async def test_kubectl_wait(self) -> None:
        """`kubectl wait` sees the end of an object through a storm of writes and compactions."""
        kubectl = Kubectl(forking, self.server.kubeconfig, os.path.abspath(self.mktemp()))
        await deferToThread(self.write, "awaited", 0)
        waiting = kubectl.start(
            f"--namespace={self.namespace}", "--v=6", "wait", "--for=delete", "configmap/awaited", "--timeout=60s"
        )
        await waiting.until("/configmaps/awaited")  # once it has read the object, which is not to be gone before
        await deferToThread(self.storm, 1)
        await deferToThread(self.v1.delete_namespaced_config_map, "awaited", self.namespace)
        result = await waiting.result
        self.assertEqual(result.status, 0, result.errors)

    if NO_KUBECTL:
        test_kubectl_wait.skip = NO_KUBECTL  # type: ignore[attr-defined]
