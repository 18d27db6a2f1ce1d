"""Requests that another API server answers, against one in memory (reference AGG-4 to AGG-6, AGG-11)."""

from __future__ import annotations

from typing import Any

from twisted.internet.defer import Deferred

from orchtw.outbound.dialer import Dialer, Unreachable
from orchtw.request import Ending, Response
from orchtw.testing.in_process import ClientAnswer
from orchtw.wire.objects import Object
from tests.emulated import RELEASE
from tests.outbound.doubles import Backend, lose
from tests.verbs.served import MERGE, ServedCase

SERVICES = "/apis/apiregistration.orch.io/v1/apiservices"
LAMPS = "/apis/example.com/v1/namespaces/default/lamps"
UPGRADE = {"connection": "Upgrade", "upgrade": "SPDY/3.1"}
SWITCH = b"HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: SPDY/3.1\r\n\r\n"


def answer(body: bytes = b'{"a":1}', head: str = "200 OK", *headers: str) -> bytes:
    """Return a response as bytes."""
    lines = "".join(f"{line}\r\n" for line in headers)
    return f"HTTP/1.1 {head}\r\nContent-Length: {len(body)}\r\n{lines}\r\n".encode() + body


class AggregatedCase(ServedCase):
    """APIService `v1.example.com` leads to `self.backend`, which answers everything with `self.reply`."""

    def setUp(self) -> None:
        super().setUp()
        self.reply = answer()
        self.backend = Backend(lambda request: self.reply)
        self.patch(Dialer, "exchange", lambda dialer, *args: self.backend.exchange(*args))
        self.done("POST", "services", {"metadata": {"name": "there"}, "spec": {"ports": [{"port": 443}]}})
        endpoints: Object = {"addresses": [{"ip": "10.1.0.1"}], "ports": [{"port": 8443}]}
        self.done("POST", "endpoints", {"metadata": {"name": "there"}, "subsets": [endpoints]})
        self.serve("v1.example.com")

    def serve(self, name: str) -> None:
        """Have that group version served by the other server."""
        version, _, group = name.partition(".")
        spec: Object = {"group": group, "version": version, "groupPriorityMinimum": 1000, "versionPriority": 10}
        spec |= {"service": {"namespace": "default", "name": "there"}, "insecureSkipTLSVerify": True}
        self.done("POST", SERVICES, {"metadata": {"name": name}, "spec": spec})
        self.settle()
        self.backend.transports.clear()

    def settle(self) -> None:
        for _ in range(20):
            self.clock.advance(0)

    def asked(self) -> list[str]:
        """Request line and headers that the other server got last."""
        head: str = self.backend.transports[-1].value().decode("latin-1").partition("\r\n\r\n")[0]
        return head.split("\r\n")

    def assertText(self, got: ClientAnswer, code: int, text: str) -> None:
        self.assertEqual((got.code, got.body.decode()), (code, text))
        self.assertEqual(got.headers["content-type"], "text/plain; charset=utf-8")

    def begun(self, method: str, path: str, headers: dict[str, str] | None = None) -> Response:
        """An answer that is not read yet."""
        return self.run_async(self.server._respond(method, path, None, headers))


