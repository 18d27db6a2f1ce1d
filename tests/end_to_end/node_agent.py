"""A node agent for tests, in the test's own process: what it runs "in containers" are processes of this machine.

It speaks HTTPS, asks for a client certificate, and serves logs, exec, attach and port-forward, these by SPDY/3.1 and
exec by WebSocket too. Any other path is answered with what was asked, so that it stands for pods and services too.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from typing import Any
from urllib.parse import parse_qs, urlsplit

import h11
from twisted.internet.interfaces import IPullProducer
from twisted.internet.protocol import Factory, ProcessProtocol, Protocol
from twisted.internet.ssl import CertificateOptions
from wsproto import ConnectionType, WSConnection
from wsproto.events import AcceptConnection, BytesMessage, CloseConnection, Ping, Request, TextMessage
from zope.interface import implementer

from orchtw.simulation.agent import spdy

V4 = "v4.channel.k8s.io"
STDIN, STDOUT, STDERR, ERROR = range(4)
PAGE = b'<html><a href="/root?a=1">x</a><a href="there">y</a><img src="/pic"><a href="https://other/z">z</a></html>'


class NodeAgent:
    """Listens on `address`; `asked` are the requests it got, `follow` writes to the logs that are followed."""

    def __init__(self, reactor: Any, options: CertificateOptions | None, address: str = "127.0.0.1") -> None:
        self.reactor = reactor
        self.asked: list[Asked] = []
        self.logs = "first\nsecond\n"
        self.following: list[AgentProtocol] = []
        self.connections: set[AgentProtocol] = set()
        factory = Factory.forProtocol(lambda: AgentProtocol(self))
        factory.noisy = False
        if options is None:
            self._port = reactor.listenTCP(0, factory, interface=address)
        else:
            self._port = reactor.listenSSL(0, factory, options, interface=address)
        self.port: int = self._port.getHost().port

    def follow(self, text: str) -> None:
        """Add to the log, for those that follow it too."""
        for each in self.following:
            each.send_body(text.encode())

    async def stop(self) -> None:
        """Close all connections of the agent."""
        for each in list(self.connections):
            each.transport.abortConnection()
        await self._port.stopListening()


class Asked:
    """One request as it came."""

    def __init__(self, request: h11.Request, user: str) -> None:
        self.method = request.method.decode()
        self.target = request.target.decode()
        self.lines = [(name.decode(), value.decode("latin-1")) for name, value in request.headers]
        self.headers: Mapping[str, str] = dict(self.lines)
        self.user = user
        self.body = b""
        url = urlsplit(self.target)
        self.path, self.query = url.path, parse_qs(url.query)


class AgentProtocol(Protocol):
    """One connection: one request, and perhaps another protocol."""

    transport: Any

    def __init__(self, agent: NodeAgent) -> None:
        self._agent = agent
        self._h11 = h11.Connection(our_role=h11.SERVER)
        self._asked: Asked | None = None
        self._other: Callable[[bytes], None] | None = None
        self._process: _Exec | None = None
        self.lost = False

    def connectionMade(self) -> None:
        self._agent.connections.add(self)
        self.transport.setTcpNoDelay(True)

    def connectionLost(self, reason: Any = None) -> None:
        self.lost = True
        self._agent.connections.discard(self)
        if self in self._agent.following:
            self._agent.following.remove(self)
        if self._process is not None:
            self._process.kill()

    def dataReceived(self, data: bytes) -> None:
        if self._other is not None:
            self._other(data)
            return
        self._h11.receive_data(data)
        while True:
            try:
                event = self._h11.next_event()
            except h11.RemoteProtocolError:
                self.transport.abortConnection()
                return
            if isinstance(event, h11.Request):
                self._asked = Asked(event, self._user())
                self._agent.asked.append(self._asked)
                if b"upgrade" in dict(event.headers):
                    self._upgrade(self._asked, event)
                    return
            elif isinstance(event, h11.Data):
                assert self._asked is not None
                self._asked.body += bytes(event.data)
            elif isinstance(event, h11.EndOfMessage):
                assert self._asked is not None
                self._answer(self._asked)
                return
            else:
                return

    def _user(self) -> str:
        certificate = getattr(self.transport, "getPeerCertificate", lambda: None)()
        return certificate.get_subject().CN if certificate is not None else ""

    # Plain requests

    def _answer(self, asked: Asked) -> None:
        path = asked.path
        if path.startswith("/containerLogs/"):
            self.send_head(200, {"content-type": "text/plain; charset=utf-8"})
            self.send_body(self._agent.logs.encode())
            if "follow" in asked.query:
                self._agent.following.append(self)
                return
        elif path.startswith("/refused/"):
            self.send_head(int(path.split("/")[2]), {"content-type": "text/plain"})
            self.send_body(b"because")
        elif path == "/page":
            self.send_head(200, {"Content-Type": "text/html; charset=utf-8", "Access-Control-Allow-Origin": "*"})
            self.send_body(PAGE)
        elif path == "/moved":
            self.send_head(302, {"location": "/elsewhere/"})
        elif path == "/endless":
            self.send_head(200, {"content-type": "application/octet-stream"})
            self.transport.registerProducer(_Endless(self), False)
            return
        elif path == "/silent":
            return
        else:
            self.send_head(200, {"content-type": "application/json", "x-agent": "yes"})
            shown: dict[str, Any] = {"method": asked.method, "target": asked.target, "headers": asked.lines}
            shown["body"] = asked.body.decode()
            if asked.method != "HEAD":
                self.send_body(json.dumps(shown).encode())
        self.end_body()

    def send_head(self, code: int, headers: Mapping[str, str]) -> None:
        self.transport.write(self._h11.send(h11.Response(status_code=code, headers=list(headers.items()))))

    def send_body(self, data: bytes) -> None:
        self.transport.write(self._h11.send(h11.Data(data=data)))

    def end_body(self) -> None:
        self.transport.write(self._h11.send(h11.EndOfMessage()))
        self.transport.loseConnection()

    # Upgrades

    def _upgrade(self, asked: Asked, event: h11.Request) -> None:
        self._h11.next_event()
        rest = self._h11.trailing_data[0]
        offered = [value for name, value in asked.lines if name == "x-stream-protocol-version"]
        if asked.headers["upgrade"].lower() == "websocket":
            if V4 not in asked.headers.get("sec-websocket-protocol", "") or not asked.path.startswith("/exec/"):
                self.transport.write(b"HTTP/1.1 403 Forbidden\r\nContent-Length: 12\r\n\r\nbad protocol")
                return
            session: Any = _WebSocketExec(self._agent, asked, event, self.transport)
        else:
            self._switch("SPDY/3.1", V4 if V4 in offered else "".join(offered[:1]))
            if asked.path.startswith("/portForward/"):
                session = _PortForward(self.transport.write)
            else:
                session = _SpdyExec(self._agent, asked, self.transport)
        self._other = session.feed
        self._process = session if isinstance(session, _Exec) else None
        if rest:
            session.feed(rest)

    def _switch(self, upgrade: str, protocol: str) -> None:
        lines = f"HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: {upgrade}\r\n"
        if protocol:
            lines += f"X-Stream-Protocol-Version: {protocol}\r\n"
        self.transport.write(f"{lines}\r\n".encode())


@implementer(IPullProducer)
class _Endless:
    def __init__(self, protocol: AgentProtocol) -> None:
        self.protocol = protocol
        self.sent = 0

    def resumeProducing(self) -> None:
        self.sent += 65536
        self.protocol.send_body(b"x" * 65536)

    def stopProducing(self) -> None:
        pass


class _Process(ProcessProtocol):
    """A process of this machine that stands for one in a container."""

    def __init__(self, session: _Exec) -> None:
        self._session = session

    def outReceived(self, data: bytes) -> None:
        self._session.output(STDOUT, data)

    def errReceived(self, data: bytes) -> None:
        self._session.output(STDERR, data)

    def processEnded(self, reason: Any) -> None:
        code = getattr(reason.value, "exitCode", 0)
        self._session.ended(0 if code is None else code)


class _Exec:
    """Common part of exec and attach over any transport."""

    def __init__(self, agent: NodeAgent, asked: Asked, transport: Any) -> None:
        self._agent = agent
        self._asked = asked
        self.transport = transport
        self._process: _Process | None = None

    def start(self) -> None:
        command = self._asked.query.get("command", ["sh", "-c", "echo attached; cat"])
        self._process = _Process(self)
        self._agent.reactor.spawnProcess(self._process, command[0], command, env={"PATH": "/usr/bin:/bin"})

    def input(self, data: bytes) -> None:
        if self._process is not None and self._process.transport is not None:
            self._process.transport.write(data)

    def end_input(self) -> None:
        if self._process is not None and self._process.transport is not None:
            self._process.transport.closeStdin()

    def kill(self) -> None:
        """The client has gone."""
        if self._process is not None and self._process.transport is not None and self._process.transport.pid:
            self._process.transport.signalProcess("KILL")

    def output(self, channel: int, data: bytes) -> None:
        raise NotImplementedError

    def ended(self, code: int) -> None:
        raise NotImplementedError

    def status(self, code: int) -> bytes:
        status: dict[str, Any] = {"metadata": {}, "status": "Success"}
        if code:
            causes = [{"reason": "ExitCode", "message": str(code)}]
            status = {
                "metadata": {},
                "status": "Failure",
                "reason": "NonZeroExitCode",
                "message": f"command terminated with non-zero exit code: exit code {code}",
                "details": {"causes": causes},
            }
        return json.dumps(status).encode()


class _SpdyExec(_Exec):
    """Streams error, stdin, stdout and stderr, in any order; the process begins when all are there."""

    def __init__(self, agent: NodeAgent, asked: Asked, transport: Any) -> None:
        super().__init__(agent, asked, transport)
        self._connection = spdy.Connection(self, transport.write)
        self._streams: dict[str, int] = {}
        wanted = {"input": "stdin", "output": "stdout", "error": "stderr"}
        self._expected = {"error"} | {name for query, name in wanted.items() if query in asked.query}
        if "tty" in asked.query:
            self._expected.add("resize")
            self._expected.discard("stderr")

    def feed(self, data: bytes) -> None:
        self._connection.feed(data)

    def opened(self, stream: int, headers: Mapping[str, str]) -> None:
        self._streams[headers["streamtype"]] = stream
        if self._expected <= set(self._streams) and self._process is None:
            self.start()

    def received(self, stream: int, data: bytes) -> None:
        if stream == self._streams.get("stdin"):
            self.input(data)

    def finished(self, stream: int) -> None:
        if stream == self._streams.get("stdin"):
            self.end_input()

    def reset(self, stream: int) -> None:
        self.finished(stream)

    def output(self, channel: int, data: bytes) -> None:
        name = "stdout" if channel == STDOUT else "stderr"
        if name in self._streams:
            self._connection.send(self._streams[name], data)

    def ended(self, code: int) -> None:
        for name in ("stdout", "stderr"):
            if name in self._streams:
                self._connection.send(self._streams[name], b"", last=True)
        self._connection.send(self._streams["error"], self.status(code), last=True)
        self.transport.loseConnection()


class _PortForward:
    """Answers each data stream with what it got, in capitals."""

    def __init__(self, write: Callable[[bytes], object]) -> None:
        self._connection = spdy.Connection(self, write)
        self._data: dict[int, bytes] = {}

    def feed(self, data: bytes) -> None:
        self._connection.feed(data)

    def opened(self, stream: int, headers: Mapping[str, str]) -> None:
        if headers["streamtype"] == "data":
            self._data[stream] = b""
            self._connection.send(stream, f"port {headers['port']}\n".encode())
        else:
            self._connection.send(stream, b"", last=True)

    def received(self, stream: int, data: bytes) -> None:
        if stream in self._data:
            self._connection.send(stream, data.upper())

    def finished(self, stream: int) -> None:
        if stream in self._data:
            self._connection.send(stream, b"", last=True)

    def reset(self, stream: int) -> None:
        self._data.pop(stream, None)


class _WebSocketExec(_Exec):
    """Messages of channels: their first byte says which."""

    def __init__(self, agent: NodeAgent, asked: Asked, event: h11.Request, transport: Any) -> None:
        super().__init__(agent, asked, transport)
        self._ws = WSConnection(ConnectionType.SERVER)
        self._ws.initiate_upgrade_connection(list(event.headers), asked.target)
        self._events()

    def feed(self, data: bytes) -> None:
        self._ws.receive_data(data)
        self._events()

    def _events(self) -> None:
        for event in self._ws.events():
            if isinstance(event, Request):
                chosen = V4 if V4 in event.subprotocols else None
                self.transport.write(self._ws.send(AcceptConnection(subprotocol=chosen)))
                self.start()
            elif isinstance(event, BytesMessage | TextMessage):
                data = event.data if isinstance(event.data, bytes | bytearray) else event.data.encode()
                if data[:1] == b"\0":
                    self.input(bytes(data[1:]))
            elif isinstance(event, Ping):
                self.transport.write(self._ws.send(event.response()))
            elif isinstance(event, CloseConnection):
                self.transport.write(self._ws.send(event.response()))
                self.transport.loseConnection()

    def output(self, channel: int, data: bytes) -> None:
        self.transport.write(self._ws.send(BytesMessage(data=bytes((channel,)) + data)))

    def ended(self, code: int) -> None:
        self.output(ERROR, self.status(code))
        self.transport.write(self._ws.send(CloseConnection(code=1000)))
        self.transport.loseConnection()
