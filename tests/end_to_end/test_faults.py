"""Faults on demand as they come over the wire: raw sockets, curl and `kubectl` meet each of them."""
# covers: orchtw.endpoints.faults, orchtw.filters.faults, orchtw.serving.faulty_watch

from __future__ import annotations

import json
import os
import re
import socket
import ssl
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

from twisted.internet.defer import Deferred
from twisted.internet.task import deferLater
from twisted.internet.threads import deferToThread

from orchtw.testing.kubectl import Kubectl, Result
from orchtw.wire.objects import Object
from tests.end_to_end.case import NO_KUBECTL, reactor
from tests.end_to_end.client import PATIENCE_S
from tests.end_to_end.fault_case import ANNOTATION, NO_CURL, PROTOBUF, RULES, TOKEN, FaultCase
from tests.end_to_end.test_start import ProcessCase
from tests.end_to_end.websocket_client import WebSocketClient
from tests.forked import forking

PAGE = Path(__file__).resolve().parent.parent.parent / "docs" / "operating" / "faults.md"
T = TypeVar("T")
LOST = (18, 35, 52, 55, 56, 92)
"""Exit codes of curl for connections that were lost: partial file, TLS, empty reply, send, receive, stream."""


class Wire:
    """TLS over a socket that is read here: the standard library's own sockets show a reset as an end."""

    def __init__(self, plain: socket.socket, context: ssl.SSLContext) -> None:
        self._plain = plain
        self._coming, self._going = ssl.MemoryBIO(), ssl.MemoryBIO()
        self.tls = context.wrap_bio(self._coming, self._going, server_hostname="127.0.0.1")

    def done(self, work: Callable[[], T]) -> T:
        """The result of some work, for which bytes are sent and received. Raises ConnectionResetError."""
        while True:
            try:
                return work()
            except ssl.SSLWantReadError:
                self._plain.sendall(self._going.read())
                received = self._plain.recv(65536)
                self._coming.write(received) if received else self._coming.write_eof()


