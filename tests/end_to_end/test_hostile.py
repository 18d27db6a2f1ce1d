"""Requests that no well-meaning client sends: each gets its Status, none a 500, and the server goes on.

Sources: reference ENC-8, ENC-9, ENC-13, ERR-15, ERR-28, READ-18, READ-20, WRITE-5, PATCH-1, REQ-9, LIMIT-1.
"""

from __future__ import annotations

import gzip
import os
import selectors
import socket
import ssl
from pathlib import Path
from typing import Any

import attrs
from twisted.internet.task import deferLater
from twisted.internet.threads import deferToThread

from tests.end_to_end.case import ServerCase, reactor
from tests.end_to_end.client import JSON, MERGE_PATCH, PATIENCE_S, plain_exchange, raw_exchange, tls_context

YAML, PROTOBUF, JSON_PATCH = "application/yaml", "application/vnd.orch.protobuf", "application/json-patch+json"
MAPS, MAP = "/api/v1/namespaces/{ns}/configmaps", "/api/v1/namespaces/{ns}/configmaps/m"
LIMIT_BYTES = 3145728
DEEP = 100_000
# The envelope of a ConfigMap, up to and without its `raw`.
ENVELOPE = b"k8s\0\x0a\x0f\x0a\x02v1\x12\x09ConfigMap"
BOMB = b"a: &a [x,x,x,x,x,x,x,x,x]\n" + b"".join(
    b"%c: &%c [%s]\n" % (98 + i, 98 + i, b",".join([b"*%c" % (97 + i)] * 9)) for i in range(12)
)


@attrs.frozen(slots=True)
class Case:
    """Request and the beginning of its Status; no `reason` where the response is not a Status."""

    about: str
    method: str
    path: str
    body: Any = None
    content_type: str = JSON
    code: int = 400
    reason: str = "BadRequest"
    message: str = ""
    headers: dict[str, str] = attrs.Factory(dict)


def sent(about: str, body: bytes, content_type: str = JSON, **more: Any) -> Case:
    """A POST of a ConfigMap."""
    return Case(about, "POST", MAPS, body, content_type, **more)


def patched(about: str, body: bytes, content_type: str = MERGE_PATCH, **more: Any) -> Case:
    """A PATCH of a ConfigMap."""
    return Case(about, "PATCH", MAP, body, content_type, **more)


UNREADABLE = "the object provided is unrecognized (must be of type ConfigMap): couldn't get version/kind; "
MISHANDLED = 'ConfigMap in version "v1" cannot be handled as a ConfigMap: '

