"""Snapshots and resets of a running server, with a public client's watches, and the store in memory."""

from __future__ import annotations

import os
import threading
from typing import Any

from twisted.internet.task import deferLater
from twisted.internet.threads import deferToThread

from tests.end_to_end.case import ServerCase, reactor
from tests.end_to_end.client import Client, tls_context
from tests.end_to_end.test_start import ProcessCase
from tests.end_to_end.test_store_command import orch_store

kubernetes: Any
try:
    import kubernetes
    from kubernetes import watch as kubernetes_watch
except ImportError:
    kubernetes = None

STATE = "/debug/state"
MAPS = "/api/v1/namespaces/default/configmaps"
PATIENCE_S = 60.0
ROUNDS = 200
GROWTH_BYTES = 16 << 20
"""Memory by which the server may grow in that many resets: its caches of bounded size are filled, and the heap has
gaps.
"""


class Informer(threading.Thread):
    """A list and watch of config maps as operators do it: from the list on, and listing again after a 410."""

    def __init__(self, api: Any) -> None:
        super().__init__(daemon=True)
        self.objects: dict[str, tuple[str, Any]] = {}
        self.lists = 0
        self.events: list[str] = []
        self.ended = False
        self._v1 = kubernetes.client.CoreV1Api(api)
        self._watch: Any = None

    def run(self) -> None:
        """Follow the server until `stop`."""
        while not self.ended:
            found = self._v1.list_namespaced_config_map("default")
            self.objects = {each.metadata.name: self._state(each) for each in found.items}
            self.lists += 1
            try:
                self._follow(found.metadata.resource_version)
            except kubernetes.client.ApiException as error:
                if error.status != 410:
                    raise
            except Exception:
                if not self.ended:  # a watch that is stopped ends in the middle of its stream
                    raise

    def _follow(self, version: str) -> None:
        while not self.ended:
            self._watch = kubernetes_watch.Watch()
            call = self._v1.list_namespaced_config_map
            for event in self._watch.stream(call, "default", resource_version=version, timeout_seconds=5):
                self.events.append(event["type"])
                found = event["object"]
                version = found.metadata.resource_version
                if event["type"] == "DELETED":
                    self.objects.pop(found.metadata.name, None)
                else:
                    self.objects[found.metadata.name] = self._state(found)
                if self.ended:
                    return

    @staticmethod
    def _state(found: Any) -> tuple[str, Any]:
        return found.metadata.resource_version, found.data

    def stop(self) -> None:
        """Let it end soon."""
        self.ended = True
        if self._watch is not None:
            self._watch.stop()


class StateTests(ServerCase):
    """A server with its objects in memory."""

    vocabulary = "kubernetes"
    flags = ("--storage=memory", "--enable-state-control", "--controllers=*,-root-ca-cert-publisher")

    async def act(self, **action: str) -> Any:
        """Carry out an action on the state, which must succeed."""
        answer = await self.client.post(STATE, action)
        self.assertEqual(answer.code, 200, answer)
        return answer.json

    async def truth(self) -> dict[str, tuple[str, Any]]:
        """The config maps that there are."""
        items = (await self.client.get(MAPS)).json["items"]
        return {each["metadata"]["name"]: (each["metadata"]["resourceVersion"], each.get("data")) for each in items}

    async def write(self, number: int) -> None:
        """Create one, change one, delete one."""
        await self.client.post(MAPS, {"metadata": {"name": f"new{number}"}, "data": {"a": "1"}})
        await self.client.merge(f"{MAPS}/changed", {"data": {"a": str(number)}})
        await self.client.delete(f"{MAPS}/deleted")

    async def test_informers_see_the_truth(self) -> None:
        """A list and watch of the public client that goes on over restores has what the server has: by listing again
        after a 410, or by events (reference STORE-41).
        """
        if kubernetes is None:
            self.skipTest("the kubernetes package is not installed (extra `test`): not run")
        for name in ("kept", "changed", "deleted"):
            await self.created(MAPS, {"metadata": {"name": name}, "data": {"a": "0"}})
        snapshot = (await self.act(action="snapshot"))["snapshot"]
        self.addCleanup(self.act, action="release", snapshot=snapshot)
        for watches in ("expire", "follow"):
            api = kubernetes.config.new_client_from_config(str(self.server.kubeconfig))
            self.addCleanup(api.close)
            informer = Informer(api)
            informer.start()
            for number in range(5):
                await self.write(number)
                await self.act(action="restore", snapshot=snapshot, watches=watches)
            await self.client.post(MAPS, {"metadata": {"name": f"last-{watches}"}})
            wanted = await self.truth()
            end = reactor.seconds() + PATIENCE_S
            while informer.objects != wanted:
                self.assertLess(reactor.seconds(), end, (informer.objects, wanted))
                await deferLater(reactor, 0.02)
            informer.stop()
            await deferToThread(informer.join, PATIENCE_S)
            if watches == "follow":
                self.assertEqual(informer.lists, 1)
                self.assertIn("DELETED", informer.events)

    async def test_rights(self) -> None:
        """Only administrators reach the endpoint: everybody else is refused before it is asked (STORE-40)."""
        anonymous = self.anonymous()
        for method, body in (("GET", None), ("POST", {"action": "reset"})):
            self.assertEqual((await anonymous.send(method, STATE, body)).code, 403)
        someone = self.new_client(**{"Impersonate-User": "someone"})
        self.assertEqual((await someone.post(STATE, {"action": "reset"})).code, 403)
        self.assertEqual((await self.client.get(self.core("configmaps"))).code, 200)

    async def test_requests_are_counted(self) -> None:
        """They are counted like other requests."""
        await self.act(action="reset")
        text = (await self.client.get("/metrics")).body.decode()
        self.assertIn('apiserver_request_total{code="200"', text)
        self.assertIn('verb="POST"', text)

    async def test_resets_in_a_row(self) -> None:
        """After 200 resets over HTTP with objects and watches, the server has as many open files, and about as much
        memory, as before (reference STORE-42).
        """
        pid = self.server.pid

        def files() -> int:
            return len(os.listdir(f"/proc/{pid}/fd"))

        def memory() -> int:
            with open(f"/proc/{pid}/statm") as statm:
                return int(statm.read().split()[1]) * os.sysconf("SC_PAGE_SIZE")

        held = (0, 0)
        for number in range(40 + ROUNDS):
            if number == 40:
                held = (files(), memory())
            watcher = Client(self.server.port, tls_context(self.server.kubeconfig))
            watch = await watcher.watch(f"{MAPS}?watch=1")
            for name in "abc":
                await self.client.post(MAPS, {"metadata": {"name": name}, "data": {"a": "x" * 1000}})
            self.assertEqual((await self.act(action="reset"))["changed"] >= 3, True)
            last = (await watch.rest())[-1]
            self.assertEqual((last["type"], last["object"]["code"]), ("ERROR", 410))
            watcher.close()
        await deferLater(reactor, 0.2)
        self.assertLessEqual(files(), held[0] + 2)
        self.assertLess(memory() - held[1], GROWTH_BYTES)