class RawTests(FaultCase):
    """Clients with a socket of their own, over HTTP/1.1."""

    def exchange(self, method: str, path: str, body: Object | None = None, accept: str = "") -> tuple[bytes, bool]:
        """Send a request and read up to the end; returns what came, and whether the connection was reset."""
        sent = b"" if body is None else json.dumps(body).encode()
        head = (
            f"{method} {path} HTTP/1.1\r\nHost: a\r\nAuthorization: Bearer {TOKEN}\r\nAccept: {accept or '*/*'}\r\n"
            f"Content-Type: application/json\r\nContent-Length: {len(sent)}\r\n\r\n"
        )
        received = b""
        with socket.create_connection(("127.0.0.1", self.server.port), PATIENCE_S) as plain:
            wire = Wire(plain, self.tls())
            wire.done(wire.tls.do_handshake)
            wire.tls.write(head.encode() + sent)
            try:
                while piece := wire.done(lambda: wire.tls.read(65536)):
                    received += piece
            except ConnectionResetError:
                return received, True
            except ssl.SSLEOFError:
                pass
        return received, False

    async def test_reset_before(self) -> None:
        """The connection is reset without a byte, and the write is not stored."""
        rule = await self.rule(fault="reset", resource="configmaps")
        made: Object = {"metadata": {"name": "x"}}
        self.assertEqual(await deferToThread(self.exchange, "POST", self.maps, made), (b"", True))
        self.assertEqual((await self.names(), await self.struck(rule)), (set(), 1))

    async def test_reset_after(self) -> None:
        """The connection is reset without a byte, and the write is stored."""
        rule = await self.rule(fault="reset", when="after", resource="configmaps")
        made: Object = {"metadata": {"name": "x"}}
        self.assertEqual(await deferToThread(self.exchange, "POST", self.maps, made), (b"", True))
        self.assertEqual((await self.names(), await self.struck(rule)), ({"x"}, 1))

    async def test_cut(self) -> None:
        """A watch shows whole events, then half of the next one, and is reset; in JSON and in Protobuf."""
        for name in "ab":
            await self.map(name, text="x" * 2000)
        for accept in ("application/json", PROTOBUF):
            rule = await self.rule(fault="cut", afterEvents=1, resource="configmaps", times=1)
            received, reset = await deferToThread(self.exchange, "GET", f"{self.maps}?watch=1", None, accept)
            first, second = frames(received)
            self.assertTrue(reset)
            self.assertEqual((first.count(b"x" * 2000), second.count(b"x" * 2000)), (1, 0))
            self.assertGreater(len(second), 0.4 * len(first))
            self.assertLess(len(second), 0.6 * len(first))
            self.assertEqual(await self.struck(rule), 1)

    async def test_cut_of_websocket(self) -> None:
        """A watch over a WebSocket is cut as well: its last message is half an event, in both formats."""
        for name in "ab":
            await self.map(name, text="x" * 2000)
        for accept in ("application/json", PROTOBUF):
            await self.rule(fault="cut", afterEvents=1, resource="configmaps", times=1)
            client = await WebSocketClient.open(
                self.server.port, self.tls(), f"{self.maps}?watch=1",
                headers=[("Authorization", f"Bearer {TOKEN}"), ("Accept", accept)],
            )  # fmt: skip
            self.addCleanup(client.drop)
            first, second = await client.messages(2)
            self.assertTrue(0.4 * len(first) < len(second) < 0.6 * len(first), (first, second))
            with self.assertRaises(Exception):  # noqa: B017  # a reset shows in different ways
                await client.message()

    async def test_late(self) -> None:
        """A late read shows what is stored when it is served, not when it came."""
        await self.map("x", is_="old")
        rule = await self.rule(fault="late", seconds=1, verb="get", resource="configmaps")
        asked = Deferred.fromCoroutine(self.operator.get(f"{self.maps}/x"))
        while not await self.struck(rule):
            await deferLater(reactor, 0.01)
        await self.client.merge(f"{self.maps}/x", {"data": {"is_": "new"}})
        self.assertEqual((await asked).json["data"], {"is_": "new"})

    async def test_hanging(self) -> None:
        """A request hangs until its time is over, and one whose client leaves stores nothing later."""
        await self.rule(fault="hanging", seconds=1, resource="configmaps", verb="get")
        answer = await self.operator.get(f"{self.maps}/x")
        self.assertEqual((answer.code, answer.json["reason"]), (504, "Timeout"))
        rule = await self.rule(fault="hanging", seconds=2, resource="configmaps", verb="create")
        sent = self.tls().wrap_socket(socket.create_connection(("127.0.0.1", self.server.port)),
                                      server_hostname="127.0.0.1")  # fmt: skip
        body = b'{"metadata":{"name":"x"}}'
        sent.sendall(b"POST %b HTTP/1.1\r\nHost: a\r\nAuthorization: Bearer %b\r\nContent-Type: application/json\r\n"
                     b"Content-Length: %d\r\n\r\n%b" % (self.maps.encode(), TOKEN.encode(), len(body), body))
        while not await self.struck(rule):
            await deferLater(reactor, 0.01)
        sent.close()
        while not any(event["responseStatus"]["message"] == "Connection closed early"
                      for event in self.events() if event["annotations"][ANNOTATION] == rule):  # fmt: skip
            await deferLater(reactor, 0.01)
        await self.client.send("DELETE", RULES)
        self.assertEqual(await self.names(), set())

    async def test_stale(self) -> None:
        """A read of version 0 is served from a state that stands still, and a watch from it misses nothing."""
        await self.map("a")
        await self.rule(fault="stale", resource="configmaps")
        await self.map("b")
        stale = (await self.operator.get(f"{self.maps}?resourceVersion=0")).json
        self.assertEqual([each["metadata"]["name"] for each in stale["items"]], ["a"])
        self.assertEqual((await self.operator.get(f"{self.maps}/b?resourceVersion=0")).code, 404)
        self.assertEqual((await self.operator.get(f"{self.maps}/b")).code, 200)
        version = stale["metadata"]["resourceVersion"]
        for query in (f"resourceVersion={version}", "resourceVersion=0"):
            watch = await self.operator.watch(f"{self.maps}?watch=1&{query}")
            expected = [("ADDED", "a"), ("ADDED", "b")]
            self.assertEqual(await watch.types(1 if version in query else 2), expected[version in query :])

    async def test_bookmarks(self) -> None:
        """Bookmarks, which come two seconds before the end of a watch, are dropped, or come a second late."""
        query = f"{self.maps}?watch=1&allowWatchBookmarks=true&timeoutSeconds=3"
        await self.map("a")
        rule = await self.rule(fault="bookmarks", resource="configmaps", times=1)
        dropped = await (await self.operator.watch(query)).rest()
        self.assertEqual([event["type"] for event in dropped], ["ADDED"])
        self.assertEqual(await self.struck(rule), 1)
        rule = await self.rule(fault="bookmarks", seconds=1, resource="configmaps")
        late = await self.operator.watch(query)
        self.assertEqual([event["type"] for event in await late.rest()], ["ADDED", "BOOKMARK"])
        self.assertEqual(await self.struck(rule), 1)