BODIES = (
    sent("empty", b"", message=UNREADABLE),
    sent("no JSON", b"{", message=UNREADABLE + "json parse error: "),
    sent("two documents", b"{} {}", message=UNREADABLE),
    sent("a list", b"[]", message=UNREADABLE),
    sent("a number", b"1", message=UNREADABLE),
    sent("null", b"null", message=UNREADABLE),
    sent("NaN", b'{"metadata":{"name":"a","generation":NaN}}', message=UNREADABLE),
    sent("broken UTF-8", b'{"metadata":{"name":"\xff\xfe"}}', message=UNREADABLE),
    sent("lone surrogate", b'{"metadata":{"name":"\\ud800"}}'),
    sent("deep lists", b'{"metadata":' + b"[" * DEEP + b"]" * DEEP + b"}"),
    sent("deep objects", b'{"metadata":' * DEEP + b"1" + b"}" * DEEP),
    sent("string for an object", b'{"metadata":"a"}', message=MISHANDLED),
    sent("list for an object", b'{"metadata":[]}', message=MISHANDLED),
    sent("number for a string", b'{"metadata":{"name":1}}', message=MISHANDLED),
    sent("object for a string", b'{"data":{"a":{}}}', message=MISHANDLED),
    sent("no base64", b'{"binaryData":{"a":"%%%"}}', message=MISHANDLED),
    sent("no time", b'{"metadata":{"creationTimestamp":"yesterday"}}', message=MISHANDLED),
    sent("another kind", b'{"kind":"Foo","apiVersion":"v1"}'),
    sent("another registered kind", b'{"kind":"Secret","apiVersion":"v1","metadata":{"name":"a"}}'),
    sent("another version", b'{"kind":"ConfigMap","apiVersion":"v2","metadata":{"name":"a"}}'),
    sent("kind of no type", b'{"kind":1}'),
    sent("no YAML", b"a: [", YAML),
    sent("YAML list", b"- a", YAML),
    sent("YAML alias bomb", BOMB, YAML),
    sent("YAML that calls", b"!!python/object/apply:os.system ['true']", YAML),
    sent("YAML tag", b"metadata: !foo bar", YAML),
    sent("deep YAML", b"[" * DEEP, YAML),
    sent("broken UTF-8 in YAML", b"metadata: {name: \xff}", YAML),
    sent("YAML control characters", b"metadata: {name: \x00}", YAML),
    sent("Protobuf without prefix", b"abc", PROTOBUF),
    sent("empty Protobuf", b"", PROTOBUF),
    sent("prefix alone", b"k8s\0", PROTOBUF, code=422, reason="Invalid"),
    sent("truncated envelope", ENVELOPE + b"\x12\x7f\x0a", PROTOBUF),
    sent("truncated message", ENVELOPE + b"\x12\x02\x0a\x7f", PROTOBUF),
    sent("endless varint", ENVELOPE + b"\x12\x0b" + b"\xff" * 11, PROTOBUF),
    sent("field of wrong wire type", ENVELOPE + b"\x12\x02\x08\x01", PROTOBUF),
    sent("broken UTF-8 in Protobuf", ENVELOPE + b"\x12\x06\x0a\x04\x0a\x02\xff\xfe", PROTOBUF),
    sent("unended group", ENVELOPE + b"\x12\x04\x0b\x0b\x0b\x0b", PROTOBUF),
    sent("Protobuf of another kind", b"k8s\0\x0a\x0c\x0a\x02v1\x12\x06Secret\x12\x00", PROTOBUF),
    sent("bad label", b'{"metadata":{"name":"a","labels":{"a b":"c"}}}', code=422, reason="Invalid"),
    sent("bad name", b'{"metadata":{"name":"A_B"}}', code=422, reason="Invalid"),
    sent("name with a slash", b'{"metadata":{"name":"a/b"}}', code=422, reason="Invalid"),
    sent("no name", b"{}", code=422, reason="Invalid"),
    sent("very long name", b'{"metadata":{"name":"%s"}}' % (b"a" * 100_000), code=422, reason="Invalid"),
    sent("type that nobody reads", b"a", "text/plain", code=415, reason="UnsupportedMediaType"),
    sent("form", b"a=b", "application/x-www-form-urlencoded", code=415, reason="UnsupportedMediaType"),
    sent("unreadable type", b"{}", ";;;", code=415, reason="UnsupportedMediaType"),
    sent("too large", b" " * (LIMIT_BYTES + 1), code=413, reason="RequestEntityTooLarge",
         message=f"Request entity too large: limit is {LIMIT_BYTES}"),
    sent("too large to be a patch", b" " * (2 * LIMIT_BYTES), code=413, reason="RequestEntityTooLarge"),
    sent("compressed", gzip.compress(b"{}"), headers={"Content-Encoding": "gzip"}),
    Case("options that are none", "DELETE", MAP, b"[]"),
    Case("options of another kind", "DELETE", MAP, b'{"kind":"Pod","apiVersion":"v1"}'),
    Case("bad policy", "DELETE", MAP, b'{"propagationPolicy":"Never"}', code=422, reason="Invalid"),
    Case("PUT of another name", "PUT", MAP, b'{"metadata":{"name":"x"}}'),
    Case("PUT of a bad version", "PUT", MAP, b'{"metadata":{"name":"m","resourceVersion":"abc"}}'),
    patched("patch that is no JSON", b"{"),
    patched("patch that is a list", b"[1]"),
    patched("patch to another name", b'{"metadata":{"name":"x"}}'),
    patched("patch to a wrong type", b'{"data":"x"}', code=422, reason="Invalid"),
    patched("deep patch", b'{"data":' * DEEP + b"1" + b"}" * DEEP),
    patched("patch as plain JSON", b"{}", JSON, code=415, reason="UnsupportedMediaType"),
    patched("patch of no type", b"{}", "text/plain", code=415, reason="UnsupportedMediaType"),
)

