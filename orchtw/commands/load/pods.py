"""Pods from their creation to their end, by the writes of a controller, the scheduler and a node agent."""

from __future__ import annotations

from itertools import count
from typing import Final

import attrs

from orchtw.commands.load.deliveries import appeared, identity
from orchtw.commands.load.requests import STRATEGIC_PATCH
from orchtw.commands.load.world import LoadWorld, now

AT_ONCE: Final = b'{"gracePeriodSeconds":0}'
SHORTEST_S: Final = 0.2
LONGEST_S: Final = 1.0
"""Limits of the time that containers take to start and to end."""


@attrs.frozen
class LoadPod:
    """Pod that runs; `app` is the number of its Deployment."""

    name: str
    namespace: str
    uid: bytes
    node: str
    app: int
    address: str


class Pods:
    """Maker of pods. Watches of all pods, and that of a pod's node, must deliver each of its writes."""

    def __init__(self, world: LoadWorld) -> None:
        self._world = world
        self._numbers = count()
        self._events = count()

    async def filled(self, app: int) -> LoadPod | None:
        """Create a pod that runs on its node from the start, by two writes; None after an error."""
        number = next(self._numbers)
        node = self._world.plan.node(number)
        pod = await self._created(number, app, node, bound=True)
        return pod if pod is not None and await self._run(pod) else None

    async def started(self, app: int) -> LoadPod | None:
        """Create a pod, bind and run it, with the events of that; None after an error."""
        number = next(self._numbers)
        pod = await self._created(number, app, self._world.plan.node(number), bound=False)
        if pod is None or not await self._bind(pod):
            return None
        await self._event(pod, "Scheduled", f"Successfully assigned {pod.namespace}/{pod.name} to {pod.node}", True)
        await self._pause()
        for reason in ("Pulled", "Created", "Started"):
            await self._event(pod, reason, f"{reason} container web")
        return pod if await self._run(pod) else None

    async def end(self, pod: LoadPod) -> None:
        """Delete a pod in order: a request, the end of its containers, and the deletion by its node agent."""
        send, topics = self._world.requests.send, _topics(pod)
        if await send("delete pods", "DELETE", self._path(pod), topics=topics) is None:
            return
        await self._event(pod, "Killing", "Stopping container web")
        await self._pause()
        body = self._world.bodies.terminated.render(TIME=now(), IP=pod.address)
        await send("patch pods/status", "PATCH", self._path(pod, "status"), body, STRATEGIC_PATCH, topics=topics)
        await self._world.requests.delete("delete pods at once", self._path(pod), pod.uid, AT_ONCE, topics)

    async def _created(self, number: int, app: int, node: str, *, bound: bool) -> LoadPod | None:
        plan, bodies = self._world.plan, self._world.bodies
        namespace, name = plan.namespace(app if plan.deployments else number), f"{plan.deployment(app)}-{number:07d}"
        path = self._world.paths.core("pods", namespace)
        if bound:
            body = bodies.bound_pod.render(NAME=name, APP=plan.deployment(app), NODE=node)
            topics: tuple[str, ...] = ("pods", f"pods of {node}")
        else:
            body, topics = bodies.pod.render(NAME=name, APP=plan.deployment(app)), ("pods",)
        answer = await self._world.requests.send("create pods", "POST", path, body, topics=topics)
        if answer is None or (found := identity(answer)) is None:
            return None
        address = f"10.{number >> 16 & 255}.{number >> 8 & 255}.{number & 255}"
        return LoadPod(name, namespace, found[0], node, app, address)

    async def _bind(self, pod: LoadPod) -> bool:
        body = self._world.bodies.binding.render(NAME=pod.name, NODE=pod.node)
        sent_s = self._world.reactor.seconds()
        answer = await self._world.requests.send("bind pods", "POST", self._path(pod, "binding"), body)
        if answer is not None:  # it does not tell the version
            self._world.requests.wrote((f"pods of {pod.node}",), appeared(pod.uid), sent_s)
        return answer is not None

    async def _run(self, pod: LoadPod) -> bool:
        body = self._world.bodies.running.render(TIME=now(), IP=pod.address)
        answer = await self._world.requests.send(
            "patch pods/status", "PATCH", self._path(pod, "status"), body, STRATEGIC_PATCH, topics=_topics(pod)
        )
        return answer is not None

    async def _event(self, pod: LoadPod, reason: str, message: str, by_scheduler: bool = False) -> None:
        body = self._world.bodies.event.render(
            NAME=f"{pod.name}.{next(self._events):x}",
            NAMESPACE=pod.namespace,
            POD=pod.name,
            UID=pod.uid.decode(),
            REASON=reason,
            MESSAGE=message,
            COMPONENT="scheduler" if by_scheduler else "node-agent",
            NODE=pod.node,
            TIME=now(),
        )
        await self._world.requests.send(
            "create events", "POST", self._world.paths.core("events", pod.namespace), body
        )

    async def _pause(self) -> None:
        await self._world.sleep(self._world.random.uniform(SHORTEST_S, LONGEST_S))

    def _path(self, pod: LoadPod, subresource: str = "") -> str:
        return self._world.paths.core("pods", pod.namespace, pod.name, subresource)


def _topics(pod: LoadPod) -> tuple[str, str]:
    return ("pods", f"pods of {pod.node}")
