"""Destinations of proxy requests to pods, services and nodes (reference PROXY-9 to PROXY-13)."""

from __future__ import annotations

from typing import Any

from orchtw.config.service_map import parse_mapping
from orchtw.errors import BadRequest
from orchtw.outbound.dialer import AddressNotAllowed
from orchtw.proxy.service import AskedService
from orchtw.wire.objects import Object
from tests.proxy.backend_case import ConnectionCase
from tests.verbs.served import MERGE


class DestinationTests(ConnectionCase):
    """Names in the path of sub-resource `proxy`, and the destinations that are dialled for them."""

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

    def assert_unverified(self) -> None:
        """The last dialled server is neither shown a certificate nor asked for one that is trusted."""
        tls = self.backend.dialled[-1].tls
        self.assertEqual((tls.certificates, tls.authorities, tls.system), ((), (), False))

    def test_pod(self) -> None:
        """Names with scheme and port; without a port the first that is declared (reference PROXY-10, PROXY-11)."""
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
            self.assert_unverified()

    def test_primary_address(self) -> None:
        """An agent that writes only the primary address is enough (reference PROXY-11)."""
        self.pod("old", containers=("c",), address="")
        self.done("PATCH", "pods/old/status", {"status": {"podIP": "10.1.0.7"}}, MERGE)
        self.assertEqual(self.code("GET", "pods/old/proxy/"), 200)
        self.assertEqual(self.place(), ("http", "10.1.0.7", 80))

    def test_names(self) -> None:
        """Four parts, another scheme or no name: 400. A malformed port: 503 (reference PROXY-10)."""
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

    def mapped(self, *mappings: str) -> None:
        """Give places for Services, as the file of the flag does."""
        self.server.instance.base.service_map.replace([parse_mapping(each) for each in mappings])

    def test_mapped_service(self) -> None:
        """A place that the administrator has given counts, whether there is a Service or not (reference HOOK-36)."""
        self.mapped("default/gone:443=127.0.0.1:9443", "default/s:80=[::1]:8080", "default/s:82=127.0.0.1:82")
        self.service([self.subset()])
        for name, expected in (
            ("https:gone:443", ("https", "127.0.0.1", 9443)),
            ("gone", ("http", "127.0.0.1", 9443)),
            ("s:80", ("http", "::1", 8080)),
            ("s:web", ("http", "::1", 8080)),
            ("s:81", ("http", "10.1.0.1", 8081)),
            ("s:admin", ("http", "10.1.0.1", 8081)),
        ):
            self.assertEqual(self.code("GET", f"services/{name}/proxy/"), 200)
            self.assertEqual(self.place(), expected)
        self.code("GET", "services/https:gone:443/proxy/")
        found = self.backend.dialled[-1]
        self.assertEqual((found.public, found.verified_name), (False, "gone.default.svc"))
        self.refused("services/gone:80/proxy/", 404, 'services "gone" not found')
        self.refused("services/gone:web/proxy/", 404, 'services "gone" not found')
        self.refused("services/s/proxy/", 503, 'no endpoints available for service "s"')

    def test_node(self) -> None:
        """Its agent, also by the agent's port; another port is another server (reference PROXY-11)."""
        for name, expected, public in (
            ("n", ("https", "10.0.0.9", 10250), False),
            ("http:n:10250", ("https", "10.0.0.9", 10250), False),
            ("n:9100", ("http", "10.0.0.9", 9100), True),
            ("https:n:9100", ("https", "10.0.0.9", 9100), True),
        ):
            self.assertEqual(self.code("GET", f"/api/v1/nodes/{name}/proxy/metrics"), 200)
            self.assertEqual((self.place(), self.backend.dialled[-1].public), (expected, public))
            if public:
                self.assert_unverified()
        self.assertEqual(self.asked(), "GET /metrics HTTP/1.1")
