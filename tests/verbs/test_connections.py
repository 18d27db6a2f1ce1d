"""Logs, exec, attach, port-forward and proxies against a backend in memory (reference PROXY-1 to PROXY-18)."""

from __future__ import annotations

import zlib
from collections.abc import Mapping
from typing import Any

from orchtw.errors import BadRequest
from orchtw.outbound.dialer import AddressNotAllowed, Dialer, Unreachable
from orchtw.outbound.tls import ClientTLS
from orchtw.proxy.service import AskedService
from orchtw.request import Ending, Response
from orchtw.testing.in_process import ClientAnswer
from orchtw.wire.objects import Object
from tests.outbound.doubles import Backend
from tests.verbs.served import ServedCase

UPGRADE = {"connection": "Upgrade", "upgrade": "SPDY/3.1", "x-stream-protocol-version": "v4.channel.k8s.io"}
SWITCH = b"HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: SPDY/3.1\r\n\r\n"
MERGE = {"content-type": "application/merge-patch+json"}
TIME = "2022-05-03T00:00:00Z"


def answer(body: bytes = b"ok", head: str = "200 OK", *headers: str) -> bytes:
    """Return a response as bytes."""
    lines = "".join(f"{line}\r\n" for line in headers)
    return f"HTTP/1.1 {head}\r\nContent-Length: {len(body)}\r\n{lines}\r\n".encode() + body


class ConnectionCase(ServedCase):
    """A pod `p` on node `n`; `self.backend` answers in place of whatever is dialled."""

    def setUp(self) -> None:
        super().setUp()
        self.backend = Backend(lambda request: self.reply)
        self.reply = answer()
        self.patch(Dialer, "exchange", lambda dialer, *args: self.backend.exchange(*args))
        self.node([{"type": "InternalIP", "address": "10.0.0.9"}])
        self.pod("p", containers=("c",))

    def node(self, addresses: list[Object], name: str = "n", port: int = 0, **labels: str) -> None:
        """A node with these addresses."""
        self.done("POST", "/api/v1/nodes", {"metadata": {"name": name, "labels": labels}})
        endpoints = {"orchletEndpoint": {"Port": port}} if port else {}
        status = {"addresses": addresses, "daemonEndpoints": endpoints}
        self.done("PATCH", f"/api/v1/nodes/{name}/status", {"status": status}, MERGE)

    def pod(
        self, name: str, *, containers: tuple[str, ...], node: str = "n", address: str = "10.1.0.1", **spec: Any
    ) -> None:
        """A pod that has an address."""
        made = [{"name": each, "image": "i"} for each in containers]
        spec |= {"containers": made} | ({"nodeName": node} if node else {})
        self.done("POST", "pods", {"metadata": {"name": name}, "spec": spec})
        if address:
            status = {"podIP": address, "podIPs": [{"ip": address}]}
            self.done("PATCH", f"pods/{name}/status", {"status": status}, MERGE)

    def refused(self, path: str, code: int, message: str, method: str = "GET", headers: Any = None) -> Object:
        """The request is refused so."""
        got = self.send(method, path, None, headers)
        self.assertEqual((got.code, got.json["message"]), (code, message))
        status: Object = got.json
        return status

    def asked(self) -> str:
        """The request line that the other side got last."""
        return self.backend.transports[-1].value().decode().partition("\r\n")[0]

    def asked_headers(self) -> list[str]:
        return self.backend.transports[-1].value().decode().partition("\r\n\r\n")[0].split("\r\n")[1:]

    def respond(self, method: str, path: str, headers: Mapping[str, str]) -> Response:
        """An answer that is not read."""
        url = f"/api/v1/namespaces/default/{path}"
        return self.run_async(self.server._respond(method, url, None, headers))


