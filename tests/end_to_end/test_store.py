"""Faults of the store's files under a real server (reference STORE-8, STORE-9, STORE-10)."""

from __future__ import annotations

import os
import resource
import socket
import sqlite3
from collections.abc import Coroutine
from pathlib import Path
from typing import Any, TypeVar

from twisted.internet.defer import Deferred
from twisted.internet.task import deferLater

from orchtw.testing.process import ServerProcess
from tests.end_to_end.case import reactor
from tests.end_to_end.client import Answer, Client
from tests.end_to_end.test_start import ProcessCase

CONFIG_MAPS = "/api/v1/namespaces/default/configmaps"
NO_MORE = "--controllers=*,-root-ca-cert-publisher"  # config maps beside those of the tests
EVENTS = "/api/v1/namespaces/default/events"
LITTLE_BYTES = 24 << 10  # no file may grow beyond: too little for a -shm of 32 KiB, enough for the log of the server
# Ports that no system gives away by itself: one that was free stays free between two starts.
PORTS = range(20_000, 30_000)
T = TypeVar("T")
UNLIMITED = (resource.RLIM_INFINITY, resource.RLIM_INFINITY)


def config_map(name: str, size: int = 10) -> dict[str, object]:
    """A config map with about `size` bytes."""
    return {"metadata": {"name": name}, "data": {"value": "v" * size}}


def own_port() -> int:
    """A free loopback port; each worker looks for it from a place of its own."""
    place = os.getpid() * 10
    while True:
        place += 1
        try:
            with socket.create_server(("127.0.0.1", PORTS[place % len(PORTS)])) as found:
                port: int = found.getsockname()[1]
                return port
        except OSError:
            continue  # somebody has it


class StoreCase(ProcessCase):
    """Servers whose port stays, so that a start has nothing to write but what it must."""

    timeout = 120

    async def started(self, *flags: str) -> tuple[ServerProcess, Client]:
        """A server that has two config maps, and its administrator."""
        server = self.server(f"--secure-port={own_port()}", NO_MORE, *flags)
        await server.start()
        client = self.client(server)
        for name in ("one", "two"):
            answer = await client.post(CONFIG_MAPS, config_map(name))
            self.assertEqual(answer.code, 201, answer)
        return server, client

    def again(self, server: ServerProcess) -> ServerProcess:
        """Another process on the same folder and port, yet to be started."""
        return self.server(f"--secure-port={server.port}", NO_MORE, folder=str(server.data_dir))

    def store(self, server: ServerProcess) -> Path:
        """Return the path of the store's file."""
        return server.data_dir / "store.sqlite"

    async def until(self, client: Client, path: str, code: int) -> Answer:
        """Ask until the answer has that code; the test's own time limit ends it."""
        while (answer := await client.get(path)).code != code:
            await deferLater(reactor, 0.05, lambda: None)
        return answer


