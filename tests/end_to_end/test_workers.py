"""A server of two processes: clients cannot tell, and no end of one of them loses anything (reference OPS-29)."""
# covers: orchtw.commands.worker

from __future__ import annotations

import os
import signal
from collections.abc import Callable
from http.client import HTTPException
from pathlib import Path

from twisted.internet.defer import Deferred, gatherResults
from twisted.internet.task import deferLater
from twisted.internet.threads import deferToThread

from orchtw.testing.process import ServerProcess
from tests.end_to_end.case import reactor
from tests.end_to_end.client import Client, Watch, tls_context
from tests.end_to_end.test_start import ProcessCase
from tests.fork_server import NAME

MAPS = "/api/v1/namespaces/default/configmaps"
CLIENTS = 8
"""So many connections that both processes have some, but for one time in a hundred; no test depends on it."""


LAST = 100
"""Count of the object that is written while the worker is killed."""

MOST_FAILED = 100
"""Requests that fail although the server is there, before a test gives up."""


def workers_of(server: ServerProcess) -> list[int]:
    """The processes that a server has started, without the one that forks them for it here."""
    children = Path(f"/proc/{server.pid}/task/{server.pid}/children").read_text().split()
    return [int(each) for each in children if Path(f"/proc/{each}/comm").read_bytes().strip() != NAME]


