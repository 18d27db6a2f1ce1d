"""Requests in general: origins, methods, sizes, times, the log."""

from __future__ import annotations

import ssl

from twisted.internet.task import deferLater
from twisted.internet.threads import deferToThread

from tests.end_to_end.case import ServerCase, reactor
from tests.end_to_end.client import PATIENCE_S, Answer, Client, tls_context

PAGE = "https://page.example"
PREFLIGHT = {"Origin": PAGE, "Access-Control-Request-Method": "POST"}
METHODS = "POST, GET, OPTIONS, PUT, DELETE, PATCH"
HEADERS = (
    "Content-Type, Content-Length, Accept-Encoding, X-CSRF-Token, Authorization, X-Requested-With, If-Modified-Since"
)


class LimitTests(ServerCase):
    """One server for all, with flags that are seldom given."""

    flags = (
        "--bootstrap=false",
        "--controllers=-*",
        "--cors-allowed-origins=^https://page\\.example$",
        "--strict-transport-security-directives=max-age=31536000,includeSubDomains",
        "--vmodule=request_log=3",
        "--feature-gates=ServerSideFieldValidation=false",
    )

    async def new_namespace(self) -> str:
        """Nobody makes anything in it."""
        name = self.unique("ns")
        self.assertEqual((await self.client.post("/api/v1/namespaces", {"metadata": {"name": name}})).code, 201)
        return name

    async def test_preflight(self) -> None:
        """A page of an allowed origin may ask before it has credentials, others may not (reference REQ-28)."""
        answer = await self.anonymous().send("OPTIONS", "/api/v1/pods", None, PREFLIGHT)
        self.assertEqual((answer.code, answer.body), (204, b""))
        self.assert_opened(answer)
        for headers in ({**PREFLIGHT, "Origin": f"{PAGE}.evil"}, {**PREFLIGHT, "Origin": "http://page.example"}, {}):
            answer = await self.client.send("OPTIONS", "/api/v1/pods", None, headers)
            self.assertEqual(answer.code, 405, headers)
            self.assertNotIn("access-control-allow-origin", answer.headers)

    async def test_pages(self) -> None:
        """A page of an allowed origin may read answers and refusals, others may not (reference REQ-28)."""
        for client, code in ((self.client, 200), (self.anonymous(), 403)):
            answer = await client.send("GET", "/api/v1/pods", None, {"Origin": PAGE})
            self.assertEqual(answer.code, code)
            self.assert_opened(answer)
        answer = await self.client.send("GET", "/api/v1/pods", None, {"Origin": f"{PAGE}.evil"})
        self.assertEqual((answer.code, "access-control-allow-origin" in answer.headers), (200, False))

    def assert_opened(self, answer: Answer) -> None:
        """The answer may be read by the page."""
        found = {name: text for name, text in answer.headers.items() if name.startswith("access-control-")}
        expected = {
            "access-control-allow-origin": PAGE,
            "access-control-allow-methods": METHODS,
            "access-control-allow-headers": HEADERS,
            "access-control-expose-headers": "Date",
            "access-control-allow-credentials": "true",
        }
        self.assertEqual(found, expected)

    async def test_common_headers(self) -> None:
        """Every answer, refusals too, has an audit id, is not to be kept, and asks for TLS (reference REQ-22)."""
        stranger = self.anonymous()
        for client, path in ((self.client, "/version"), (self.client, "/nothing"), (stranger, "/api/v1/pods")):
            headers = (await client.get(path)).headers
            self.assertRegex(headers["audit-id"], "^[0-9a-f-]{36}$")
            self.assertEqual(headers["cache-control"], "no-cache, private")
            self.assertEqual(headers["strict-transport-security"], "max-age=31536000; includeSubDomains")

    async def test_methods(self) -> None:
        """An unsupported method is a 405 without `Allow` (reference REQ-14, ERR-28)."""
        for method in ("OPTIONS", "TRACE", "HEAD"):
            answer = await self.client.send(method, f"/api/v1/namespaces/{self.namespace}")
            self.assertEqual((answer.code, "allow" in answer.headers), (405, False), method)

    async def test_large_bodies(self) -> None:
        """A body over 3 MiB is a 413 of the API, with an audit id, for authorized users; others get a 401 or
        403 (reference LIMIT-1, ERR-32).
        """
        large = {"Content-Length": "3145729", "Audit-ID": "large"}
        for method, rest in (("POST", ()), ("PUT", ("a",)), ("PATCH", ("a",)), ("DELETE", ("a",))):
            path = self.core("configmaps", *rest)
            answer = await self.client.send(method, path, None, large)
            self.assertRefused(answer, 413, "RequestEntityTooLarge", "Request entity too large: limit is 3145728")
            self.assertEqual((answer.headers["audit-id"], answer.headers["connection"]), ("large", "close"))
            self.assertEqual((await self.anonymous().send(method, path, None, large)).code, 403)
        await self.until_logged('verb="POST"', "resp=413")

    async def test_large_heads(self) -> None:
        """A head over 1 MiB is a 431, in one header or in many (reference LIMIT-4)."""
        for lines in (b"X: " + b"x" * 1_200_000 + b"\r\n", b"X: %b\r\n" % (b"x" * 8000) * 140):
            self.assertEqual(await deferToThread(self.code_of, lines), b"431")

    def code_of(self, lines: bytes) -> bytes:
        """The code that a request with these header lines gets."""
        context: ssl.SSLContext = tls_context(self.server.kubeconfig)
        connection = Client(self.server.port, context).connection()
        connection.connect()
        sock = connection.sock
        sock.settimeout(PATIENCE_S)
        try:
            sock.sendall(b"GET /version HTTP/1.1\r\nHost: a\r\n" + lines + b"\r\n")
        except OSError:
            pass  # it is refused before all of it is there
        head = sock.recv(65536)
        connection.close()
        return bytes(head.split(b" ")[1])

    async def test_timeouts(self) -> None:
        """A `timeout` that cannot be read is a 400 for all but long-running requests (reference REQ-18)."""
        for path in ("/api/v1/pods", "/version", "/api", self.core("configmaps", "x"), "/healthz"):
            answer = await self.client.get(f"{path}?timeout=soon")
            self.assertRefused(answer, 400, "BadRequest", "invalid timeout specified in the request URL")
            self.assertNotEqual((await self.client.get(f"{path}?timeout=-1s")).code, 400)
        watch = await self.client.watch("/api/v1/pods?watch=1&timeoutSeconds=1&timeout=soon")
        self.assertEqual(watch.code, 200)

    async def test_log_of_one_module(self) -> None:
        """`--vmodule` has one module say more than others: requests are logged without `-v` (reference OPS-19)."""
        await self.client.send("GET", "/version?secret=s3cret", None, {"User-Agent": "a\\b", "Audit-ID": "seen"})
        await self.until_logged('verb="GET"', 'URI="/version"', 'userAgent="a\\\\b"', 'audit-ID="seen"', "resp=200")
        self.assertNotIn("s3cret", self.server.log)

    async def until_logged(self, *texts: str) -> None:
        """Wait for a line with all of these in it."""
        while not any(all(text in line for text in texts) for line in self.server.log.splitlines()):
            await deferLater(reactor, 0.02)

    async def test_folder_of_logs(self) -> None:
        """`/logs/` shows the machine's logs to authorized users (reference OPS-20)."""
        answer = await self.client.get("/logs/")
        self.assertEqual((answer.code, answer.headers["content-type"]), (200, "text/html; charset=utf-8"))
        for path in ("/logs/../../etc/passwd", "/logs/%2e%2e/%2e%2e/etc/passwd", "/logs/nothing"):
            self.assertEqual((await self.client.get(path)).code, 404, path)
        self.assertEqual((await self.anonymous().get("/logs/")).code, 403)

    async def test_unchecked_fields(self) -> None:
        """Without its gate `fieldValidation` means nothing, but it must be one (reference WRITE-23)."""
        body = {"metadata": {"name": "a"}, "foo": 1}
        answer = await self.client.post(self.core("configmaps") + "?fieldValidation=Strict", body)
        self.assertEqual((answer.code, "warning" in answer.headers), (201, False))
        self.assertEqual((await self.client.post(self.core("configmaps") + "?fieldValidation=x", body)).code, 422)
        answer = await self.client.merge(self.core("configmaps", "a") + "?fieldValidation=Strict", {"bar": 1})
        self.assertEqual((answer.code, "warning" in answer.headers), (200, False))