LISTS = (
    ("labelSelector=a%3D%3D%3Db", 400, "BadRequest"),
    ("labelSelector=a+in+(b", 400, "BadRequest"),
    ("labelSelector=,", 400, "BadRequest"),
    ("labelSelector=" + "a" * 100, 400, "BadRequest"),
    ("labelSelector=%FF%FE", 400, "BadRequest"),
    ("labelSelector=a>x", 400, "BadRequest"),
    ("fieldSelector=xx", 400, "BadRequest"),
    ("fieldSelector=spec.foo%3D1", 400, "BadRequest"),
    ("fieldSelector=metadata.name%3Da%5C", 400, "BadRequest"),
    ("limit=a", 400, "BadRequest"),
    ("limit=99999999999999999999", 400, "BadRequest"),
    ("continue=abc", 400, "BadRequest"),
    ("continue=%FF", 400, "BadRequest"),
    ("resourceVersion=abc", 400, "BadRequest"),
    ("resourceVersion=-1", 400, "BadRequest"),
    ("resourceVersion=99999999999999999999999", 400, "BadRequest"),
    ("resourceVersion=abc&limit=1", 400, "BadRequest"),
    ("resourceVersionMatch=Exact", 422, "Invalid"),
    ("resourceVersion=0&resourceVersionMatch=Exact", 422, "Invalid"),
    ("resourceVersion=1&resourceVersionMatch=foo", 422, "Invalid"),
    ("timeoutSeconds=a", 400, "BadRequest"),
    ("timeout=a", 400, "BadRequest"),
    ("watch=1&labelSelector=a+in+(b", 400, "BadRequest"),
    ("watch=1&resourceVersion=abc", 400, "BadRequest"),
)

NOT_FOUND = "the server could not find the requested resource"
NOT_ALLOWED = "the server does not allow this method on the requested resource"
PLACES = (
    Case("unknown resource", "GET", "/api/v1/foos", code=404, reason="NotFound", message=NOT_FOUND),
    Case("resource of another group", "GET", "/apis/apps/v1/pods", code=404, reason="NotFound", message=NOT_FOUND),
    Case("unknown sub-resource", "GET", MAP + "/foo", code=404, reason="NotFound", message=NOT_FOUND),
    Case("too many segments", "GET", MAP + "/foo/bar", code=404, reason="NotFound"),
    Case("name with an escaped slash", "GET", MAPS + "/a%2Fb",
         message="Name parameter invalid: \"a/b\": may not contain '/'"),
    Case("escape of nothing", "GET", MAPS + "/%ZZ"),
    Case("name that is no UTF-8", "GET", MAPS + "/%FF", code=404, reason="NotFound"),
    Case("very long path", "GET", "/api/v1/" + "a/" * 1000, code=404, reason="NotFound"),
    Case("names of thousands of bytes", "GET", MAPS + "/" + "a" * 8000, code=404, reason="NotFound"),
    Case("method of something else", "PROPFIND", MAPS, code=405, reason="MethodNotAllowed", message=NOT_ALLOWED),
    Case("OPTIONS", "OPTIONS", MAPS, code=405, reason="MethodNotAllowed", message=NOT_ALLOWED),
    Case("TRACE", "TRACE", MAPS, code=405, reason="MethodNotAllowed", message=NOT_ALLOWED),
    Case("PUT on a collection", "PUT", MAPS, b"{}", code=405, reason="MethodNotAllowed", message=NOT_ALLOWED),
    Case("PATCH on a collection", "PATCH", MAPS, b"{}", code=405, reason="MethodNotAllowed", message=NOT_ALLOWED),
    Case("POST on an object", "POST", MAP, b"{}", code=405, reason="MethodNotAllowed", message=NOT_ALLOWED),
    Case("POST across namespaces", "POST", "/api/v1/pods", b"{}", code=405, reason="MethodNotAllowed"),
    Case("DELETE of all namespaces", "DELETE", "/api/v1/namespaces", code=405, reason="MethodNotAllowed"),
    Case("unacceptable", "GET", MAPS, code=406, reason="NotAcceptable", headers={"Accept": "image/png"}),
    Case("unreadable Accept", "GET", MAPS, code=406, reason="NotAcceptable", headers={"Accept": ";;;,=,"}),
)