class LogTests(ConnectionCase):
    """Requests to sub-resource `pods/log`."""

    def test_log(self) -> None:
        """Text, from the agent at the node's address and the default port, by HTTPS."""
        got: ClientAnswer = self.send("GET", "pods/p/log")
        self.assertEqual((got.code, got.body, got.headers["content-type"]), (200, b"ok", "text/plain"))
        (agent,) = self.backend.dialled
        self.assertEqual((agent.scheme, agent.host, agent.port, agent.public), ("https", "10.0.0.9", 10250, False))
        self.assertEqual(self.asked(), "GET /containerLogs/default/p/c HTTP/1.1")
        self.assertNotIn("uthorization", "".join(self.asked_headers()))

    def test_options(self) -> None:
        """Each goes along in the agent's words."""
        options = f"follow=true&previous=1&timestamps&sinceTime={TIME}&tailLines=0&limitBytes=9&container=c&pretty=1"
        self.send("GET", f"pods/p/log?{options}")
        query = (
            "follow=true&limitBytes=9&previous=true&sinceTime=2022-05-03T00%3A00%3A00Z&tailLines=0&timestamps=true"
        )
        self.assertEqual(self.asked(), f"GET /containerLogs/default/p/c?{query} HTTP/1.1")
        self.send("GET", "pods/p/log?follow=false&sinceSeconds=5&sinceTime=")
        self.assertEqual(self.asked(), "GET /containerLogs/default/p/c?sinceSeconds=5 HTTP/1.1")

    def test_wrong_options(self) -> None:
        """422 with a cause for each, 400 for what cannot be read (reference PROXY-3)."""
        prefix = 'PodLogOptions "p" is invalid: '
        positive = "must be greater than 0"
        for query, message in (
            ("tailLines=-1", "tailLines: Invalid value: -1: must be greater than or equal to 0"),
            ("limitBytes=0", f"limitBytes: Invalid value: 0: {positive}"),
            ("sinceSeconds=0", f"sinceSeconds: Invalid value: 0: {positive}"),
        ):
            self.refused(f"pods/p/log?{query}", 422, prefix + message)
        both = self.send("GET", f"pods/nope/log?sinceSeconds=1&sinceTime={TIME}&limitBytes=-1")
        self.assertEqual((both.code, len(both.json["details"]["causes"])), (422, 2))
        self.assertIn("at most one of `sinceTime` or `sinceSeconds` may be specified", both.json["message"])
        self.refused("pods/p/log?tailLines=x", 400, 'strconv.ParseInt: parsing "x": invalid syntax')
        huge = "9" * 30
        self.refused(f"pods/p/log?tailLines={huge}", 400, f'strconv.ParseInt: parsing "{huge}": value out of range')
        self.assertEqual(self.code("GET", "pods/p/log?sinceTime=now"), 400)
        self.assertEqual(self.backend.dialled, [])

    def test_container(self) -> None:
        """Required where there are several, and one that the pod has (reference PROXY-4)."""
        init = [{"name": "i", "image": "i"}]
        self.pod("two", containers=("a", "b"), initContainers=init)
        text = "a container name must be specified for pod two, choose one of: [i a b]"
        self.refused("pods/two/log", 400, text)
        self.refused("pods/two/log?container=x", 400, "container x is not valid for pod two")
        self.assertEqual(self.code("GET", "pods/two/log?container=i"), 200)
        self.refused("pods/two/exec", 400, text, headers=UPGRADE)

    def test_without_node(self) -> None:
        """No content (reference PROXY-5)."""
        self.pod("waiting", containers=("c",), node="")
        self.assertEqual((self.code("GET", "pods/waiting/log"), self.backend.dialled), (204, []))

    def test_missing(self) -> None:
        """A pod or a node that is not there is a 404."""
        self.refused("pods/nope/log", 404, 'pods "nope" not found')
        self.pod("lost", containers=("c",), node="gone")
        self.refused("pods/lost/log", 404, 'nodes "gone" not found')

    def test_unreachable(self) -> None:
        """The address that was tried is named; it is no reason of the API's (reference PROXY-7)."""
        self.backend.trouble = Unreachable("dial tcp 10.0.0.9:10250: connect: connection refused")
        url = "https://10.0.0.9:10250/containerLogs/default/p/c"
        status = self.refused("pods/p/log", 500, f'Get "{url}": dial tcp 10.0.0.9:10250: connect: connection refused')
        self.assertNotIn("reason", status)

    def test_agent_refuses(self) -> None:
        """Its code and what stands for its text."""
        for head, code, message, reason in (
            ("400 x", 400, "because", "BadRequest"),
            ("500 x", 500, "Internal error occurred: because", "InternalError"),
            ("404 x", 404, "the server could not find the requested resource ( pods/log p)", "NotFound"),
            ("403 x", 403, "because ( pods/log p)", "Forbidden"),
            (
                "502 x",
                502,
                'an error on the server ("because") has prevented the request from succeeding ( pods/log p)',
                "InternalError",
            ),
        ):
            self.reply = answer(b"because", head)
            self.assertEqual(self.refused("pods/p/log", code, message)["reason"], reason)
        self.reply = answer(b"", "302 Found", "Location: https://10.0.0.1/")
        url = "https://10.0.0.9:10250/containerLogs/default/p/c"
        self.refused("pods/p/log", 500, f'Get "{url}": redirects forbidden')

    def test_cut(self) -> None:
        """A log that is cut off ends the connection: nobody takes it for the whole."""
        self.reply = b"HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\nabc"

        def cut() -> None:
            for exchange in self.backend.exchanges:
                exchange.readConnectionLost()

        self.clock.callLater(0, cut)
        self.clock.callLater(0, lambda: self.clock.callLater(0, cut))
        with self.assertRaises(ConnectionError):
            self.send("GET", "pods/p/log")

    def test_whatever_is_accepted(self) -> None:
        """A client that accepts only text gets it."""
        self.assertEqual(self.code("GET", "pods/p/log", None, {"accept": "text/plain"}), 200)


