"""The cluster behind the agent: pods as this process' caches have them, the clock, and the use of nodes."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress

import orjson
from twisted.internet.defer import Deferred
from twisted.internet.interfaces import IReactorTime
from twisted.logger import Logger

from orchtw.client.interface import Client
from orchtw.errors import Conflict, NotFound
from orchtw.simulation.agent.environment import with_environment
from orchtw.simulation.agent.session import MakeSession, Session, WantedStreams, Wire
from orchtw.simulation.clock import SimulationClock
from orchtw.simulation.pods.annotations import MOVED, PREFIX, behaviour
from orchtw.simulation.pods.plans import command_of, roles, surroundings
from orchtw.simulation.pods.pod_run import STATUSES
from orchtw.simulation.shell.files import Files
from orchtw.simulation.shell.session import SHELLS, executed
from orchtw.simulation.usage.metrics_api import MetricsApi
from orchtw.wire.objects import Object


class Backend:
    """The cluster as the agent sees it."""

    _log = Logger()

    def __init__(
        self, client: Client, metrics: MetricsApi, reactor: IReactorTime, clock: SimulationClock
    ) -> None:
        self.metrics = metrics
        self.reactor = reactor
        self.clock = clock
        self._client = client

    async def pod(self, namespace: str, name: str) -> Object | None:
        """Return a pod as it is now."""
        found = await self._client.find(self._client.resource("", "v1", "pods"), namespace, name)
        return None if found is None else found.load()

    async def prepared(self, namespace: str, name: str) -> Object | None:
        """Return a pod as it is now, with the values of its containers' variables."""
        found = await self.pod(namespace, name)
        return None if found is None else await with_environment(self._client, found)

    async def pods_on(self, node: str) -> Sequence[Object]:
        """Return the pods of a node."""
        resource = self._client.resource("", "v1", "pods")
        found = await self._client.list(resource, fields=f"spec.nodeName={node}")
        return [item.load() for item in found.items]

    def command(
        self, pod: Object, container: Object, words: Sequence[str], ended: Callable[[int], None] | None = None
    ) -> MakeSession:
        """Return the maker of the session of a command in a container; `ended` gets its exit code."""

        def make(wanted: WantedStreams, wire: Wire) -> Session:
            around = surroundings(pod, container, self.clock.now(), self._files(pod, container["name"]))
            steps = executed(words, around, prompts=wanted.tty)
            return Session(steps, wanted, wire, self.reactor, self.clock, ended)

        return make

    def attached(self, pod: Object, container: Object) -> MakeSession:
        """Return the maker of the session of a client that is attached to a container.

        A container that has its input once ends with it.
        """

        def ended(code: int) -> None:
            work = Deferred.fromCoroutine(self._end(pod, container["name"], code))
            work.addErrback(lambda failure: self._log.failure("failed to end a container", failure))

        once = container.get("stdin") and container.get("stdinOnce")
        return self.command(pod, container, attached_words(container), ended if once else None)

    def _files(self, pod: Object, container: str) -> Files:
        """Return the files of a container, whose changes are told to the controller of pods."""

        def told(moved: Mapping[str, str]) -> None:
            work = Deferred.fromCoroutine(self._tell(pod, {f"{MOVED}.{container}": orjson.dumps(moved).decode()}))
            work.addErrback(lambda failure: self._log.failure("failed to tell of moved files", failure))

        return Files(dict(behaviour(pod, container, whole_pod=False)[0].moved), told)

    async def _end(self, pod: Object, container: str, code: int) -> None:
        """Have a container end."""
        await self._tell(pod, {f"exit-after.{container}": "0s", f"exit-code.{container}": str(code)})

    async def _tell(self, pod: Object, wishes: Mapping[str, str]) -> None:
        """Write annotations: the controller of pods, perhaps in another process, reads them."""
        meta = pod["metadata"]
        annotations = {f"{PREFIX}{name}": value for name, value in wishes.items()}
        changes = {"metadata": {"uid": meta["uid"], "annotations": annotations}}
        with suppress(NotFound, Conflict):
            await self._client.patch(
                self._client.resource("", "v1", "pods"), meta["namespace"], meta["name"], changes
            )


def running_container(pod: Object, name: str) -> Object | None:
    """Return the named container of a pod, if it runs."""
    for role, container in roles(pod["spec"]):
        if container["name"] == name:
            statuses = (pod.get("status") or {}).get(STATUSES[role]) or ()
            status: Object = next((each for each in statuses if each["name"] == name), {})
            return container if "running" in (status.get("state") or {}) else None
    return None


def attached_words(container: Object) -> Sequence[str]:
    """Return the command that stands for what a client is attached to: the container's shell, or an echo."""
    command = command_of(container)
    name = command[0].rpartition("/")[2] if command else ""
    return ("sh",) if name in SHELLS and len(command) == 1 else ("cat",)
