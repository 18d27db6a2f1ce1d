"""Requests and responses through the sub-resource `proxy` (reference PROXY-9, PROXY-14 to PROXY-16)."""

from __future__ import annotations

import zlib

from orchtw.outbound.dialer import Unreachable
from tests.proxy.backend_case import SWITCH, UPGRADE, ConnectionCase, answer


class ForwardingTests(ConnectionCase):
    """Proxy requests to pod `p`."""

    def test_methods_and_paths(self) -> None:
        """Every method, the path and query as they are."""
        for method in ("GET", "POST", "PUT", "PATCH", "DELETE", "HEAD", "OPTIONS"):
            self.assertEqual(self.code(method, "pods/p:80/proxy/a%20b//c/?x=1&x=%2F", None), 200, method)
            self.assertEqual(self.asked(), f"{method} /a%20b/c/?x=1&x=%2F HTTP/1.1")
        self.send("GET", "pods/p:80/proxy/")
        self.assertEqual(self.asked(), "GET / HTTP/1.1")
        self.send("POST", "pods/p:80/proxy")
        self.assertEqual(self.asked(), "POST / HTTP/1.1")
        self.send("GET", "pods/p:80/proxy/../../etc/passwd")
        self.assertEqual(self.asked(), "GET /etc/passwd HTTP/1.1")

    def test_body_and_headers(self) -> None:
        """The body goes along; credentials and headers of the connection do not."""
        headers = {"host": "api:6443", "connection": "x-mine", "x-mine": "1", "content-type": "text/plain", "a": "b"}
        got = self.send("POST", "pods/p:80/proxy/x", b"hello", headers)
        self.assertEqual(got.body, b"ok")
        request = self.backend.transports[-1].value().decode()
        self.assertTrue(request.endswith("\r\n\r\nhello"))
        lines = self.asked_headers()
        for line in ("Host: api:6443", "a: b", "Content-Length: 5", "X-Forwarded-For: test"):
            self.assertIn(line, lines)
        self.assertIn("X-Forwarded-Uri: /api/v1/namespaces/default/pods/p:80/proxy/x", lines)
        self.assertNotIn("uthorization", request)
        self.assertNotIn("x-mine", request)

    def test_slash(self) -> None:
        """Without a path a page could have no links relative to it."""
        got = self.send("GET", "pods/p/proxy?a=b")
        location = "/api/v1/namespaces/default/pods/p/proxy/?a=b"
        self.assertEqual((got.code, got.headers["location"], self.backend.exchanges), (301, location, []))

    def test_unreachable(self) -> None:
        """The release's words (reference PROXY-14)."""
        self.backend.trouble = Unreachable("dial tcp 10.1.0.1:80: connect: connection refused")
        text = "error trying to reach service: dial tcp 10.1.0.1:80: connect: connection refused"
        self.assertEqual(self.refused("pods/p/proxy/", 503, text)["reason"], "ServiceUnavailable")
        self.backend.trouble = None
        self.reply = b"nonsense\r\n\r\n"
        got = self.send("GET", "pods/p/proxy/")
        self.assertEqual(got.code, 503)
        self.assertIn(b"error trying to reach service: net/http: HTTP/1.x transport connection broken", got.body)

    def test_answers(self) -> None:
        """Any code and any body; what is framing is ours."""
        self.reply = answer(b"gone", "410 Gone", "X-A: 1", "Content-Type: a/b", "Access-Control-Allow-Origin: *")
        got = self.send("GET", "pods/p/proxy/", None, {"accept": "image/png"})
        self.assertEqual((got.code, got.body), (410, b"gone"))
        self.assertEqual((got.headers["x-a"], got.headers["content-type"]), ("1", "a/b"))
        self.assertNotIn("access-control-allow-origin", got.headers)
        self.reply = b"HTTP/1.1 204 No Content\r\n\r\n"
        self.assertEqual(self.send("GET", "pods/p/proxy/").code, 204)
        self.reply = b"HTTP/1.1 200 OK\r\nContent-Length: 1234\r\n\r\n"
        response = self.respond("HEAD", "pods/p/proxy/", {})
        self.assertEqual((response.length, response.stream), (1234, None))

    def test_location(self) -> None:
        """A redirect leads through the proxy."""
        self.reply = answer(b"", "302 Found", "Location: /login?next=/")
        got = self.send("GET", "pods/p/proxy/x/y")
        location = "/api/v1/namespaces/default/pods/p/proxy/login?next=/"
        self.assertEqual((got.code, got.headers["location"]), (302, location))

    def test_page(self) -> None:
        """Links of a page lead through the proxy, compressed or not (reference PROXY-16)."""
        page = b'<a href="/x">x</a>'
        deflate = zlib.compressobj(wbits=31)
        zipped = deflate.compress(page) + deflate.flush()
        base = "/api/v1/namespaces/default/pods/p/proxy"
        for reply in (
            answer(page, "200 OK", "Content-Type: text/html; charset=utf-8"),
            answer(zipped, "200 OK", "Content-Type: text/html", "Content-Encoding: gzip"),
        ):
            self.reply = reply
            got = self.send("GET", "pods/p/proxy/x")
            self.assertEqual(got.body, f'<a href="{base}/x">x</a>'.encode())
            self.assertNotIn("content-encoding", got.headers)

    def test_trap(self) -> None:
        """A page that becomes a thousand times as long ends the connection."""
        deflate = zlib.compressobj(wbits=31)
        zipped = deflate.compress(b" " * (16 << 20)) + deflate.flush()
        self.reply = answer(zipped, "200 OK", "Content-Type: text/html", "Content-Encoding: gzip")
        with self.assertRaises(ConnectionError):
            self.send("GET", "pods/p/proxy/x")

    def test_upgrade(self) -> None:
        """Other protocols pass, with their query."""
        self.reply = SWITCH
        response = self.respond("GET", "pods/p:80/proxy/ws?a=b", UPGRADE)
        self.assertEqual((response.code, self.asked()), (101, "GET /ws?a=b HTTP/1.1"))
        self.assertEqual(self.respond("GET", "services/none/proxy/ws", UPGRADE).code, 404)
