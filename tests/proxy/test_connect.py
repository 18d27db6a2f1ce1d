"""Connections to containers: exec, attach and portforward (reference PROXY-6, PROXY-8, PROXY-18)."""

from __future__ import annotations

from orchtw.outbound.dialer import Unreachable
from orchtw.request import Ending
from tests.proxy.backend_case import SWITCH, UPGRADE, ConnectionCase, answer


class StreamTests(ConnectionCase):
    """exec, attach and portforward (reference PROXY-6, PROXY-8)."""

    def test_upgraded(self) -> None:
        """The agent's 101 is the client's, each protocol is offered on a line of its own."""
        self.reply = SWITCH
        for path, line in (
            (
                "pods/p/exec?command=ls&command=-l%20x&stdin=1&stdout=true&stderr=0&tty=&container=c",
                "/exec/default/p/c?command=ls&command=-l+x&input=1&output=1&tty=1",
            ),
            ("pods/p/attach?stdout=1&stderr=1", "/attach/default/p/c?error=1&output=1"),
            ("pods/p/portforward?ports=80&ports=443", "/portForward/default/p?port=80%2C443"),
            ("pods/p/portforward", "/portForward/default/p"),
        ):
            for method in ("GET", "POST"):
                response = self.respond(method, path, UPGRADE)
                self.assertEqual((response.code, response.headers[0]), (101, ("Connection", "Upgrade")))
                self.assertEqual(self.asked(), f"{method} {line} HTTP/1.1")
                response.drop(Ending.CLIENT_GONE)
                self.assertTrue(self.backend.transports[-1].disconnecting)

    def test_no_upgrade(self) -> None:
        """Without one: 400, after everything else."""
        self.refused("pods/p/exec", 400, "Upgrade request required")
        self.refused("pods/nope/exec", 404, 'pods "nope" not found')
        self.pod("waiting", containers=("c",), node="")
        self.refused("pods/waiting/exec", 400, "pod waiting does not have a host assigned", headers=UPGRADE)

    def test_refused(self) -> None:
        """An agent's error goes to the client as it is; any other answer is a 500."""
        self.reply = answer(b"you must specify at least 1 of stdin, stdout, stderr", "400 Bad Request")
        got = self.send("POST", "pods/p/exec", None, UPGRADE)
        self.assertEqual((got.code, got.body[:21]), (400, b"you must specify at l"))
        self.reply = answer(b"")
        self.refused("pods/p/exec", 500, "invalid upgrade response: status code 200", "POST", UPGRADE)

    def test_headers(self) -> None:
        """Headers of an agent in this server's name are not passed on, with a 101 or without (reference PROXY-15)."""
        lies = ("Audit-Id: x", "Transfer-Encoding: chunked", "Set-Cookie: a=b", "Access-Control-Allow-Origin: *",
                "Strict-Transport-Security: max-age=0", "X-Mine: 1")  # fmt: skip
        self.reply = SWITCH.replace(b"\r\n\r\n", "".join(f"\r\n{line}" for line in lies).encode() + b"\r\n\r\n")
        switched = self.respond("POST", "pods/p/exec", UPGRADE)
        self.assertEqual(switched.code, 101)
        self.reply = answer(b"no", "403 Forbidden", *(line for line in lies if "Transfer" not in line))
        refused = self.respond("POST", "pods/p/exec", UPGRADE)
        self.assertEqual(refused.code, 403)
        for response in (switched, refused):
            names = [name.lower() for name, _ in response.headers]
            self.assertEqual(names.count("audit-id"), 1, names)
            self.assertNotIn(("Audit-Id", "x"), response.headers)
            self.assertIn("x-mine", names)
            for line in lies[1:-1]:
                self.assertNotIn(line.partition(":")[0].lower(), names)
            response.drop(Ending.CLIENT_GONE)

    def test_unreachable(self) -> None:
        """Refusals have the release's words."""
        self.backend.trouble = Unreachable("dial tcp 10.0.0.9:10250: i/o timeout")
        text = "error dialing backend: dial tcp 10.0.0.9:10250: i/o timeout"
        self.refused("pods/p/exec", 500, text, "POST", UPGRADE)

    def test_origin(self) -> None:
        """A page of another origin may not open one; nobody is dialled for it (reference PROXY-18)."""
        headers = {**UPGRADE, "origin": "https://evil.example", "host": "api"}
        self.assertEqual(self.code("GET", "pods/p/exec", None, headers), 403)
        self.assertEqual(self.backend.dialled, [])

    def test_methods(self) -> None:
        """They take GET and POST."""
        for method in ("PUT", "PATCH", "DELETE", "HEAD", "OPTIONS"):
            self.assertEqual(self.code(method, "pods/p/exec", None, UPGRADE), 405, method)