class PassedOnTests(AggregatedCase):
    def test_request(self) -> None:
        """Method, path, query and body as they came; who asks in headers (reference AGG-4, AGG-5)."""
        got = self.send("PATCH", f"{LAMPS}/a%20b/x?dryRun=All&a=%20", b"{}", {"content-type": "a/b", "audit-id": "7"})
        self.assertEqual((got.code, got.json), (200, {"a": 1}))
        line, *headers = self.asked()
        self.assertEqual(line, f"PATCH {LAMPS}/a%20b/x?dryRun=All&a=%20 HTTP/1.1")
        uid = ["X-Remote-Uid: admin"] if RELEASE >= (1, 32) else []  # gate RemoteRequestHeaderUID
        self.assertEqual([each for each in headers if each.startswith("X-Remote")], [
            "X-Remote-User: admin",
            *uid,
            "X-Remote-Group: system:masters",
            "X-Remote-Group: system:authenticated",
        ])  # fmt: skip
        for expected in ("Host: there.default.svc:443", "Audit-Id: 7", "X-Forwarded-For: test", "content-type: a/b"):
            self.assertIn(expected, headers)
        self.assertNotIn("uthorization", "".join(headers))
        self.assertTrue(self.backend.transports[-1].value().endswith(b"\r\n\r\n{}"))

    def test_place(self) -> None:
        """The ready endpoint, believed by the name of its Service (reference AGG-4, AGG-10)."""
        self.send("GET", LAMPS)
        there = self.backend.dialled[-1]
        self.assertEqual((there.host, there.port, there.server_name), ("10.1.0.1", 8443, "there.default.svc"))

    def test_what_is_passed_on(self) -> None:
        """All of the group version, by any method; not the group (reference AGG-4)."""
        version = "/apis/example.com/v1"
        for method, path in (
            ("GET", version),
            ("GET", f"{version}/"),
            ("OPTIONS", LAMPS),
            ("DELETE", LAMPS),
            ("POST", f"{version}/lamps/a:b/x"),
        ):
            self.assertEqual(self.send(method, path).code, 200)
            self.assertEqual(self.asked()[0], f"{method} {path} HTTP/1.1")
        self.backend.transports.clear()
        self.assertEqual(self.done("GET", "/apis/example.com")["name"], "example.com")
        self.assertEqual(self.send("GET", "/apis/example.com/v2/lamps").code, 404)
        self.assertEqual(self.backend.transports, [])

    def test_head(self) -> None:
        """HEAD has the length of what GET would (reference AGG-4)."""
        self.reply = b"HTTP/1.1 200 OK\r\nContent-Length: 77\r\n\r\n"
        response = self.begun("HEAD", LAMPS)
        self.assertEqual((response.code, response.length, response.stream), (200, 77, None))

    def test_other_paths(self) -> None:
        """A path that the other server might read in another way is not passed on (reference AGG-4)."""
        for path in (f"{LAMPS}/../secrets", "/apis/example.com/v1/%2e%2e/v2/x", "/apis/example.com/v1/."):
            self.assertEqual(self.send("GET", path).code, 404)
        self.assertEqual(self.backend.transports, [])

    def test_answers(self) -> None:
        """Code, headers and body of the answer, which has one audit id (reference AGG-4)."""
        self.reply = answer(b"no", "409 Conflict", "Content-Type: x/y", "Audit-Id: theirs", "Cache-Control: public")
        got = self.send("POST", LAMPS, b"{}", {"audit-id": "ours"})
        self.assertEqual((got.code, got.body), (409, b"no"))
        self.assertEqual((got.headers["content-type"], got.headers["audit-id"]), ("x/y", "ours"))
        self.assertEqual(got.headers["cache-control"], "public")

    def test_redirects(self) -> None:
        """A redirect is not for clients to follow (reference AGG-6)."""
        self.reply = answer(b"", "302 Found", "Location: https://10.0.0.1/")
        text = "the backend attempted to redirect this request, which is not permitted"
        self.assertText(self.send("GET", LAMPS), 502, text)

    def test_upgrade(self) -> None:
        """An upgrade goes through (reference AGG-4)."""
        self.reply = SWITCH
        response = self.begun("POST", f"{LAMPS}/a/exec", UPGRADE)
        self.assertEqual(response.code, 101)
        self.assertIsNotNone(response.upgrade)
        self.assertIn("Upgrade: SPDY/3.1", self.asked())
        response.drop(Ending.CLIENT_GONE)

    def test_taken_over(self) -> None:
        """An APIService takes over what is served here; without it, it is served here again (reference AGG-9)."""
        path = "/apis/apps/v1/namespaces/default/deployments"
        self.assertEqual(self.done("GET", path)["kind"], "DeploymentList")
        self.done("DELETE", f"{SERVICES}/v1.apps")
        self.serve("v1.apps")
        self.assertEqual(self.done("GET", path), {"a": 1})
        self.done("DELETE", f"{SERVICES}/v1.apps")
        self.assertEqual(self.done("GET", path)["kind"], "DeploymentList")


class TroubleTests(AggregatedCase):
    def test_unavailable(self) -> None:
        """One that is known not to work is not asked (reference AGG-6)."""
        self.done("PATCH", "endpoints/there", {"subsets": None}, MERGE)
        self.settle()
        self.backend.transports.clear()
        self.assertText(self.send("GET", LAMPS), 503, "service unavailable\n")
        self.assertEqual(self.backend.transports, [])
        self.assertNotIn("example.com", [each["name"] for each in self.done("GET", "/apis")["groups"]])
        self.assertEqual(self.send("GET", "/apis/example.com").code, 404)

    def test_nobody(self) -> None:
        """The error of a connection is told (reference AGG-6)."""
        self.backend.trouble = Unreachable("dial tcp 10.1.0.1:8443: connect: connection refused")
        text = "error trying to reach service: dial tcp 10.1.0.1:8443: connect: connection refused\n"
        self.assertText(self.send("GET", LAMPS), 503, text)

    def test_loop(self) -> None:
        """A request that comes back to the server that has passed it on goes no further (reference AGG-16)."""
        self.done("GET", LAMPS)
        (via,) = (line for line in self.asked() if line.startswith("Via: "))
        self.backend.transports.clear()
        text = "this request has already been proxied by this server\n"
        self.assertText(self.send("GET", LAMPS, None, {"via": via.partition(": ")[2]}), 508, text)
        self.assertEqual(self.backend.transports, [])
        self.assertEqual(self.send("GET", LAMPS, None, {"via": "1.1 another"}).code, 200)

    def test_cut_off(self) -> None:
        """So is that of an answer that does not come (reference AGG-6)."""
        self.reply = b""
        waiting = Deferred.fromCoroutine(self.server.request("GET", LAMPS))
        self.settle()
        lose(self.backend.exchanges[-1])
        self.settle()
        self.assertText(self.successResultOf(waiting), 503, "error trying to reach service: EOF\n")

    def test_late(self) -> None:
        """A request has its time, a watch has as much as it takes (reference AGG-11)."""
        self.reply = b""
        waiting: list[Deferred[Any]] = [
            Deferred.fromCoroutine(self.server.request("GET", path))
            for path in (f"{LAMPS}?timeout=2s", LAMPS, f"{LAMPS}?watch=1")
        ]
        self.settle()
        self.clock.advance(2)
        self.assertEqual(self.successResultOf(waiting[0]).code, 504)
        self.assertNoResult(waiting[1])
        self.clock.advance(58)
        self.assertEqual(self.successResultOf(waiting[1]).json["reason"], "Timeout")
        self.assertNoResult(waiting[2])
        waiting[2].cancel()
        self.failureResultOf(waiting[2])

    def test_anonymous(self) -> None:
        """A user without the right is refused here (reference AGG-4)."""
        self.assertEqual(self.send("GET", LAMPS, None, {"authorization": ""}).code, 403)
        self.assertEqual(self.backend.transports, [])