class StateProcessTests(ProcessCase):
    """Servers of their own."""

    async def test_without_the_flag(self) -> None:
        """The path is not there unless the flag asks for it."""
        server = self.server("--storage=memory")
        await server.start()
        self.assertEqual((await self.client(server).get(STATE)).code, 404)
        self.assertIn("objects are stored in memory only: nothing is kept when this server ends", server.log)

    async def test_memory_ends_with_the_server(self) -> None:
        """Objects are gone after a restart, keys and administrator's file stay; orch-store finds no store
        (reference STORE-39).
        """
        server = self.server("--storage=memory")
        await server.start()
        kubeconfig = server.kubeconfig.read_bytes()
        await self.client(server).post(MAPS, {"metadata": {"name": "x"}})
        self.assertEqual(await server.terminate(), 0)
        self.assertEqual([path.name for path in server.data_dir.iterdir() if "store" in path.name], [])
        status, _, errors = await orch_store("check", f"--data-dir={server.data_dir}")
        self.assertEqual((status, len(errors.splitlines())), (1, 1), errors)
        await server.start()
        self.assertEqual((await self.client(server).get(f"{MAPS}/x")).code, 404)
        authority = b"certificate-authority-data"
        shown = [text.partition(authority)[2].split()[1] for text in (kubeconfig, server.kubeconfig.read_bytes())]
        self.assertEqual(shown[0], shown[1])

    async def test_several_processes_are_refused(self) -> None:
        """The memory of one process is not shared by workers: one line says so (reference STORE-39)."""
        self.assertEqual(
            await self.refusal(self.server("--storage=memory", "--workers=2")),
            "Error: --workers: not with --storage memory, which is the memory of one process",
        )

    async def test_restore_outlives_a_crash(self) -> None:
        """On a store in a file, restored objects are there after a kill (reference STORE-3)."""
        server = self.server("--vocabulary=kubernetes", "--enable-state-control")
        await server.start()
        client = self.client(server)
        for name in "ab":
            await client.post(MAPS, {"metadata": {"name": name}})
        snapshot = (await client.post(STATE, {"action": "snapshot"})).json["snapshot"]
        await client.delete(f"{MAPS}/a")
        await client.post(MAPS, {"metadata": {"name": "c"}})
        self.assertEqual((await client.post(STATE, {"action": "restore", "snapshot": snapshot})).code, 200)
        await server.kill9()
        await server.start()
        names = [each["metadata"]["name"] for each in (await self.client(server).get(MAPS)).json["items"]]
        self.assertEqual([name for name in names if len(name) == 1], ["a", "b"])

    async def test_workers_share_their_store(self) -> None:
        """With workers the state cannot be restored: each process refuses it (reference STORE-40)."""
        server = self.server("--enable-state-control", "--workers=2")
        await server.start()
        for _ in range(6):
            answer = await self.client(server).post(STATE, {"action": "reset"})
            self.assertEqual((answer.code, answer.json["reason"]), (405, "MethodNotAllowed"))