class FullDiskTests(StoreCase):
    """No room, played by the limit on the size of files: the server's process may not make any file longer."""

    def without_room(self, starting: Coroutine[Any, Any, T], limit_bytes: int = LITTLE_BYTES) -> Deferred[T]:
        """Begin what starts a process, which inherits the limit."""
        soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
        resource.setrlimit(resource.RLIMIT_FSIZE, (limit_bytes, hard))
        try:
            return Deferred.fromCoroutine(starting)
        finally:
            resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))

    def give_room(self, server: ServerProcess) -> None:
        """The disk has room again."""
        resource.prlimit(server.pid, resource.RLIMIT_FSIZE, UNLIMITED)

    async def refuses_writes(self, client: Client) -> None:
        """Reads are served, a write is a 500 that says that it is the disk, `/readyz` fails and `/livez` does not."""
        answer = await client.post(CONFIG_MAPS, config_map("large", 40_000))
        self.assertEqual((answer.code, answer.json["reason"]), (500, "InternalError"), answer)
        self.assertIn("the store could not write: the disk", answer.json["message"])
        self.assertEqual((await client.get(f"{CONFIG_MAPS}/one")).json["data"], {"value": "v" * 10})
        self.assertEqual(len((await client.get(CONFIG_MAPS)).json["items"]), 2)
        ready = await client.get("/readyz?verbose")
        self.assertEqual(ready.code, 500)
        self.assertIn(b"[-]etcd failed", ready.body)
        self.assertEqual((await client.get("/livez")).code, 200)

    async def takes_writes(self, client: Client) -> None:
        """As if nothing had been, once what the start was to write is written, which is tried every second."""
        await self.until(client, "/readyz", 200)
        answer = await client.post(CONFIG_MAPS, config_map("large", 40_000))
        self.assertEqual(answer.code, 201, answer)

    async def test_while_running(self) -> None:
        """A server whose disk fills up goes on reading, and writes again once there is room."""
        server, client = await self.started()
        resource.prlimit(server.pid, resource.RLIMIT_FSIZE, (LITTLE_BYTES, resource.RLIM_INFINITY))
        await self.refuses_writes(client)
        self.give_room(server)
        await self.takes_writes(client)
        self.assertEqual(await server.terminate(), 0)

    async def test_at_the_start(self) -> None:
        """A server starts on a full disk, where there is no room for SQLite's side files either."""
        first, _ = await self.started()
        self.assertEqual(await first.terminate(), 0)
        await self.comes_up_without_room(first)

    async def test_at_the_start_after_a_crash(self) -> None:
        """So does one that was killed: what was acknowledged and never came out of the log is served."""
        first, _ = await self.started()
        await first.kill9()
        await self.comes_up_without_room(first)

    async def comes_up_without_room(self, first: ServerProcess) -> None:
        """Start again without room; then give it some."""
        server = self.again(first)
        await self.without_room(server.start())
        client = self.client(server)
        await self.refuses_writes(client)
        self.give_room(server)
        await self.takes_writes(client)
        self.assertEqual(await server.terminate(), 0)
        self.assertNotIn("Traceback", server.log)
        await server.start()
        self.assertEqual(len((await self.client(server).get(CONFIG_MAPS)).json["items"]), 3)

    async def test_first_start(self) -> None:
        """A store that cannot be made is refused with the reason, which is not damage."""
        server = self.server()
        line = await self.without_room(self.refusal(server), 4096)
        self.assertIn("store.sqlite: the disk", line)
        self.assertNotIn("backup", line)


class PlaceTests(StoreCase):
    """Ownership and presence of files."""

    async def test_refused_server_touches_nothing(self) -> None:
        """A second server leaves every file as it was, the administrator's file above all; also through a link."""
        server, client = await self.started("--controllers=-*")
        link = self.mktemp()
        os.symlink(server.data_dir, link)
        before = self.contents(server)
        for folder in (str(server.data_dir), os.path.abspath(link)):
            self.assertIn("in use by another process", await self.refusal(self.server(folder=folder)))
            self.assertEqual(self.contents(server), before)
        self.assertEqual((await client.get("/readyz")).code, 200)
        self.assertEqual((await client.post(CONFIG_MAPS, config_map("three"))).code, 201)

    def contents(self, server: ServerProcess) -> dict[Path, tuple[int, bytes]]:
        """Time of the last change and content of each file in the data folder, but for SQLite's shared memory."""
        files = [path for path in server.data_dir.rglob("*") if path.is_file() and not path.name.endswith("-shm")]
        return {path: (path.stat().st_mtime_ns, path.read_bytes()) for path in files}

    async def test_removed_store(self) -> None:
        """A server without its store's file refuses writes, fails both health checks, and says why once."""
        server, client = await self.started()
        self.store(server).unlink()
        await self.until(client, "/livez", 500)
        self.assertEqual((await client.get("/readyz")).code, 500)
        answer = await client.post(CONFIG_MAPS, config_map("lost"))
        self.assertEqual((answer.code, answer.json["reason"]), (500, "InternalError"))
        self.assertIn("store.sqlite has been removed or moved: writes are refused", answer.json["message"])
        self.assertEqual(len((await client.get(CONFIG_MAPS)).json["items"]), 2)
        self.assertEqual(server.log.count("all can still be read until the server ends"), 1)
        self.assertEqual(await server.terminate(), 0)

    async def test_removed_log(self) -> None:
        """A removed write-ahead log is noticed, and nothing of what was acknowledged is lost, not even by a kill."""
        server, client = await self.started()
        Path(f"{self.store(server)}-wal").unlink()
        await self.until(client, "/livez", 500)
        self.assertEqual((await client.post(CONFIG_MAPS, config_map("lost"))).code, 500)
        await server.kill9()
        await server.start()
        items = (await self.client(server).get(CONFIG_MAPS)).json["items"]
        self.assertEqual([item["metadata"]["name"] for item in items], ["one", "two"])


