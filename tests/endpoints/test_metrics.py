"""The metrics endpoint `/metrics` (reference METRIC-1)."""

from __future__ import annotations

from twisted.internet.defer import Deferred
from twisted.trial.unittest import SynchronousTestCase

from orchtw.endpoints.metrics import PATH, Metrics
from orchtw.endpoints.paths import Paths
from orchtw.errors import MethodNotAllowed
from orchtw.metrics.registry import Registry
from orchtw.metrics.series import counters
from orchtw.request import Peer, Request, Response

PLAIN = "text/plain; version=0.0.4; charset=utf-8"
OPEN = "application/openmetrics-text; version=1.0.0; charset=utf-8"
PROMETHEUS = "application/openmetrics-text;version=1.0.0,application/openmetrics-text;version=0.0.1;q=0.75,text/plain;version=0.0.4;q=0.5,*/*;q=0.1"  # noqa: E501


class MetricsTests(SynchronousTestCase):
    def setUp(self) -> None:
        self.registry = Registry()
        self.counted = self.registry.add(counters("a_total", "A.")).of()
        self.paths = Paths([Metrics(self.registry)])

    def ask(self, accept: str = "", method: str = "GET") -> Response:
        """The answer to one request."""
        headers = {"accept": accept} if accept else {}
        asked = Request(method=method, path=PATH, headers=headers, peer=Peer(address="", port=0))
        return self.successResultOf(Deferred.fromCoroutine(self.paths(asked)))

    def text(self, response: Response) -> str:
        """The body, made part by part."""
        assert response.parts is not None
        return b"".join(response.parts).decode()

    def test_forms(self) -> None:
        """The form is Prometheus' text; who prefers OpenMetrics gets that."""
        for accept, expected in (
            ("", PLAIN),
            ("*/*", PLAIN),
            ("text/plain", PLAIN),
            (PROMETHEUS, OPEN),
            ("application/openmetrics-text", OPEN),
            ("Application/OpenMetrics-Text; version=1.0.0", OPEN),
            ("text/plain, application/openmetrics-text;q=0.5", PLAIN),
            ("application/openmetrics-text;q=0", PLAIN),
            ("application/openmetrics-text;q=odd", PLAIN),
        ):
            response = self.ask(accept)
            self.assertEqual(response.content_type, expected, accept)
            self.assertEqual(self.text(response).endswith("# EOF\n"), expected == OPEN)

    def test_at_present(self) -> None:
        """Each response shows the current values."""
        self.counted.value = 3
        self.assertIn("\na_total 3\n", self.text(self.ask()))
        self.counted.value = 4
        self.assertIn("\na_total 4\n", self.text(self.ask()))

    def test_reset(self) -> None:
        """DELETE resets the counts."""
        self.counted.value = 3
        response = self.ask(method="DELETE")
        self.assertEqual((response.code, response.body, self.counted.value), (200, b"metrics reset\n", 0))

    def test_other_methods(self) -> None:
        """Metrics can be read and reset, not written."""
        asked = Request(method="POST", path=PATH, peer=Peer(address="", port=0))
        self.failureResultOf(Deferred.fromCoroutine(self.paths(asked)), MethodNotAllowed)