class AgentTests(ConnectionCase):
    """Where an agent is (reference PROXY-1, PROXY-2)."""

    def dialled(self, name: str) -> tuple[str, int]:
        self.pod(f"p-{name}", containers=("c",), node=name)
        self.assertEqual(self.code("GET", f"pods/p-{name}/log"), 200)
        return self.backend.dialled[-1].host, self.backend.dialled[-1].port

    def test_preferred(self) -> None:
        """The type that comes first in the flag, the port of the node's status."""
        addresses = [
            {"type": "ExternalIP", "address": "203.0.113.1"},
            {"type": "InternalIP", "address": "10.0.0.1"},
            {"type": "InternalIP", "address": "10.0.0.2"},
        ]
        self.node(addresses, "one", 1234)
        self.assertEqual(self.dialled("one"), ("10.0.0.1", 1234))
        self.node([*addresses, {"type": "Hostname", "address": "host"}], "two")
        self.assertEqual(self.dialled("two"), ("host", 10250))
        self.node(addresses, "three", **{"orch.io/hostname": "labelled"})
        self.assertEqual(self.dialled("three"), ("labelled", 10250))

    def test_unverified(self) -> None:
        """A log may be asked of an agent that anybody may be; nothing else may."""
        unverified = ClientTLS()
        self.patch(ClientTLS, "unverified", property(lambda tls: unverified))
        for path, expected in (
            ("log", False),
            ("log?insecureSkipTLSVerifyBackend=true", True),
            ("exec?insecureSkipTLSVerifyBackend=true", False),
        ):
            self.send("GET", f"pods/p/{path}", None, UPGRADE)
            self.assertEqual(self.backend.dialled[-1].tls is unverified, expected, path)

    def test_none(self) -> None:
        """No address of a wanted type is a 500 that shows what there is."""
        self.node([{"type": "Other", "address": "x"}], "bare")
        self.pod("q", containers=("c",), node="bare")
        self.refused("pods/q/log", 500, "no preferred addresses found; known addresses: [{Other x}]")


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