def frames(received: bytes) -> tuple[bytes, bytes]:
    """The whole event and the half one in an answer of two HTTP chunks, without their head."""
    rest = received.partition(b"\r\n\r\n")[2]
    found = []
    while rest:
        size, _, rest = rest.partition(b"\r\n")
        length = int(size, 16)
        found.append(rest[:length])
        rest = rest[length + 2 :]
    first, second = found
    return first, second


class CurlTests(FaultCase):
    """curl, over HTTP/2 as it comes by itself, and over HTTP/1.1."""

    if NO_CURL:
        skip = NO_CURL

    async def run_curl(self, path: str, *arguments: str, body: Object | None = None) -> Any:
        """Run curl beside the reactor."""
        return await deferToThread(lambda: self.curl(path, *arguments, body=body))

    def assertBroken(self, done: subprocess.CompletedProcess[bytes]) -> None:
        """The program has lost its connection."""
        self.assertIn(done.returncode, LOST, done)

    async def test_reset(self) -> None:
        """Writes lose their connections before and after they are stored, over both protocols."""
        for number, protocol in enumerate(("--http2", "--http1.1")):
            for when in ("before", "after"):
                rule = await self.rule(fault="reset", when=when, resource="configmaps", times=1)
                name = f"{when}-{number}"
                done = await self.run_curl(self.maps, protocol, body={"metadata": {"name": name}})
                self.assertBroken(done)
                self.assertEqual((done.stdout, await self.struck(rule)), (b"", 1))
                self.assertEqual(name in await self.names(), when == "after")

    async def test_cut_over_http2(self) -> None:
        """Half an event comes over HTTP/2, in JSON and in Protobuf, then the connection is reset."""
        text = b"x" * 2000
        for number, accept in enumerate(("application/json", PROTOBUF)):
            await self.rule(fault="cut", afterEvents=1, resource="configmaps", times=1)
            version = (await self.client.get(self.maps)).version
            path = f"{self.maps}?watch=1&resourceVersion={version}"
            command = self.curl_command(path, "--http2", "-H", f"Accept: {accept}")
            running = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
            self.addCleanup(running.kill)
            await self.map(f"a{number}", text=text.decode())
            whole = await deferToThread(self.read_until, running, text)
            await self.map(f"b{number}", text=text.decode())
            half, _ = await deferToThread(running.communicate)
            self.assertIn(running.returncode, LOST)
            self.assertTrue(0.4 * len(whole) < len(half) < 0.6 * len(whole), (whole, half))
            self.assertEqual((b"ADDED" in half, half.count(text)), (True, 0))

    def read_until(self, running: subprocess.Popen[bytes], text: bytes) -> bytes:
        """Read what a program prints until a text is in it; blocking."""
        assert running.stdout is not None
        received = b""
        while text not in received:
            received += os.read(running.stdout.fileno(), 65536)
        return received

    async def test_hanging(self) -> None:
        """A request hangs for as long as curl waits for it."""
        rule = await self.rule(fault="hanging", resource="configmaps")
        done = await self.run_curl(f"{self.maps}/x", "--max-time", "1")
        self.assertEqual((done.returncode, done.stdout, await self.struck(rule)), (28, b"", 1))

    async def test_statuses(self) -> None:
        """Each status has its code, its reason and, where the rule says so, Retry-After."""
        reasons = {409: "Conflict", 410: "Expired", 429: "TooManyRequests", 500: "InternalError",
                   503: "ServiceUnavailable", 504: "Timeout"}  # fmt: skip
        for code, reason in reasons.items():
            verb = {409: "delete", 410: "list"}.get(code, "get")
            await self.rule(status=code, verb=verb, resource="configmaps", times=1)
            path = self.maps if verb == "list" else f"{self.maps}/x"
            done = await self.run_curl(path, "-i", "-X", "DELETE" if verb == "delete" else "GET")
            head, _, body = done.stdout.partition(b"\r\n\r\n")
            self.assertEqual((json.loads(body)["reason"], json.loads(body)["code"]), (reason, code))
            self.assertEqual(b"retry-after: 1" in head.lower(), code == 429)


