"""`/metrics` (reference METRIC-1)."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from twisted.internet.defer import Deferred
from twisted.trial.unittest import SynchronousTestCase

from orchtw.admission.metrics import BARE_COUNTERS, AdmissionMetrics
from orchtw.endpoints.metrics import PATH, Metrics
from orchtw.endpoints.paths import Paths
from orchtw.errors import MethodNotAllowed
from orchtw.naming import Naming
from orchtw.registry.offload import INLINE_BYTES, Offload
from orchtw.request import Peer, Request, RequestInfo, Response
from orchtw.schema.catalogue import Catalogue

DEPRECATED = (
    'apiserver_requested_deprecated_apis{group="batch",removed_release="1.25",resource="cronjobs",'
    'subresource="status",version="v1beta1"} 1.0'
)


class MetricsTests(SynchronousTestCase):
    def setUp(self) -> None:
        self.metrics = Metrics()
        self.paths = Paths([self.metrics])

    def ask(self, accept: str = "") -> Response:
        """The answer to one GET."""
        headers = {"accept": accept} if accept else {}
        asked = Request(method="GET", path=PATH, headers=headers, peer=Peer(address="", port=0))
        return self.successResultOf(Deferred.fromCoroutine(self.paths(asked)))

    def lines(self) -> list[str]:
        """What is shown, without help texts."""
        body = self.ask().body
        assert isinstance(body, bytes)
        return [line for line in body.decode().splitlines() if not line.startswith("#")]

    def test_text(self) -> None:
        """The form is Prometheus' text; who prefers OpenMetrics gets that."""
        self.assertTrue(self.ask().content_type.startswith("text/plain; version="))
        preferred = self.ask(accept="application/openmetrics-text; version=1.0.0")
        self.assertTrue(preferred.content_type.startswith("application/openmetrics-text"))

    def test_bare_counters(self) -> None:
        """Counters without `_total` in their names are counters in the text all the same."""
        admission = AdmissionMetrics()
        self.metrics.show(admission, BARE_COUNTERS)
        admission.webhooks.failed("a.b.c", "admit")
        body = self.ask().body
        assert isinstance(body, bytes)
        name = "apiserver_admission_webhook_fail_open_count"
        self.assertIn(f"# TYPE {name} counter\n", body.decode())
        self.assertIn(f'{name}{{name="a.b.c",type="admit"}} 1.0\n', body.decode())
        preferred = self.ask(accept="application/openmetrics-text; version=1.0.0").body
        assert isinstance(preferred, bytes)
        self.assertIn(f"# TYPE {name} unknown\n", preferred.decode())

    def test_many(self) -> None:
        """Many samples are written down off the reactor."""
        sizes: list[int] = []

        class Away(Offload):
            async def run(self, size_bytes: int, work: Callable[[], Any]) -> Any:
                sizes.append(size_bytes)
                return work()

        self.metrics = Metrics(Away(None))
        self.paths = Paths([self.metrics])
        admission = AdmissionMetrics()
        self.metrics.show(admission)
        self.ask()
        for number in range(700):
            admission.webhooks.failed(f"w{number}.b.c", "admit")
        self.assertEqual(len([line for line in self.lines() if "fail_open" in line]), 700)
        self.assertLess(sizes[0], INLINE_BYTES)
        self.assertGreater(sizes[1], INLINE_BYTES)

    def test_stability(self) -> None:
        """Each help text begins with the metric's stability."""
        self.metrics.count_damaged(lambda: 0)
        body = self.ask().body
        assert isinstance(body, bytes)
        helps = [line.split(" ", 3)[3] for line in body.decode().splitlines() if line.startswith("# HELP")]
        self.assertEqual(len(helps), 2)
        for text in helps:
            self.assertRegex(text, r"^\[(ALPHA|STABLE)\] ")

    def test_deprecated_requests(self) -> None:
        """A deprecated version that was asked for is shown once, however often that was (reference VER-8)."""
        resource = Catalogue.load(Naming.orch()).find("batch", "v1beta1", "cronjobs")
        assert resource is not None
        info = RequestInfo(
            is_resource=True, verb="get", path="", group="batch", version="v1beta1", resource="cronjobs",
            subresource="status",
        )  # fmt: skip
        self.assertNotIn(DEPRECATED, self.lines())
        for _ in range(2):
            self.metrics.deprecated_requested(info, resource)
        self.assertEqual([line for line in self.lines() if "deprecated" in line], [DEPRECATED])

    def test_damaged_objects(self) -> None:
        """Damaged objects are counted when somebody asks, not before."""
        found = [3, 5]
        self.metrics.count_damaged(lambda: found.pop(0))
        self.assertEqual(self.lines(), ["apiserver_storage_damaged_objects 3.0"])
        self.assertEqual(self.lines(), ["apiserver_storage_damaged_objects 5.0"])

    def test_registries_are_apart(self) -> None:
        """Two servers in one process do not share their figures."""
        self.metrics.count_damaged(lambda: 1)
        other = Metrics()
        other.count_damaged(lambda: 2)
        self.assertEqual(self.lines(), ["apiserver_storage_damaged_objects 1.0"])

    def test_read_only(self) -> None:
        """Metrics can be read, not written."""
        asked = Request(method="POST", path=PATH, peer=Peer(address="", port=0))
        self.failureResultOf(Deferred.fromCoroutine(self.paths(asked)), MethodNotAllowed)