POST = b"POST / HTTP/1.1\r\nHost: a\r\n"
# Not even HTTP, or not HTTP that a server should guess the meaning of; each on a connection of its own.
RAW = (
    ("no HTTP", b"hello\r\n\r\n", b"400"),
    ("TLS within TLS", b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03", b"400"),
    ("two lengths", POST + b"Content-Length: 1\r\nContent-Length: 2\r\n\r\nab", b"400"),
    ("both framings", POST + b"Content-Length: 1\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n", b"400"),
    ("negative length", POST + b"Content-Length: -1\r\n\r\n", b"400"),
    ("chunk of no size", POST + b"Transfer-Encoding: chunked\r\n\r\nzz\r\n", b"400"),
    ("header without a name", b"GET / HTTP/1.1\r\nHost: a\r\n: x\r\n\r\n", b"400"),
    ("endless head", b"GET / HTTP/1.1\r\nHost: a\r\nX: " + b"a" * (2 << 20), b"431"),
    ("endless path", b"GET /" + b"a" * (2 << 20), b"4"),
    ("HTTP of the future", b"GET / HTTP/9.9\r\n\r\n", b"4"),
)


class HostileTests(ServerCase):
    async def setUp(self) -> None:  # type: ignore[override]
        await super().setUp()
        await self.created(self.core("configmaps"), {"metadata": {"name": "m"}, "data": {"a": "b"}})

    async def tearDown(self) -> None:  # type: ignore[override]
        answer = await self.client.get(self.core("configmaps", "m"))
        self.assertEqual((answer.code, answer.json["data"]), (200, {"a": "b"}), "not as it was")
        self.assertEqual(len((await self.client.get(self.core("configmaps"))).json["items"]), 1)

    async def check(self, cases: tuple[Case, ...]) -> None:
        """Every case is refused as it says; all that are not are named."""
        wrong = [problem for case in cases if (problem := await self.problem(case))]
        self.assertEqual(wrong, [], "\n".join(wrong))

    async def problem(self, case: Case) -> str:
        """Return the fault of the response, if any."""
        headers = {"Content-Type": case.content_type} if case.body is not None else {}
        path = case.path.replace("{ns}", self.namespace)
        answer = await self.client.send(case.method, path, case.body, {**headers, **case.headers})
        status = answer.json if answer.headers.get("content-type") == JSON else {}
        found = answer.code, status.get("reason", ""), status.get("code", answer.code)
        if found == (case.code, case.reason, case.code) and status.get("message", "").startswith(case.message):
            return ""
        return f"{case.about}: {str(answer)[:600]}"

    async def test_bodies(self) -> None:
        """A body that is not what it should be is a 400, 413, 415 or 422, never stored."""
        await self.check(BODIES)

    async def test_lists(self) -> None:
        """List and watch parameters that cannot be understood are refused (reference READ-6, READ-11, READ-19)."""
        await self.check(
            tuple(Case(query, "GET", f"{MAPS}?{query}", code=code, reason=reason) for query, code, reason in LISTS)
        )

    async def test_places(self) -> None:
        """Paths and methods that lead nowhere are a 404, 405 or 406 (reference ERR-18, ERR-28, ERR-29, REQ-10)."""
        await self.check(PLACES)

    async def test_connections(self) -> None:
        """Malformed requests end their own connection, and no other."""
        context = tls_context(self.server.kubeconfig)
        wrong = []
        for about, data, code in RAW:
            answer = await deferToThread(raw_exchange, self.server.port, context, data)
            if answer and not answer.startswith(b"HTTP/1.1 " + code):
                wrong.append(f"{about}: {answer[:300]!r}")
        self.assertEqual(wrong, [], "\n".join(wrong))

    async def test_no_tls(self) -> None:
        """Plain HTTP and plain noise on the TLS port are refused without harm."""
        for data in (b"GET / HTTP/1.0\r\n\r\n", b"\x00" * 1000, b"\x16\x03\x01\xff\xff", b""):
            answer = await deferToThread(plain_exchange, self.server.port, data)
            self.assertTrue(answer == b"" or answer.startswith((b"HTTP/1.0 400", b"\x15\x03")), answer)


HEAD = b"%b HTTP/1.1\r\nHost: a\r\n"
UPLOAD = HEAD % b"POST /api/v1/namespaces" + b"Content-Length: %d\r\n" % LIMIT_BYTES
OBJECT_BYTES = 1_000_000
BUDGET_BYTES = 32 << 20
# What the process itself takes meanwhile, beside what it counts.
SLACK_BYTES = 48 << 20
ROUNDS = 200


class MemoryTests(ServerCase):
    """Memory that clients make the server hold is bounded (reference LIMIT-9, LIMIT-11)."""

    flags = (f"--max-inflight-bytes={BUDGET_BYTES}", "--write-stall-timeout=4s")

    async def setUp(self) -> None:  # type: ignore[override]
        await super().setUp()
        self.admin = tls_context(self.server.kubeconfig)
        self.stranger = tls_context(self.server.kubeconfig, certificate=False)
        self.open: list[ssl.SSLSocket] = []
        self.addCleanup(self.close)

    def close(self) -> None:
        for connection in self.open:
            connection.close()

    def begin(self, context: ssl.SSLContext, data: bytes, count: int, receive_bytes: int = 0) -> None:
        """Open `count` connections that send `data` as far as it is taken, and read nothing."""
        for _ in range(count):
            connection = opened(self.server.port, context, receive_bytes)
            self.open.append(connection)
            try:
                connection.sendall(data)
            except OSError:
                pass

    def told(self, silent: int = 0) -> list[bytes]:
        """The codes that come on the connections; returns once no more than `silent` of them have none."""
        codes = []
        with selectors.DefaultSelector() as waiting:
            for connection in self.open:
                connection.setblocking(False)
                waiting.register(connection, selectors.EVENT_READ, connection)
            while len(waiting.get_map()) > silent and (ready := waiting.select(PATIENCE_S)):
                for key, _ in ready:
                    try:
                        codes.append(key.data.recv(12)[9:])
                    except ssl.SSLWantReadError:
                        continue  # the session's tickets, which come before the answer
                    except OSError:
                        codes.append(b"lost")
                    waiting.unregister(key.data)
        return codes

    async def grown(self, context: ssl.SSLContext, data: bytes, receive_bytes: int = 0) -> int:
        """By how many bytes the server has grown when it has had 200 such clients, during which it serves others."""
        before = resident_bytes(self.server.pid)
        await deferToThread(self.begin, context, data, ROUNDS, receive_bytes)
        made = await self.client.post(self.core("configmaps"), {"metadata": {"generateName": "m-"}})
        self.assertEqual(made.code, 201, made)
        return resident_bytes(self.server.pid) - before

    async def test_bodies_of_strangers(self) -> None:
        """200 bodies of 3 MiB without credentials are refused by their heads, and others are served."""
        data = UPLOAD + b"\r\n" + b"x" * (LIMIT_BYTES - 1)
        self.assertLess(await self.grown(self.stranger, data), SLACK_BYTES)
        self.assertEqual(set(await deferToThread(self.told)), {b"403"})

    async def test_bodies_with_wrong_tokens(self) -> None:
        """A wrong token is a 401 before the body comes."""
        data = UPLOAD + b"Authorization: Bearer wrong\r\nExpect: 100-continue\r\n\r\n"
        await self.grown(self.stranger, data)
        self.assertEqual(set(await deferToThread(self.told)), {b"401"})

    async def test_unfinished_bodies(self) -> None:
        """200 bodies of 3 MiB that never end take the budget at most; those beyond it get a 429."""
        data = UPLOAD + b"\r\n" + b"x" * (LIMIT_BYTES - 1)
        self.assertLess(await self.grown(self.admin, data), BUDGET_BYTES + SLACK_BYTES)
        most = BUDGET_BYTES // LIMIT_BYTES - 1
        told = await deferToThread(self.told, most)
        self.assertEqual(set(told), {b"429"})
        self.assertIn(ROUNDS - len(told), range(1, most + 1))

    async def test_head_of_lines(self) -> None:
        """A head of 1 MiB of `a:` lines is a 431."""
        data = HEAD % b"GET /" + b"a:\r\n" * 262_144 + b"\r\n"
        answer = await deferToThread(raw_exchange, self.server.port, self.stranger, data)
        self.assertTrue(answer == b"" or answer.startswith(b"HTTP/1.1 431 "), answer[:300])

    async def test_unread_answers(self) -> None:
        """200 clients that do not read a long answer cost the budget at most, and are dropped when the time is up."""
        obj = {"metadata": {"name": "long"}, "data": {"a": "x" * OBJECT_BYTES}}
        await self.created(self.core("configmaps"), obj)
        data = HEAD % f"GET {self.core('configmaps', 'long')}".encode() + b"Connection: close\r\n\r\n"
        before = open_files(self.server.pid)
        self.assertLess(await self.grown(self.admin, data, 4096), BUDGET_BYTES + SLACK_BYTES)
        while open_files(self.server.pid) > before + 1:
            await deferLater(reactor, 0.1)

    async def test_half_closed(self) -> None:
        """A client that ends its side after the request gets a long answer whole (reference LIMIT-13)."""
        obj = {"metadata": {"name": "long"}, "data": {"a": "x" * OBJECT_BYTES}}
        await self.created(self.core("configmaps"), obj)
        data = HEAD % f"GET {self.core('configmaps', 'long')}".encode() + b"\r\n"

        def talk() -> bytes:
            self.begin(self.admin, data, 1)
            end_tcp(self.open[0])
            return rest(self.open[0])

        self.assertGreater(len(await deferToThread(talk)), OBJECT_BYTES)


def opened(port: int, context: ssl.SSLContext, receive_bytes: int = 0) -> ssl.SSLSocket:
    """A TLS connection whose receive buffer the system does not enlarge."""
    plain = socket.socket()
    plain.settimeout(PATIENCE_S)
    if receive_bytes:
        plain.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, receive_bytes)
    plain.connect(("127.0.0.1", port))
    return context.wrap_socket(plain, server_hostname="127.0.0.1")


def end_tcp(connection: ssl.SSLSocket) -> None:
    """End the sending side of the connection under TLS, which goes on reading."""
    with socket.socket(fileno=os.dup(connection.fileno())) as plain:
        plain.shutdown(socket.SHUT_WR)


def rest(connection: ssl.SSLSocket) -> bytes:
    """All that comes until the end."""
    received = b""
    try:
        while piece := connection.recv(65536):
            received += piece
    except OSError:
        pass
    return received


def open_files(pid: int) -> int:
    """Return the number of a process' descriptors."""
    return len(os.listdir(f"/proc/{pid}/fd"))


def resident_bytes(pid: int) -> int:
    """The memory of a process."""
    status = Path(f"/proc/{pid}/status").read_text()
    return int(status.partition("VmRSS:")[2].split()[0]) * 1024
