"""Metrics of admission, and their exposition (reference ADM-15)."""

from __future__ import annotations

from twisted.trial.unittest import SynchronousTestCase

from orchtw.admission import metrics as module
from orchtw.admission.attributes import Attributes
from orchtw.admission.chain import Chain
from orchtw.admission.metrics import AdmissionMetrics
from orchtw.errors import Forbidden
from orchtw.schema.catalogue import ResourceType
from tests.admission.asked import attributes, pass_chain
from tests.metrics.shown import sample, text_of

STEP = "apiserver_admission_step_admission_duration_seconds"
CONTROLLER = "apiserver_admission_controller_admission_duration_seconds"
WEBHOOK = "apiserver_admission_webhook"


class Slow:
    """Takes some time, if it sees the write at all, and may refuse it."""

    def __init__(self, time: list[float], takes_s: float, operations: str = "CREATE") -> None:
        self._time = time
        self._takes_s = takes_s
        self._operations = operations
        self.refuses = False

    def handles(self, operation: str, resource: ResourceType, subresource: str) -> bool:
        return operation in self._operations

    async def admit(self, attributes: Attributes) -> None:
        self._time[0] += self._takes_s
        if self.refuses:
            raise attributes.forbidden("no")


class Both(Slow):
    """Sees the finished object too."""

    async def validate(self, attributes: Attributes) -> None:
        await self.admit(attributes)


class MetricsCase(SynchronousTestCase):
    def setUp(self) -> None:
        """Metrics without a server."""
        self.metrics = AdmissionMetrics()

    def value(self, name: str, /, **labels: str) -> float | None:
        """Return the value of a sample."""
        return sample(self.metrics.families(), name, **labels)

    def shown(self, name: str) -> list[str]:
        """The lines of a family's samples."""
        return [line for line in text_of(self.metrics.families()).splitlines() if line.startswith(name)]


class ChainTests(MetricsCase):
    def setUp(self) -> None:
        """Two plugins; time is what they take."""
        super().setUp()
        self.time = [0.0]
        self.first, self.second = Slow(self.time, 0.004), Both(self.time, 0.25)
        plugins = (self.first, self.second, Slow(self.time, 1.0, "DELETE"))
        self.chain = Chain(plugins, self.metrics, ("A", "B", "C"), lambda: self.time[0])

    def test_passed(self) -> None:
        """A write counts once in each half, and once for each plugin that sees it."""
        self.successResultOf(pass_chain(self.chain, attributes("CREATE", "pods")))
        create = {"operation": "CREATE", "rejected": "false"}
        self.assertEqual(self.value(f"{STEP}_count", type="admit", **create), 1)
        self.assertAlmostEqual(self.value(f"{STEP}_sum", type="admit", **create) or 0, 0.254)
        self.assertEqual(self.value(f"{STEP}_summary_count", type="validate", **create), 1)
        self.assertEqual(self.value(f"{STEP}_summary_sum", type="validate", **create), 0.25)
        named = {"name": "A", "type": "admit", **create}
        buckets = [self.value(f"{CONTROLLER}_bucket", le=le, **named) for le in ("0.005", "0.025", "+Inf")]
        self.assertEqual(buckets, [1, 1, 1])
        named["name"] = "B"
        for kind in ("admit", "validate"):
            named["type"] = kind
            bounds = ("0.005", "0.025", "0.1", "0.5", "1", "2.5", "+Inf")
            buckets = [self.value(f"{CONTROLLER}_bucket", le=le, **named) for le in bounds]
            self.assertEqual(buckets, [0, 0, 0, 1, 1, 1, 1])

    def test_refused(self) -> None:
        """A refusal counts for the plugin and the half; plugins that are not called do not count."""
        self.first.refuses = True
        self.failureResultOf(pass_chain(self.chain, attributes("CREATE", "pods")), Forbidden)
        refused = {"type": "admit", "operation": "CREATE", "rejected": "true"}
        self.assertEqual(self.value(f"{STEP}_count", **refused), 1)
        self.assertEqual(self.value(f"{CONTROLLER}_count", name="A", **refused), 1)
        self.assertEqual(len([line for line in self.shown(CONTROLLER) if "_count" in line]), 1)
        self.assertEqual(len([line for line in self.shown(f"{STEP}_count")]), 1)

    def test_nobody(self) -> None:
        """Unhandled writes are not counted, and nothing is shown before the first write."""
        self.successResultOf(pass_chain(self.chain, attributes("UPDATE", "pods")))
        self.assertEqual(self.shown("apiserver_admission"), [])
        self.successResultOf(pass_chain(self.chain, attributes("DELETE", "pods")))
        self.assertEqual([line[-3:] for line in self.shown(f"{STEP}_count")], ["} 1"])


class WebhookTests(MetricsCase):
    def test_called(self) -> None:
        """A call has its time and its code; codes end at 600."""
        hooks = self.metrics.webhooks
        hooks.called("a.b.c", "admit", "CREATE", 0.02, 200, rejected=False)
        hooks.called("a.b.c", "admit", "CREATE", 0.02, 7000, rejected=True)
        labels = {"name": "a.b.c", "type": "admit", "operation": "CREATE"}
        for code, rejected in (("200", "false"), ("600", "true")):
            found = self.value(f"{WEBHOOK}_request_total", code=code, rejected=rejected, **labels)
            self.assertEqual(found, 1)
            found = self.value(f"{WEBHOOK}_admission_duration_seconds_count", rejected=rejected, **labels)
            self.assertEqual(found, 1)

    def test_refusals(self) -> None:
        """Refusals by kind of error and code, and what went on without a webhook, under their own names."""
        hooks = self.metrics.webhooks
        hooks.rejected("a.b.c", "validating", "DELETE", "no_error", 422)
        hooks.rejected("a.b.c", "validating", "DELETE", "calling_webhook_error")
        hooks.failed("a.b.c", "validating")
        labels = 'name="a.b.c",operation="DELETE",rejection_code="{}",type="validating"'
        self.assertEqual(
            self.shown(f"{WEBHOOK}_rejection_count"),
            [
                f'{WEBHOOK}_rejection_count{{error_type="no_error",{labels.format(422)}}} 1',
                f'{WEBHOOK}_rejection_count{{error_type="calling_webhook_error",{labels.format(0)}}} 1',
            ],
        )
        self.assertEqual(
            self.shown(f"{WEBHOOK}_fail_open_count"),
            [f'{WEBHOOK}_fail_open_count{{name="a.b.c",type="validating"}} 1'],
        )

    def test_bounded(self) -> None:
        """Of names that come and go the last ones are kept."""
        self.patch(module, "MAX_SERIES", 3)
        self.metrics = AdmissionMetrics()
        for number in range(5):
            self.metrics.webhooks.failed(f"w{number}.b.c", "admit")
        kept = [line.split('"')[1] for line in self.shown(f"{WEBHOOK}_fail_open_count")]
        self.assertEqual(kept, ["w2.b.c", "w3.b.c", "w4.b.c"])