class ProxyTests(ConnectionCase):
    """The sub-resource `proxy` (reference PROXY-9 to PROXY-16)."""

    def service(self, endpoints: list[Object]) -> None:
        """A service `s` with two ports."""
        ports = [{"port": 80, "name": "web"}, {"port": 81, "name": "admin"}]
        self.done("POST", "services", {"metadata": {"name": "s"}, "spec": {"ports": ports}})
        if endpoints:
            self.done("POST", "endpoints", {"metadata": {"name": "s"}, "subsets": endpoints})

    def subset(self, address: str = "10.1.0.1", **changes: Any) -> Object:
        """Endpoints of pod `p`."""
        target = {"kind": "Pod", "namespace": "default", "name": "p", **changes}
        ports = [{"name": "web", "port": 8080}, {"name": "admin", "port": 8081}]
        return {"addresses": [{"ip": address, "targetRef": target}], "ports": ports}

    def place(self) -> tuple[str, str, int]:
        """Return the last dialled destination."""
        found = self.backend.dialled[-1]
        return found.scheme, found.host, found.port

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

    def test_pod(self) -> None:
        """Names with scheme and port; without a port the first that is declared."""
        ports = {"name": "c", "image": "i", "ports": [{"containerPort": 8443}]}
        self.done("POST", "pods", {"metadata": {"name": "q"}, "spec": {"containers": [ports]}})
        self.done("PATCH", "pods/q/status", {"status": {"podIPs": [{"ip": "fd00::1"}]}}, MERGE)
        for name, expected in (
            ("p", ("http", "10.1.0.1", 80)),
            ("p:8080", ("http", "10.1.0.1", 8080)),
            ("https:p:8443", ("https", "10.1.0.1", 8443)),
            ("https:p:", ("https", "10.1.0.1", 443)),
            ("http:q:", ("http", "fd00::1", 8443)),
        ):
            self.assertEqual(self.code("GET", f"pods/{name}/proxy/"), 200)
            self.assertEqual(self.place(), expected)
            self.assertTrue(self.backend.dialled[-1].public)
            self.assertEqual(self.backend.dialled[-1].tls.certificates, ())

    def test_primary_address(self) -> None:
        """An agent that writes only the primary address is enough."""
        self.pod("old", containers=("c",), address="")
        self.done("PATCH", "pods/old/status", {"status": {"podIP": "10.1.0.7"}}, MERGE)
        self.assertEqual(self.code("GET", "pods/old/proxy/"), 200)
        self.assertEqual(self.place(), ("http", "10.1.0.7", 80))

    def test_names(self) -> None:
        """Four parts, another scheme or no name: 400. A malformed port: 503."""
        for name in ("a:b:c:d", "ftp:p:1", ":80", "https::80"):
            self.refused(f"pods/{name}/proxy/", 400, f'invalid pod request "{name}"')
            self.assertRaises(BadRequest, AskedService.of, name, "pod")
        self.refused("services/a:b:c:d/proxy/", 400, 'invalid service request "a:b:c:d"')
        self.refused("/api/v1/nodes/ftp:n:1/proxy/", 400, 'invalid node request "ftp:n:1"')
        for port in ("0", "65536", "x", "9" * 50):
            self.assertEqual(self.code("GET", f"pods/p:{port}/proxy/"), 503)
        self.assertEqual(self.backend.dialled, [])

    def test_addresses(self) -> None:
        """A pod whose address is this machine's, this link's, or none, is not dialled (reference PROXY-13)."""
        for number, address in enumerate(("127.0.0.1", "169.254.169.254", "")):
            self.pod(f"bad{number}", containers=("c",), address=address)
            self.refused(f"pods/bad{number}/proxy/", 400, "address not allowed")
        self.backend.trouble = AddressNotAllowed()
        self.refused("/api/v1/nodes/n:80/proxy/", 400, "address not allowed")

    def test_service(self) -> None:
        """A port by its name or number, at a pod that stands behind the service."""
        self.service([self.subset()])
        for name, expected in (
            ("s:web", ("http", "10.1.0.1", 8080)),
            ("s:80", ("http", "10.1.0.1", 8080)),
            ("https:s:admin", ("https", "10.1.0.1", 8081)),
            ("s:81", ("http", "10.1.0.1", 8081)),
        ):
            self.assertEqual(self.code("GET", f"services/{name}/proxy/"), 200)
            self.assertEqual(self.place(), expected)
        self.refused("services/s:82/proxy/", 503, 'no service port 82 found for service "s"')
        self.refused("services/s:other/proxy/", 503, 'no endpoints available for service "s:other"')
        self.refused("services/none/proxy/", 404, 'endpoints "none" not found')

    def test_no_endpoints(self) -> None:
        """Without ready endpoints the answer is a 503."""
        self.service([])
        self.done("POST", "endpoints", {"metadata": {"name": "s"}})
        self.refused("services/s:web/proxy/", 503, 'no endpoints available for service "s"')

    def test_foreign_endpoints(self) -> None:
        """Written endpoints can lead to the namespace's pods only (reference PROXY-12)."""
        others: list[Object] = [
            self.subset(address="10.9.9.9"),
            self.subset(name="nope"),
            self.subset(namespace="other"),
            {**self.subset(), "addresses": [{"ip": "10.1.0.1"}]},
        ]
        self.service(others)
        self.refused("services/s:web/proxy/", 503, 'no endpoints available for service "s:web"')
        self.done("PATCH", "endpoints/s", {"subsets": [*others, self.subset()]}, MERGE)
        for _ in range(10):
            self.assertEqual(self.code("GET", "services/s:web/proxy/"), 200)
            self.assertEqual(self.place(), ("http", "10.1.0.1", 8080))

    def test_node(self) -> None:
        """Its agent, also by the agent's port; another port is another server."""
        for name, expected, public in (
            ("n", ("https", "10.0.0.9", 10250), False),
            ("http:n:10250", ("https", "10.0.0.9", 10250), False),
            ("n:9100", ("http", "10.0.0.9", 9100), True),
            ("https:n:9100", ("https", "10.0.0.9", 9100), True),
        ):
            self.assertEqual(self.code("GET", f"/api/v1/nodes/{name}/proxy/metrics"), 200)
            self.assertEqual((self.place(), self.backend.dialled[-1].public), (expected, public))
        self.assertEqual(self.asked(), "GET /metrics HTTP/1.1")

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