def is_there(pid: int) -> bool:
    """Report whether a process exists that has not ended."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except FileNotFoundError:
        return False


class Counter:
    """Counts up one object, and looks at it over another connection each time."""

    def __init__(self, clients: list[Client], name: str) -> None:
        self._clients = clients
        self._path = f"{MAPS}/{name}"
        self._name = name
        self.stale: list[tuple[str, str]] = []
        self.count = 0
        self.failed = 0

    def run(self, enough: Callable[[], bool]) -> None:
        """In a thread; what fails because a connection has gone is tried again."""
        clients = self._clients
        self._ask(clients[0], "POST", MAPS, {"metadata": {"name": self._name}, "data": {"count": "0"}})
        while not enough() and self.failed < MOST_FAILED:
            wanted = str(self.count + 1)
            body = {"metadata": {"name": self._name}, "data": {"count": wanted}}
            if not self._ask(clients[self.count % CLIENTS], "PUT", self._path, body):
                continue
            self.count += 1
            found = self._ask(clients[(self.count + 3) % CLIENTS], "GET", self._path, None)
            if found and found != wanted:
                self.stale.append((wanted, found))

    def _ask(self, client: Client, method: str, path: str, body: object) -> str:
        try:
            answer = client.exchange(method, path, body, None)
        except (OSError, HTTPException):
            self.failed += 1
            return ""
        if answer.code not in (200, 201):
            self.failed += 1
            return ""
        return str(answer.json["data"]["count"])


class Creator:
    """Creates one object after the other, each once, over a connection of its own."""

    def __init__(self, client: Client, prefix: str) -> None:
        self._client = client
        self._prefix = prefix
        self.tried: list[str] = []
        self.made: dict[str, int] = {}
        self.ended = False

    def run(self) -> None:
        """Create until it is told to end or the server has gone for long; in a thread."""
        failed = 0
        while not self.ended and failed < MOST_FAILED:
            name = f"{self._prefix}-{len(self.tried)}"
            self.tried.append(name)
            try:
                answer = self._client.exchange("POST", MAPS, {"metadata": {"name": name}}, None)
            except (OSError, HTTPException):
                failed += 1
                continue
            if answer.code == 201:
                self.made[name] = int(answer.version)
            else:
                failed += 1


class WorkersTests(ProcessCase):
    """One server for all of this: its start takes longer than the rest."""

    timeout = 300

    def clients(self, server: ServerProcess) -> list[Client]:
        """Each has connections of its own."""
        made = [Client(server.port, tls_context(server.kubeconfig)) for _ in range(CLIENTS)]
        for each in made:
            self.addCleanup(each.close)
        return made

    async def test_two_processes(self) -> None:
        """Reads see every acknowledged write over whatever connection; a worker that is killed is replaced, and who
        watched there goes on without loss; one scrape shows all; the end is in order, and leaves no process.
        """
        server = self.server("--workers=2", "--controllers=*,-root-ca-cert-publisher")
        await server.start()
        clients = self.clients(server)
        scraped = (await clients[0].get("/metrics")).body.decode()
        for number in (0, 1):
            self.assertIn(f'process_resident_memory_bytes{{worker="{number}"}} ', scraped)
        before = (await clients[0].get(MAPS)).version
        watches = [await each.watch(f"{MAPS}?watch=1&resourceVersion={before}") for each in clients]
        counter = Counter(clients, "first")
        await deferToThread(counter.run, lambda: counter.count == 50)
        self.assertEqual((counter.stale, counter.failed), ([], 0))
        version = ""
        for watch in watches:
            events = await watch.events(51)
            seen = [event["object"]["data"]["count"] for event in events]
            self.assertEqual(seen, [str(number) for number in range(51)])
            version = events[-1]["object"]["metadata"]["resourceVersion"]
        await self.killed_worker(server, clients, watches, version)
        (worker,) = workers_of(server)
        writing = Counter(clients, "at-the-end")
        running = deferToThread(writing.run, lambda: not server.running or writing.failed > 0)
        while writing.count < 5:
            await deferLater(reactor, 0.01)
        self.assertEqual(await server.terminate(), 0)
        await running
        self.assertEqual(writing.stale, [])
        self.assertFalse(is_there(worker))
        self.assertNotIn("Traceback", server.log)
        await self.killed_owner(server, writing.count)

    async def test_killed_in_a_batch(self) -> None:
        """When a process is killed while many write, what was acknowledged is there, and nothing that was not asked
        for; the writes of one connection have happened in its order.
        """
        server = self.server("--workers=2", "--controllers=*,-root-ca-cert-publisher")
        await server.start()
        creators = [Creator(client, f"w{number}") for number, client in enumerate(self.clients(server))]
        running = gatherResults([deferToThread(each.run) for each in creators])
        await self.until_made(creators, 100)
        os.kill(workers_of(server)[0], signal.SIGKILL)
        await self.until_made(creators, 100)
        for each in creators:
            each.ended = True
        await running
        for client in self.clients(server):
            await self.check_made(client, creators)
        creators += [Creator(client, f"o{number}") for number, client in enumerate(self.clients(server))]
        running = gatherResults([deferToThread(each.run) for each in creators[CLIENTS:]])
        await self.until_made(creators, 100)
        await server.kill9()
        for each in creators:
            each.ended = True
        await running
        await server.start()
        for client in self.clients(server):
            await self.check_made(client, creators)

    async def until_made(self, creators: list[Creator], count: int) -> None:
        """Wait for so many more objects."""
        enough = sum(len(each.made) for each in creators) + count
        while sum(len(each.made) for each in creators) < enough:
            await deferLater(reactor, 0.01)

    async def check_made(self, client: Client, creators: list[Creator]) -> None:
        """Compare the objects that a client sees with the acknowledged ones, and with all that were sent."""
        items = (await client.get(MAPS)).json["items"]
        found = {item["metadata"]["name"]: int(item["metadata"]["resourceVersion"]) for item in items}
        for each in creators:
            self.assertEqual({name: found.get(name) for name in each.made}, each.made)
            self.assertEqual(list(each.made.values()), sorted(each.made.values()))
        tried = {name for each in creators for name in each.tried}
        self.assertEqual({name for name in found if name[:1] in "wo"} - tried, set())

    async def killed_worker(
        self, server: ServerProcess, clients: list[Client], watches: list[Watch], version: str
    ) -> None:
        """Kill the worker while somebody writes; the watches go on, on new connections where they have to."""
        (worker,) = workers_of(server)
        counter = Counter(clients, "second")
        running = deferToThread(counter.run, lambda: counter.count >= LAST)
        while counter.count < 20:
            await deferLater(reactor, 0.01)
        os.kill(worker, signal.SIGKILL)
        seen = await gatherResults([self.followed(*each, version) for each in zip(clients, watches, strict=True)])
        await running
        self.assertEqual(counter.stale, [])
        for each in seen:
            # A write whose connection went before the answer did may be there twice.
            self.assertEqual(list(dict.fromkeys(each)), [str(number) for number in range(LAST + 1)])
        while not (now := workers_of(server)) or now == [worker]:
            await deferLater(reactor, 0.05)
        while server.log.count("worker 1 is ready") < 2:
            await deferLater(reactor, 0.05)
        self.assertIn("worker 1 has ended (signal 9)", server.log)

    def followed(self, client: Client, watch: Watch, version: str) -> Deferred[list[str]]:
        """The counts of `second` in the order in which a watcher sees them, who comes again where it was."""

        async def follow() -> list[str]:
            found: list[str] = []
            seen: str = version
            following: Watch | None = watch
            while not found or found[-1] != str(LAST):
                try:
                    if following is None:
                        following = await client.watch(f"{MAPS}?watch=1&resourceVersion={seen}")
                    event = await following.event()
                except (EOFError, OSError, HTTPException, ValueError):
                    following = None
                    continue
                seen = event["object"]["metadata"]["resourceVersion"]
                found.append(event["object"]["data"]["count"])
            return found

        return Deferred.fromCoroutine(follow())

    async def killed_owner(self, server: ServerProcess, count: int) -> None:
        """After kill -9 of the owner no process is left, and the next start has all that was acknowledged."""
        await server.start()
        clients = self.clients(server)
        (worker,) = workers_of(server)
        counter = Counter(clients, "third")
        running = deferToThread(counter.run, lambda: counter.failed > 0)
        while counter.count < 20:
            await deferLater(reactor, 0.01)
        await server.kill9()
        await running
        while is_there(worker):
            await deferLater(reactor, 0.01)
        await server.start()
        for name, least in (("at-the-end", count), ("third", counter.count)):
            found = await self.clients(server)[0].get(f"{MAPS}/{name}")
            self.assertGreaterEqual(int(found.json["data"]["count"]), least)
        self.assertEqual(await server.terminate(), 0)
