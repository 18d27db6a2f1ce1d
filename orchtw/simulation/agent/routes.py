"""Paths of the node agent, and their answers (reference SIM-24)."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from typing import Final

import orjson

from orchtw.errors import StatusError
from orchtw.simulation.agent.backend import Backend, running_container
from orchtw.simulation.agent.connection import AgentConnection, Asked
from orchtw.simulation.agent.follower import LogFollower
from orchtw.simulation.agent.logs import Options, Unavailable, run_of, selected, shown
from orchtw.simulation.agent.node_documents import resource_metrics, summary
from orchtw.simulation.agent.places import split_place
from orchtw.simulation.agent.session import MakeSession, WantedStreams
from orchtw.simulation.agent.small_answer import small_answer
from orchtw.values.times import parse_time
from orchtw.wire.objects import Object

JSON: Final = "application/json"
_PROTOCOL: Final = b"x-stream-protocol-version"
_LEAST_PROTOCOL: Final = 4
"""Older protocols cannot tell an exit code."""


class Routes:
    """Answers the requests of the API server."""

    def __init__(self, backend: Backend) -> None:
        self._backend = backend
        self._ways: Mapping[str, Callable[[AgentConnection, Asked, str, list[str]], Awaitable[None]]] = {
            "containerLogs": self._logs,
            "exec": self._exec,
            "attach": self._attach,
            "portForward": self._port_forward,
        }

    async def serve(self, connection: AgentConnection, asked: Asked) -> None:
        """Answer one request by its path."""
        kind, names, path = split_place(asked.path)
        if kind == "pods":
            namespace, name, port = names
            target = f"{path}?{asked.target.partition('?')[2]}" if "?" in asked.target else path
            pod = await self._backend.pod(namespace, name)
            if pod is None:
                connection.answer(404, f'pod "{name}" does not exist'.encode())
            else:
                connection.answer(200, small_answer(pod, port, asked.method, target))
        elif kind == "nodes":
            await self._node(connection, asked, names[0], path)
        else:
            await self._metrics(connection, asked)

    async def _metrics(self, connection: AgentConnection, asked: Asked) -> None:
        try:
            found = await self._backend.metrics.answer(asked.path, asked.query)
        except StatusError as error:
            connection.answer(error.code, orjson.dumps(error.to_status()), JSON)
        else:
            connection.answer(200, orjson.dumps(found), JSON)

    async def _node(self, connection: AgentConnection, asked: Asked, node: str, path: str) -> None:
        parts = path.strip("/").split("/")
        way = self._ways.get(parts[0])
        if way is not None:
            await way(connection, asked, node, parts[1:])
        elif path == "/healthz":
            connection.answer(200, b"ok")
        elif path in ("/logs", "/logs/"):
            # No file is on a simulated node.
            connection.answer(200, b"<pre>\n</pre>\n", "text/html; charset=utf-8")
        elif path in ("/pods", "/pods/"):
            pods = await self._backend.pods_on(node)
            document = {"kind": "PodList", "apiVersion": "v1", "metadata": {}, "items": pods}
            connection.answer(200, orjson.dumps(document), JSON)
        elif path == "/stats/summary":
            used = await self._backend.metrics.on_node(node)
            connection.answer(200, orjson.dumps(summary(node, used, self._backend.clock.now())), JSON)
        elif path == "/metrics/resource":
            used = await self._backend.metrics.on_node(node)
            connection.answer(200, resource_metrics(used).encode(), "text/plain; version=0.0.4; charset=utf-8")
        else:
            connection.answer(404, b"404 page not found\n")

    async def _logs(self, connection: AgentConnection, asked: Asked, node: str, names: list[str]) -> None:
        pod = await self._pod(node, names, 3)
        if pod is None:
            connection.answer(404, f'pod "{"/".join(names[1:2])}" does not exist'.encode())
            return
        now = self._backend.clock.now()
        options = _log_options(asked, now)
        try:
            run = run_of(pod, names[2], previous=options.previous)
        except Unavailable as error:
            connection.answer(400, str(error).encode())
            return
        connection.begin(200, "text/plain; charset=utf-8")
        if options.follow:
            backend = self._backend
            follower = LogFollower(
                backend.prepared, backend.reactor, backend.clock.now, connection.body, lambda: connection.paused
            )
            await follower.follow(pod, run, options)
        else:
            connection.body(shown(selected(run, options, now), options))
        connection.end()

    async def _exec(self, connection: AgentConnection, asked: Asked, node: str, names: list[str]) -> None:
        words, backend = asked.query.get("command", []), self._backend
        await self._command(connection, asked, node, names, lambda pod, each: backend.command(pod, each, words))

    async def _attach(self, connection: AgentConnection, asked: Asked, node: str, names: list[str]) -> None:
        await self._command(connection, asked, node, names, self._backend.attached)

    async def _command(
        self,
        connection: AgentConnection,
        asked: Asked,
        node: str,
        names: list[str],
        make: Callable[[Object, Object], MakeSession],
    ) -> None:
        pod = await self._pod(node, names, 3)
        container = None if pod is None else running_container(pod, names[2])
        if pod is None or container is None:
            connection.answer(404, f'container not found ("{"/".join(names[2:])}")'.encode())
            return
        _join(connection, asked, make(pod, container))

    async def _port_forward(self, connection: AgentConnection, asked: Asked, node: str, names: list[str]) -> None:
        pod = await self._pod(node, names, 2)
        if pod is None or (pod.get("status") or {}).get("phase") != "Running":
            connection.answer(404, f'pod "{"/".join(names[1:2])}" is not running'.encode())
        elif "spdy/3.1" not in [each.lower() for each in asked.values(b"upgrade")]:
            connection.answer(403, b"port-forward is served over SPDY/3.1")
        else:
            from orchtw.simulation.agent.port_forward import PortForward  # few pods are asked for a port

            connection.switch(next(iter(asked.values(_PROTOCOL)), ""))
            connection.take_over(PortForward(pod, connection))

    async def _pod(self, node: str, names: list[str], count: int) -> Object | None:
        """Return the pod that a path names, if it is on this node."""
        pod = await self._backend.prepared(names[0], names[1]) if len(names) == count else None
        return pod if pod is not None and pod["spec"].get("nodeName") == node else None


def _join(connection: AgentConnection, asked: Asked, make: MakeSession) -> None:
    """Join a client with the session of a command."""
    # Late: it imports a WebSocket library, for which a start has no use.
    from orchtw.simulation.agent.streams import SpdyStreams, WebSocketChannels, best_protocol

    wanted = WantedStreams.of(asked.query)
    upgrade = [each.lower() for each in asked.values(b"upgrade")]
    if "websocket" in upgrade:
        channels = WebSocketChannels(asked.headers, asked.target, wanted, make, connection)
        connection.take_over(channels, channels.session)
        return
    protocol = best_protocol(asked.values(_PROTOCOL), _LEAST_PROTOCOL)
    if "spdy/3.1" not in upgrade or not protocol:
        connection.answer(403, b"commands are served over SPDY/3.1 and WebSocket, protocol v4 or later")
        return
    connection.switch(protocol)
    streams = SpdyStreams(wanted, make, connection)
    connection.take_over(streams, streams.session)


def _log_options(asked: Asked, now: float) -> Options:
    query = {name: values[0] for name, values in asked.query.items()}
    since = 0.0
    if query.get("sinceSeconds", "").isdigit():
        since = now - float(query["sinceSeconds"])
    elif "sinceTime" in query:
        seconds, micros = parse_time(query["sinceTime"])
        since = seconds + micros / 1e6
    return Options(
        follow=query.get("follow") == "true",
        previous=query.get("previous") == "true",
        timestamps=query.get("timestamps") == "true",
        tail=int(query["tailLines"]) if query.get("tailLines", "").isdigit() else None,
        since=since,
        limit_bytes=int(query["limitBytes"]) if query.get("limitBytes", "").isdigit() else None,
    )