class DamageTests(StoreCase):
    """A stored value that is not what was written."""

    async def damaged(self) -> tuple[ServerProcess, Client]:
        """A server that started with config map `two` damaged."""
        server, _ = await self.started()
        self.assertEqual(await server.terminate(), 0)
        self.damage(server, "/registry/configmaps/default/two")
        await server.start()
        return server, self.client(server)

    def damage(self, server: ServerProcess, key: str) -> None:
        """Change the last byte of what is stored under `key`."""
        connection = sqlite3.connect(self.store(server), isolation_level=None)
        ((value,),) = connection.execute("SELECT value FROM history WHERE key = ?", (key,)).fetchall()
        wrong = value[:-1] + bytes([value[-1] ^ 1])
        connection.execute("UPDATE history SET value = ? WHERE key = ?", (wrong, key))
        connection.close()

    async def test_others_are_served(self) -> None:
        """The server starts; a GET of the damaged object is a 500 that names it, and lists go without it."""
        server, client = await self.damaged()
        answer = await client.get(f"{CONFIG_MAPS}/two")
        self.assertEqual((answer.code, answer.json["reason"]), (500, "InternalError"))
        self.assertIn("the stored object /registry/configmaps/default/two is damaged", answer.json["message"])
        items = (await client.get(CONFIG_MAPS)).json["items"]
        self.assertEqual([item["metadata"]["name"] for item in items], ["one"])
        self.assertIn("/registry/configmaps/default/two at", server.log)
        ready = await client.get("/readyz?verbose")
        self.assertEqual(ready.code, 200)
        self.assertIn(b"[+]informer-sync ok: damaged objects set aside: 1", ready.body)
        self.assertIn(b"apiserver_storage_damaged_objects 1\n", (await client.get("/metrics")).body)

    async def test_it_is_not_written_over_unseen(self) -> None:
        """Create, update, patch and apply over it are refused; what is there stays until somebody deletes it."""
        _, client = await self.damaged()
        path = f"{CONFIG_MAPS}/two"
        self.assertEqual((await client.post(CONFIG_MAPS, config_map("two"))).code, 409)
        self.assertEqual((await client.put(path, config_map("two"))).code, 500)
        patch = {"Content-Type": "application/merge-patch+json"}
        self.assertEqual((await client.send("PATCH", path, b'{"data":{"a":"b"}}', patch)).code, 500)
        apply = {"Content-Type": "application/apply-patch+yaml"}
        body = b"apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: two\n"
        self.assertEqual((await client.send("PATCH", f"{path}?fieldManager=test", body, apply)).code, 500)

    async def test_it_can_be_deleted(self) -> None:
        """A delete removes it for good, and its name is free."""
        server, client = await self.damaged()
        path = f"{CONFIG_MAPS}/two"
        precise = {"preconditions": {"uid": "some-uid"}}
        self.assertEqual((await client.send("DELETE", path, precise)).code, 500)
        answer = await client.delete(path)
        self.assertEqual((answer.code, answer.json["status"]), (200, "Success"), answer)
        self.assertEqual((await client.get(path)).code, 404)
        self.assertEqual((await client.post(CONFIG_MAPS, config_map("two"))).code, 201)
        self.assertEqual((await client.get("/readyz/informer-sync")).body, b"ok")
        self.assertEqual(await server.terminate(), 0)
        await server.start()
        self.assertEqual(len((await self.client(server).get(CONFIG_MAPS)).json["items"]), 2)
        self.assertNotIn("Traceback", server.log)

    async def test_what_it_owns_is_kept(self) -> None:
        """The garbage collector does not take a damaged owner for a deleted one."""
        server, client = await self.started()
        for owner, dependent in (("two", "kept"), ("one", "collected")):
            uid = (await client.get(f"{CONFIG_MAPS}/{owner}")).json["metadata"]["uid"]
            reference = {"apiVersion": "v1", "kind": "ConfigMap", "name": owner, "uid": uid}
            answer = await client.post(CONFIG_MAPS, {"metadata": {"name": dependent, "ownerReferences": [reference]}})
            self.assertEqual(answer.code, 201, answer)
        self.assertEqual(await server.terminate(), 0)
        self.damage(server, "/registry/configmaps/default/two")
        await server.start()
        client = self.client(server)
        self.assertEqual((await client.delete(f"{CONFIG_MAPS}/one")).code, 200)
        await self.until(client, f"{CONFIG_MAPS}/collected", 404)
        self.assertEqual((await client.get(f"{CONFIG_MAPS}/kept")).code, 200)

    async def test_damaged_namespace(self) -> None:
        """A damaged system namespace does not keep the server from its start, and writes into it are refused."""
        server, _ = await self.started()
        self.assertEqual(await server.terminate(), 0)
        self.damage(server, "/registry/namespaces/default")
        await server.start()
        client = self.client(server)
        self.assertEqual((await client.get("/readyz")).code, 200)
        self.assertEqual((await client.get(f"{CONFIG_MAPS}/one")).code, 200)
        answer = await client.post(CONFIG_MAPS, config_map("three"))
        self.assertEqual(answer.code, 500, answer)
        self.assertIn("/registry/namespaces/default is damaged", answer.json["message"])


