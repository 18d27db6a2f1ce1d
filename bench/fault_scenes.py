"""Faults of a cluster of three under load, and how long writes fail."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from itertools import pairwise
from typing import Any, Final
from urllib.parse import urlsplit

from twisted.internet.task import deferLater
from twisted.internet.threads import deferToThread
from twisted.web.client import Agent, readBody

from bench.fault_load import Load
from orchtw.errors import StatusError
from orchtw.outbound.destination import Destination
from orchtw.outbound.tls import ClientTLS
from orchtw.storage.etcd.store import EtcdSettings, EtcdStore
from orchtw.storage.store import Op
from orchtw.testing.etcd import EtcdCluster, EtcdMember

SPACE_BYTES: Final = 64 << 20
"""What the members may keep: so little that it is soon full."""

FILLING_BYTES: Final = 1 << 20
FILLING: Final = "/filling"
FULL: Final = "space exceeded"
FLAGS: Final = (
    f"--quota-backend-bytes={SPACE_BYTES}",
    "--heartbeat-interval=50",
    "--election-timeout=500",
)


class Scenes:
    """Each takes `seconds`, and as long again in which all is well."""

    def __init__(self, reactor: Any, cluster: EtcdCluster, load: Load, seconds: float) -> None:
        self._reactor = reactor
        self._cluster = cluster
        self._load = load
        self._seconds = seconds
        self.all: Mapping[str, Callable[[], Awaitable[None]]] = {
            "nothing": self.nothing,
            "leader killed": self.leader_killed,
            "leader stopped": self.leader_stopped,
            "follower stopped": self.follower_stopped,
            "no space": self.no_space,
            "all restarted": self.all_restarted,
        }

    async def play(self, name: str) -> dict[str, object]:
        """Return one of them; the longest time without an acknowledged write, and without a read."""
        load = self._load
        began, acknowledged, lost = load.now(), len(load.acknowledged), load.lost
        await self.all[name]()
        await self._wait()
        await self._again()
        return {
            "fault": name,
            "seconds": round(load.now() - began, 1),
            "writes": len(load.acknowledged) - acknowledged,
            "unanswered": load.lost - lost,
            "outage_s": _longest(load.acknowledged, began, load.now()),
            "reads_outage_s": _longest(load.reads, began, load.now()),
        }

    async def nothing(self) -> None:
        """Run without faults, for comparison."""
        await self._wait()

    async def leader_killed(self) -> None:
        """SIGKILL, then a new start."""
        leader = await self._leader()
        leader.kill()
        await self._wait()
        self._cluster.spawn(leader)
        await self._cluster.serving(self._reactor)

    async def leader_stopped(self) -> None:
        """SIGSTOP: neither clients nor members hear of it, nor are they told why."""
        await self._stopped(await self._leader())

    async def follower_stopped(self) -> None:
        """Stop a member that does not lead, as `leader_stopped`."""
        leader = await self._leader()
        await self._stopped(next(each for each in self._cluster.members if each is not leader))

    async def no_space(self) -> None:
        """Fill the members until they raise the alarm, then make room."""
        store = EtcdStore(EtcdSettings(endpoints=self._destinations(), prefix=FILLING, root=""), self._reactor)
        await store.start()
        try:
            await self._fill(store)
            await self._wait()
            await deferToThread(self._make_room, await store.revision())
        finally:
            await store.stop()

    async def all_restarted(self) -> None:
        """Kill all members at once, and start them again."""
        for member in self._cluster.members:
            member.kill()
        await self._cluster.start(self._reactor)

    async def _stopped(self, member: EtcdMember) -> None:
        member.signal("STOP")
        try:
            await self._wait()
        finally:
            member.signal("CONT")

    async def _fill(self, store: EtcdStore) -> None:
        """Write the same value until it is refused."""
        for _ in range(2 * SPACE_BYTES // FILLING_BYTES):
            try:
                await store.commit(Op("/value", bytes(FILLING_BYTES)))
            except StatusError as refusal:
                if FULL in refusal.message:
                    return
        raise AssertionError("the members do not fill up")

    def _make_room(self, revision: int) -> None:
        self._control("compact", "--physical=true", str(revision))
        self._control("defrag")
        self._control("alarm", "disarm")

    def _destinations(self) -> list[Destination]:
        parts = [urlsplit(endpoint) for endpoint in self._cluster.endpoints]
        return [
            Destination(scheme="http", host=each.hostname or "", port=each.port or 0, tls=ClientTLS(), timeout_s=5.0)
            for each in parts
        ]

    def _control(self, *arguments: str) -> str:
        return self._cluster.control("--command-timeout=20s", *arguments)

    async def _leader(self) -> EtcdMember:
        while True:
            for member in self._cluster.members:
                if member.running and await self._leads(member):
                    return member
            await deferLater(self._reactor, 0.05)

    async def _leads(self, member: EtcdMember) -> bool:
        agent: Any = Agent(self._reactor, connectTimeout=1)  # type: ignore[no-untyped-call]
        response = await agent.request(b"GET", f"{member.health}/metrics".encode())
        return b"\netcd_server_is_leader 1" in await readBody(response)

    async def _again(self) -> None:
        """Return once writes succeed."""
        before = len(self._load.acknowledged)
        deadline = self._load.now() + 30
        while len(self._load.acknowledged) == before and self._load.now() < deadline:
            await deferLater(self._reactor, 0.05)

    async def _wait(self) -> None:
        await deferLater(self._reactor, self._seconds)


def _longest(times: list[float], began: float, ended: float) -> float:
    """Return the longest time between two of them, or none."""
    marks = [began, *(each for each in times if each >= began), ended]
    return round(max(after - before for before, after in pairwise(marks)), 2)