class KubectlTests(FaultCase):
    """`kubectl`, unmodified, as the operator."""

    if NO_KUBECTL:
        skip = NO_KUBECTL

    async def kubectl(self, *arguments: str, stdin: str = "") -> Result:
        """Run a command in the test's namespace."""
        runner = Kubectl(forking, self.kubeconfig(), self.mktemp())
        return await runner.run(f"--namespace={self.namespace}", *arguments, stdin=stdin)

    async def test_page(self) -> None:
        """The command of docs/operating/faults.md adds its rule."""
        command, stdin = re.findall(r"^kubectl (.+?) <<< '(.+)'$", PAGE.read_text(), re.M)[0]
        result = await self.kubectl(*command.split(), stdin=stdin)
        self.assertEqual(result.status, 0, result)
        (rule,) = (await self.client.get(RULES)).json["rules"]
        self.assertEqual((rule["status"], rule["verb"], rule["times"]), (409, ["update"], 2))

    async def test_throttled(self) -> None:
        """`kubectl` waits and tries again, for as long as the answer has Retry-After."""
        await self.map("x")
        rule = await self.rule(status=429, verb="get", resource="configmaps", times=2)
        result = await self.kubectl("get", "configmap", "x", "-o", "name")
        self.assertEqual((result.status, result.output), (0, "configmap/x\n"), result)
        self.assertEqual(await self.struck(rule), 2)

    async def test_failing(self) -> None:
        """`kubectl` shows the reasons of failures, and the texts of the rules."""
        for code, shown in (
            (500, "Error from server (InternalError): told 500"),
            (503, "Error from server (ServiceUnavailable): told 503"),
            (504, "Error from server (Timeout): told 504"),
        ):  # fmt: skip
            await self.rule(status=code, verb="get", resource="configmaps", times=1, message=f"told {code}")
            result = await self.kubectl("get", "configmap", "x")
            self.assertEqual((result.status, result.errors.strip()), (1, shown), result)

    async def test_conflict(self) -> None:
        """`kubectl patch` meets a conflict, as with a writer that was faster."""
        await self.map("x")
        await self.rule(status=409, resource="configmaps", times=1)
        result = await self.kubectl("patch", "configmap", "x", "--type=merge", "-p", '{"data":{"a":"b"}}')
        self.assertEqual(result.status, 1)
        self.assertIn('(Conflict): Operation cannot be fulfilled on configmaps "x": the object has', result.errors)
        result = await self.kubectl("patch", "configmap", "x", "--type=merge", "-p", '{"data":{"a":"b"}}')
        self.assertEqual(result.status, 0, result)

    async def test_hanging(self) -> None:
        """`kubectl` gives up after its own time."""
        await self.rule(fault="hanging", resource="configmaps")
        result = await self.kubectl("get", "configmap", "x", "--request-timeout=1s")
        self.assertEqual(result.status, 1)
        self.assertRegex(result.errors, "deadline exceeded|timeout|Timeout")