class EventEndTests(StoreCase):
    async def test_end_over_a_crash(self) -> None:
        """An event whose end comes while no server runs goes soon after the next start, and watchers hear of it
        (reference STORE-15).
        """
        port = own_port()
        server = self.server(f"--secure-port={port}", "--event-ttl=1s")
        await server.start()
        about = {"kind": "Pod", "namespace": "default", "name": "p"}
        client = self.client(server)
        for name in ("one", "two"):
            answer = await client.post(EVENTS, {"metadata": {"name": name}, "involvedObject": about})
            self.assertEqual(answer.code, 201, answer)
        watch = await client.watch(f"{EVENTS}?watch=1&resourceVersion={answer.json['metadata']['resourceVersion']}")
        found = await watch.events(2)
        self.assertEqual([event["type"] for event in found], ["DELETED", "DELETED"])
        answer = await client.post(EVENTS, {"metadata": {"name": "three"}, "involvedObject": about})
        self.assertEqual(answer.code, 201, answer)
        await server.kill9()
        again = self.again(server)
        await again.start()
        await self.until(self.client(again), f"{EVENTS}/three", 404)


class UpgradeTests(StoreCase):
    async def test_store_of_format_1(self) -> None:
        """A server takes over a store that has no checksums yet, and every object in it."""
        server, _ = await self.started()
        self.assertEqual(await server.terminate(), 0)
        with sqlite3.connect(self.store(server)) as connection:
            connection.execute("ALTER TABLE history DROP COLUMN sum")
            connection.execute("ALTER TABLE meta DROP COLUMN unsealed")
            connection.execute("DROP TABLE expiry")
            connection.execute("PRAGMA user_version = 1")
        connection.close()
        await server.start()
        client = self.client(server)
        items = (await client.get(CONFIG_MAPS)).json["items"]
        self.assertEqual([item["metadata"]["name"] for item in items], ["one", "two"])
        self.assertEqual((await client.post(CONFIG_MAPS, config_map("three"))).code, 201)