class SeenTests(FaultCase):
    """Records of what has struck, and rights to the rules."""

    async def test_audit_and_metrics(self) -> None:
        """Each fault is in the audit log under its rule, in a metric under its kind, and in the list of rules."""
        await self.map("x")
        conflict = await self.rule(status=409, resource="configmaps", times=1)
        cut = await self.rule(fault="cut", resource="configmaps", times=1)
        before = await self.metric("conflict")
        self.assertEqual((await self.operator.put(f"{self.maps}/x", {"metadata": {"name": "x"}})).code, 409)
        watch = await self.operator.watch(f"{self.maps}?watch=1")
        with self.assertRaises(Exception):  # noqa: B017  # a reset shows in different ways
            await watch.events(2)
        self.assertEqual(await self.metric("conflict"), before + 1)
        shown = {rule["id"]: rule for rule in (await self.client.get(RULES)).json["rules"]}
        self.assertEqual({rule_id: rule["struck"] for rule_id, rule in shown.items()}, {conflict: 1, cut: 1})
        while {conflict, cut} - (seen := {event["annotations"][ANNOTATION]: event for event in self.events()}).keys():
            await deferLater(reactor, 0.01)
        self.assertEqual(seen[conflict]["responseStatus"]["code"], 409)
        self.assertEqual((seen[cut]["verb"], seen[cut]["stage"]), ("watch", "ResponseComplete"))

    async def metric(self, fault: str) -> float:
        """The count of a kind of fault."""
        lines = (await self.client.get("/metrics")).body.decode().splitlines()
        name = f'orchtw_faults_struck_total{{fault="{fault}"}} '
        return sum(float(line.removeprefix(name)) for line in lines if line.startswith(name))

    async def test_rights(self) -> None:
        """Those without rights to the path get nothing of it, and their requests strike no rule."""
        rule = await self.rule(status=500, user="bob")
        bob = self.as_user("bobs-token")
        for method, path in (("GET", RULES), ("POST", RULES), ("DELETE", RULES), ("GET", f"{RULES}/{rule}")):
            self.assertEqual((await bob.send(method, path, b"{}")).code, 403, path)
        self.assertEqual((await bob.get(self.maps)).code, 403)
        self.assertEqual((await self.client.get(f"{RULES}/{rule}")).json["matched"], 0)
        self.assertEqual((await self.client.post(RULES, {"fault": "late"})).code, 400)


class FlagTests(ProcessCase):
    """The flag, and the end of a server with rules."""

    async def test_workers(self) -> None:
        """Several processes would count on their own: one line says so."""
        line = await self.refusal(self.server("--enable-faults", "--workers=2"))
        self.assertIn("--enable-faults: not with --workers above 1", line)

    async def test_end(self) -> None:
        """A server ends while requests hang, which are answered."""
        server = self.server("--enable-faults", "--bootstrap=false")
        await server.start()
        client = self.client(server)
        answer = await client.post(RULES, {"fault": "hanging", "seconds": 600, "resource": "configmaps"})
        self.assertEqual(answer.code, 201, answer)
        asked = Deferred.fromCoroutine(client.get("/api/v1/configmaps"))
        while not (await client.get(f"{RULES}/hanging-1")).json["struck"]:
            await deferLater(reactor, 0.01)
        self.assertEqual(await server.terminate(), 0)
        self.assertEqual((await asked).code, 504)
        self.assertIn("faults are enabled: authorized users can make requests fail at /debug/faults", server.log)
